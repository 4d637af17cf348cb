package inspect

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// DriftState is whether a controller has observed the latest generation of an object.
type DriftState string

// The states of drift.
const (
	InSync      DriftState = "InSync"      // the controller has observed this generation
	Behind      DriftState = "Behind"      // it has observed only an older one
	NotReported DriftState = "NotReported" // it does not report what it has observed: that is not "in sync"
	Ahead       DriftState = "Ahead"       // it reports a generation that does not exist yet, as in a restored backup
	NeverSeen   DriftState = "NeverSeen"   // it reports one for every object of the kind, but not for this one
)

// Drift compares the generation of an object's spec with the one that its controller reports to have observed.
type Drift struct {
	// Generation is metadata.generation: 0 if the API server does not count generations of the kind.
	Generation int64 `json:"generation"`
	// Observed is status.observedGeneration; nil if it is not reported.
	Observed *int64 `json:"observed,omitempty"`
	// State is how the two compare.
	State DriftState `json:"state"`
	// Since is when the spec was last written according to managedFields; nil if they do not have it, and unless State
	// is Behind.
	Since *metav1.Time `json:"since,omitempty"`
}

// Behind returns how many generations the controller is behind; 0 if it is not, or if that is not known.
func (d Drift) Behind() int64 {
	if d.State != Behind {
		return 0
	}
	return d.Generation - *d.Observed
}

// compareGenerations returns the drift between the generation of an object and the observed one, which is nil if it
// is not reported. An object without a generation, 0, cannot be behind.
func compareGenerations(generation int64, observed *int64) DriftState {
	switch {
	case observed == nil || generation == 0:
		return NotReported
	case *observed < generation:
		return Behind
	case *observed > generation:
		return Ahead
	}
	return InSync
}

// driftOf returns the drift of the object as a whole.
func driftOf(obj *unstructured.Unstructured, f *problems) Drift {
	var d Drift
	v := untyped.Map(obj.Object)
	if generation := generationAt(v, f, "", "metadata", "generation"); generation != nil {
		d.Generation = *generation
	}
	d.Observed = generationAt(v, f, "", "status", "observedGeneration")
	o := subject{Map: v, group: obj.GroupVersionKind().Group, kind: obj.GetKind()}
	unset := d.Observed != nil && *d.Observed <= 0 // a default
	if unset {
		d.Observed = nil
	}
	if d.Observed == nil && d.Generation > 0 &&
		(o.alwaysReportsGeneration() && !o.isSeenOtherwise(obj) || unset && o.hasEmptyStatus()) {
		d.State = NeverSeen
		return d
	}
	d.State = compareGenerations(d.Generation, d.Observed)
	switch d.State {
	case Ahead:
		f.tolerated("status.observedGeneration %d is above metadata.generation %d", *d.Observed, d.Generation)
	case Behind:
		d.Since = fields.LastSpecWrite(obj)
	case InSync, NotReported, NeverSeen:
	}
	return d
}

// isSeenOtherwise reports whether a controller has written the status of the object, though not observedGeneration: it
// leaves that out where it reports what hinders it. So do failSync of k8s.io/kubernetes/pkg/controller/disruption,
// getNewReplicaSet of its package deployment, and reconcileAutoscaler of podautoscaler.
func (o subject) isSeenOtherwise(obj *unstructured.Unstructured) bool {
	return len(o.Maps("status", "conditions")) > 0 || o.At("metadata", "annotations", conditionsOfV1) != nil ||
		slices.ContainsFunc(fields.Writers(obj), func(w fields.Writer) bool { return w.Subresource == "status" })
}

// alwaysReportsGeneration reports whether the object is of a kind whose controller, a part of Kubernetes, sets
// observedGeneration of every object:
// k8s.io/kubernetes/pkg/controller/{daemon,deployment,disruption,podautoscaler,replicaset,
// replication,statefulset,validatingadmissionpolicystatus}.
func (o subject) alwaysReportsGeneration() bool {
	switch o.group + "/" + o.kind {
	case "/ReplicationController", "apps/DaemonSet", "apps/Deployment", "apps/ReplicaSet", "apps/StatefulSet",
		"autoscaling/HorizontalPodAutoscaler", "policy/PodDisruptionBudget",
		"admissionregistration.k8s.io/ValidatingAdmissionPolicy":
		return true
	}
	return false
}

// generationAt returns the generation at the path, also one written as text; nil if there is none. The prefix
// precedes the path in problems.
func generationAt(v untyped.Map, f *problems, prefix string, path ...string) *int64 {
	found, where := v.At(path...), prefix+strings.Join(path, ".")
	if found == nil {
		return nil
	}
	n, ok := untyped.Whole(found)
	if !ok {
		if n, ok = untyped.WholeText(found); ok {
			f.tolerated("%s is %s, not a number", where, untyped.Describe(found))
		}
	}
	if !ok || n < -1 { // -1 is Flux's default
		f.unreadable("%s is %s, not a count", where, untyped.Describe(found))
		return nil
	}
	return &n
}
