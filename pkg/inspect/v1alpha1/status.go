package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// StatusList is what `status -o json` prints: objects and how they are, the worst first.
type StatusList struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Items      []StatusItem `json:"items"`
	// What could not be read, so that something may be missing.
	Incomplete []cluster.Incomplete `json:"incomplete,omitempty"`
}

// StatusItem is one object and how it is. Nothing of its spec is in it.
type StatusItem struct {
	Object  ObjectRef   `json:"object"`
	Created metav1.Time `json:"created"`
	inspect.Report
	// The controller has not seen the latest generation, in whole or for a condition.
	Drifted bool `json:"drifted"`
	// The object is not as its spec requests, or does not report it.
	NotReady bool `json:"notReady"`
	// The client that wrote to the object last, if its managedFields tell.
	LastWriter *fields.Writer `json:"lastWriter,omitempty"`
}

// StatusEvent is a line of `status -w -o json`: an object that was added to what is shown, has changed, or is shown no
// longer.
type StatusEvent struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Type       string     `json:"type"`
	Item       StatusItem `json:"item"`
}
