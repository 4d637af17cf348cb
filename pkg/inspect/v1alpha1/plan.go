package v1alpha1

import (
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// Plan is what `diff -o json` prints: what controllers would do next, one step after the other, and what that makes of
// the objects. Names that the API generates are a prefix and a number in brackets, such as web-7d4b9c-<1>; uids that it
// generates and times of the plan are words in brackets. Values of Secrets are hidden.
type Plan struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// The version of the controllers, such as v1.37.1.
	KubernetesVersion string `json:"kubernetesVersion"`
	// Why the plan ends: settled (nothing is left to do but what is later), next (what was asked for; more follows),
	// steps (there are as many as were asked for; more follow), loop (they repeat without an end), limit (there are
	// too many).
	End   string     `json:"end"`
	Steps []PlanStep `json:"steps"`
	// The objects that are not at the end what they were at the beginning, in the order of their first write.
	Objects []PlanObject `json:"objects"`
	// What is due later than the plan waits for, soonest first.
	Later    []PlanLater   `json:"later,omitempty"`
	Rollouts []PlanRollout `json:"rollouts,omitempty"`
	// PodDisruptionBudgets of which some pods are not ready meanwhile.
	Budgets []PlanBudget `json:"budgets,omitempty"`
	// One round of what repeats, if it ends with loop: numbers of steps.
	Loop []int `json:"loop,omitempty"`
	// What objects are beside what is wanted of them, without a change.
	Drift *PlanDrift `json:"drift,omitempty"`
	// What controllers create in the plan, and the admission of the cluster would refuse, tried as the user: for each
	// owner the first object of each kind.
	RefusedByCluster []PlanRefusal `json:"refusedByCluster,omitempty"`
	// What is not in the plan, and why, for people.
	LeftOut []string `json:"leftOut,omitempty"`
	// What could not be read, so that something may be missing.
	Incomplete []cluster.Incomplete `json:"incomplete,omitempty"`
}

// PlanStep is a reconcile that wrote, was refused a write or failed; or the change that the plan is for.
type PlanStep struct {
	// Counts the steps of controllers and the change from 1; absent for those of simulated nodes.
	Step int `json:"step,omitempty"`
	// The controller; absent for the change that the plan is for.
	Controller string `json:"controller,omitempty"`
	// The queue key that was reconciled.
	Key string `json:"key,omitempty"`
	// It is a step of a simulated scheduler or kubelet.
	Simulated bool        `json:"simulated,omitempty"`
	Because   []PlanCause `json:"because,omitempty"`
	Writes    []PlanWrite `json:"writes"`
	// Why it failed.
	Error string `json:"error,omitempty"`
	// How often it was tried again with the same result.
	Repeats int `json:"repeats,omitempty"`
}

// PlanRefusal is the creation of an object that the admission of the cluster would refuse.
type PlanRefusal struct {
	Controller string    `json:"controller"`
	Object     ObjectRef `json:"object"`
	// What the API server says.
	Message string `json:"message"`
}

// PlanCause is one reason for a step.
type PlanCause struct {
	// watch, retry, timer, reconcile or other.
	Type string `json:"type"`
	// The step that wrote what was watched, or added the key; absent if it is none of the plan.
	Step int `json:"step,omitempty"`
	// What was watched.
	Event  string     `json:"event,omitempty"`
	Object *ObjectRef `json:"object,omitempty"`
	// It was there at the beginning.
	Initial bool `json:"initial,omitempty"`
	// The failures in a row, for a retry.
	Retry int `json:"retry,omitempty"`
	// How long it waited, such as 1s; absent for what simulated nodes do.
	Delay string `json:"delay,omitempty"`
}

// PlanWrite is one write of one object.
type PlanWrite struct {
	// create, update or delete.
	Verb   string    `json:"verb"`
	Object ObjectRef `json:"object"`
	// The fields that it changed; absent for a deletion.
	Changes []fields.Change `json:"changes,omitempty"`
	// Why it was refused.
	Refused string `json:"refused,omitempty"`
	// The HTTP status of the refusal.
	Code int `json:"code,omitempty"`
}

