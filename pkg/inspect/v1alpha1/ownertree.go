package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// OwnerTree is what `tree -o json` prints: trees of owners and what they own. Nothing is folded.
type OwnerTree struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// The outermost owners.
	Trees []*TreeObject `json:"trees"`
	// What could not be read, so that something may be missing.
	Incomplete []cluster.Incomplete `json:"incomplete,omitempty"`
}

// TreeObject is an object in its place in a tree.
type TreeObject struct {
	Object  ObjectRef   `json:"object"`
	Created metav1.Time `json:"created"`
	// When its deletion was requested.
	Deleting   *metav1.Time `json:"deleting,omitempty"`
	Finalizers []string     `json:"finalizers,omitempty"`
	inspect.Report
	// The controller has not seen the latest generation, in whole or for a condition.
	Drifted bool `json:"drifted"`
	// The object is not as its spec requests, or does not report it.
	NotReady bool `json:"notReady"`
	// The reason as the tree shows it: the object's own, and the worst of those below.
	Summary string `json:"summary,omitempty"`
	// The client that wrote to the object last, if its managedFields tell.
	LastWriter *fields.Writer `json:"lastWriter,omitempty"`
	// The containers of a pod, with --containers.
	Containers []inspect.Container `json:"containers,omitempty"`
	// What an object that is not Current needs, itself or by what it names, and what does not exist.
	Lacks []Lack `json:"lacks,omitempty"`
	// The last Events, the last first: Warnings of an object that is not Current; with --events all, of any object.
	Events []Event `json:"events,omitempty"`
	Owners []Owner `json:"owners,omitempty"`
	// What the garbage collector will do about the object; absent if it keeps it.
	GarbageCollector *GarbageCollection `json:"garbageCollector,omitempty"`
	// What holds up the deletion of an object that is being deleted.
	HeldBy *DeletionBlockers `json:"heldBy,omitempty"`
	// How the object is related to the one above, if that does not own it.
	Relation string `json:"relation,omitempty"`
	// Something refers to the object, which does not exist. Its status is Unknown.
	Missing bool `json:"missing,omitempty"`
	// The user asked for it.
	Asked bool `json:"asked,omitempty"`
	// What is below is shown elsewhere, at the same object.
	Repeated bool `json:"repeated,omitempty"`
	// The object is one of those above: it owns itself in a circle.
	Cycle bool `json:"cycle,omitempty"`
	// The object shares an owner with one asked for; what it owns is not shown.
	Beside bool `json:"beside,omitempty"`
	// How many dependents are left out because of --depth.
	Truncated int           `json:"truncated,omitempty"`
	Children  []*TreeObject `json:"children,omitempty"`
}

// Lack is an object that does not exist, and what names it.
type Lack struct {
	Object ObjectRef `json:"object"`
	// What names it: the object itself, or something that it needs.
	NamedBy ObjectRef `json:"namedBy"`
}

// Event is what a component has reported about an object, once or several times.
type Event struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// How often it was reported.
	Count int32 `json:"count"`
	// When it was reported first; null if the component does not say.
	First metav1.Time `json:"first"`
	// When it was reported last; null if the component does not say.
	Last metav1.Time `json:"last"`
	// The component that reported it.
	By string `json:"by,omitempty"`
}

// Owner is an owner reference, and what the garbage collector makes of it.
type Owner struct {
	APIVersion         string    `json:"apiVersion"`
	Kind               string    `json:"kind"`
	Name               string    `json:"name"`
	UID                types.UID `json:"uid"`
	Controller         bool      `json:"controller,omitempty"`
	BlockOwnerDeletion bool      `json:"blockOwnerDeletion,omitempty"`
	// What the garbage collector makes of the reference: a Verdict of package ownertree.
	Verdict string `json:"verdict"`
	// The verdict is certain: it was read live.
	Confirmed bool   `json:"confirmed"`
	Detail    string `json:"detail,omitempty"`
}

// GarbageCollection is what the garbage collector will do about an object.
type GarbageCollection struct {
	// What it will do: a GCAction of package ownertree. An object that it keeps has no GarbageCollection.
	Action string `json:"action"`
	// The policy of the deletion.
	Policy metav1.DeletionPropagation `json:"policy,omitempty"`
	// Why, for people.
	Why string `json:"why,omitempty"`
	// The owners that have to go first; absent if it happens at once.
	After []ObjectRef `json:"after,omitempty"`
	// Those that will hold the object when it is deleted.
	Finalizers []string `json:"finalizers,omitempty"`
}

// DeletionBlockers are what holds up the deletion of an object.
type DeletionBlockers struct {
	// Those that only their own controllers remove.
	Finalizers []string `json:"finalizers,omitempty"`
	// Finalizers that Kubernetes itself removes, and when.
	Releases []FinalizerRemoval `json:"releases,omitempty"`
	// What it waits for; itself, if it owns itself.
	Dependents []ObjectRef `json:"dependents,omitempty"`
	// API versions whose kinds are not known: a namespace does not go before they are.
	Undiscovered []cluster.Incomplete `json:"undiscovered,omitempty"`
}

// FinalizerRemoval is a finalizer that Kubernetes itself removes.
type FinalizerRemoval struct {
	Finalizer string `json:"finalizer"`
	// The component that removes it.
	By string `json:"by"`
	// The condition, in words.
	Once string `json:"once"`
	// Nothing else has to act for the condition to come about.
	Certain bool `json:"certain"`
	// Objects that would stay, and may be in the way.
	Users []ObjectRef `json:"users,omitempty"`
}
