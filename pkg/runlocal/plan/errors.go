package plan

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// ManifestError is that a manifest of a change cannot be tried on a cluster. Errors of several are joined.
type ManifestError struct {
	Manifest runlocal.Manifest
	// Err is that of the cluster, or ErrNotCopied.
	Err error
}

// Error implements error.
func (e *ManifestError) Error() string { return fmt.Sprintf("%s: %v", e.Manifest, e.Err) }

// Unwrap returns Err.
func (e *ManifestError) Unwrap() error { return e.Err }

// ErrNotCopied is that an object of a change is not in the copy, because its kind could not be read.
var ErrNotCopied = errors.New("it exists in the cluster and could not be copied")

// ReadError is that an object of a cluster could not be read.
type ReadError struct {
	Object seed.Root
	Err    error
}

// Error implements error.
func (e *ReadError) Error() string {
	return fmt.Sprintf("reading %s/%s: %v", e.Object.Kind, e.Object.Name, e.Err)
}

// Unwrap returns Err.
func (e *ReadError) Unwrap() error { return e.Err }

// ForeignKindError is that objects of a kind were asked for on which no controller of Kubernetes acts.
type ForeignKindError struct{ Kind cluster.Kind }

// Error implements error.
func (e *ForeignKindError) Error() string {
	return fmt.Sprintf("the controller of %s does not run here: it is none of kube-controller-manager", e.Kind)
}

// UnservedKindError is that a kind of Pruning.Kinds is not served.
type UnservedKindError struct{ Kind schema.GroupVersionKind }

// Error implements error.
func (e *UnservedKindError) Error() string {
	return fmt.Sprintf("no kind %q is served in version %q", e.Kind.Kind, e.Kind.GroupVersion())
}

// StopError is that the session of a plan could not be stopped.
type StopError struct{ Err error }

// Error implements error.
func (e *StopError) Error() string { return fmt.Sprintf("stopping the session of the plan: %v", e.Err) }

// Unwrap returns Err.
func (e *StopError) Unwrap() error { return e.Err }

// UnsettledError is that the objects that a plan is to begin with do not settle.
type UnsettledError struct {
	// Plan is what the controllers did.
	Plan *Plan
}

// Error implements error.
func (e *UnsettledError) Error() string {
	return fmt.Sprintf("the objects that there are do not settle: there is more to do after %d steps",
		len(e.Plan.Steps))
}