// PlanObject is an object that is not at the end what it was at the beginning.
type PlanObject struct {
	// create, update or delete.
	Verb   string    `json:"verb"`
	Object ObjectRef `json:"object"`
	// The fields that differ, with those of the status if it was asked for.
	Changes []fields.Change `json:"changes,omitempty"`
	// Only its status differs.
	OnlyStatus bool `json:"onlyStatus,omitempty"`
	// Why a pod has no node at the end.
	Unscheduled string `json:"unscheduled,omitempty"`
	// Fields of a pod by which a scheduler chooses its node and which are not simulated: its node is not decided.
	Undecided []string `json:"undecided,omitempty"`
}

// PlanBudget is a PodDisruptionBudget, and what a plan makes of its pods.
type PlanBudget struct {
	Object ObjectRef `json:"object"`
	// How many pods must be ready.
	Needs int `json:"needs"`
	// How many are ready at the beginning, and the fewest meanwhile.
	ReadyBefore int `json:"readyBefore"`
	ReadyLowest int `json:"readyLowest"`
}

// PlanLater is a key that comes back by itself.
type PlanLater struct {
	Controller string `json:"controller"`
	Key        string `json:"key"`
	// How long after it was put off, about; absent for a retry.
	In string `json:"in,omitempty"`
	// The failures in a row.
	Retry int `json:"retry,omitempty"`
	// What happens then, if it is known, such as ProgressDeadlineExceeded.
	What string `json:"what,omitempty"`
}

// PlanRollout is what a plan makes of the pods of a workload.
type PlanRollout struct {
	Object ObjectRef `json:"object"`
	// How many pods are ready at the beginning, at the end, and the fewest meanwhile.
	ReadyBefore int `json:"readyBefore"`
	ReadyAfter  int `json:"readyAfter"`
	ReadyLowest int `json:"readyLowest"`
	// The numbers of replicas that are asked for, in their order.
	Sizes []PlanSize `json:"sizes,omitempty"`
}

// PlanSize is how many replicas an owner of pods is asked to have.
type PlanSize struct {
	// The number of the step; absent for the beginning.
	Step     int       `json:"step,omitempty"`
	Object   ObjectRef `json:"object"`
	Replicas int64     `json:"replicas"`
}

// PlanDrift is what objects are beside what is wanted of them.
type PlanDrift struct {
	// Objects whose controllers have not seen the latest generation, or none.
	Unseen []UnseenObject `json:"unseen,omitempty"`
	// Fields that someone has set against what a controller or an applier wants.
	Fields []SetField `json:"fields,omitempty"`
	// Objects whose numbers are not those that are wanted.
	Counts []ObjectCount `json:"counts,omitempty"`
	// StatefulSets and DaemonSets with pods of older revisions than they are to have.
	OldPods []OldPods `json:"oldPods,omitempty"`
}

// UnseenObject is an object whose controller has not seen its latest spec.
type UnseenObject struct {
	Object ObjectRef     `json:"object"`
	Drift  inspect.Drift `json:"drift"`
	// The client that wrote to the object last, if its managedFields tell.
	LastWriter *fields.Writer `json:"lastWriter,omitempty"`
}

// SetField is a field that someone has set against what is wanted.
type SetField struct {
	Object ObjectRef `json:"object"`
	Path   string    `json:"path"`
	// Absent if the field is not wanted, or if that is not known.
	Wanted any `json:"wanted,omitempty"`
	// Absent if the field is not there.
	Actual any `json:"actual,omitempty"`
	// The owner that wants it; absent if it was applied, and the next apply takes it back.
	WantedBy *ObjectRef `json:"wantedBy,omitempty"`
	// Who has set it, if managedFields tell; the time is when it last wrote any field.
	SetBy *fields.Writer `json:"setBy,omitempty"`
}

// ObjectCount is how many replicas or pods an object wants, and how many there are. Absent are those that its kind does
// not count.
type ObjectCount struct {
	Object    ObjectRef `json:"object"`
	Wanted    int64     `json:"wanted"`
	There     *int64    `json:"there,omitempty"`
	Updated   *int64    `json:"updated,omitempty"`
	Ready     *int64    `json:"ready,omitempty"`
	Available *int64    `json:"available,omitempty"`
}

// OldPods are the pods of one older revision of a StatefulSet or a DaemonSet that are to be of a newer one.
type OldPods struct {
	Object ObjectRef `json:"object"`
	// The revision that they are to have, and the one that they have: names of ControllerRevisions.
	Wanted string `json:"wanted"`
	Actual string `json:"actual"`
	// Their names.
	Pods []string `json:"pods"`
}
