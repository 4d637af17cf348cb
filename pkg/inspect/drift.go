package inspect

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// DriftState is whether a controller has seen an object as it is.
type DriftState string

// The states of drift.
const (
	InSync      DriftState = "InSync"      // the controller has seen this generation
	Behind      DriftState = "Behind"      // it has seen an older one only
	NotReported DriftState = "NotReported" // it does not say what it has seen: that is not "in sync"
	Ahead       DriftState = "Ahead"       // it claims a generation that there is not yet, as after a restore from a backup
	NeverSeen   DriftState = "NeverSeen"   // it reports of each object of the kind what it has seen, but not of this one
)

// Drift compares the generation of an object's spec with the one that its controller says it has seen.
type Drift struct {
	// Generation is metadata.generation: 0 if the API server counts none for the kind.
	Generation int64 `json:"generation"`
	// Observed is status.observedGeneration, nil if it is not reported.
	Observed *int64 `json:"observed,omitempty"`
	// State is how the two compare.
	State DriftState `json:"state"`
	// Since is when the spec was last written, as far as managedFields tell; nil unless State is Behind.
	Since *metav1.Time `json:"since,omitempty"`
}

// Behind says by how many generations the controller is behind, 0 if it is not, or if that is not known.
func (d Drift) Behind() int64 {
	if d.State != Behind {
		return 0
	}
	return d.Generation - *d.Observed
}

// compareGenerations is the drift of who has observed one generation of an object that is at another. An object
// without a generation, 0, has nothing to be behind.
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

// driftOf reads the drift of the object as a whole.
func driftOf(obj *unstructured.Unstructured, f *problems) Drift {
	var d Drift
	v := values(obj.Object)
	if generation := generationAt(v, f, "", "metadata", "generation"); generation != nil {
		d.Generation = *generation
	}
	d.Observed = generationAt(v, f, "", "status", "observedGeneration")
	o := subject{values: v, group: obj.GroupVersionKind().Group, kind: obj.GetKind()}
	unset := d.Observed != nil && *d.Observed <= 0 // a default
	if unset {
		d.Observed = nil
	}
	if d.Observed == nil && d.Generation > 0 && (o.alwaysReportsGeneration() && !o.hasConditionsOnly() || unset && o.hasEmptyStatus()) {
		d.State = NeverSeen
		return d
	}
	d.State = compareGenerations(d.Generation, d.Observed)
	switch d.State {
	case Ahead:
		f.tolerated("status.observedGeneration %d is above metadata.generation %d", *d.Observed, d.Generation)
	case Behind:
		d.Since = lastSpecWrite(obj)
	case InSync, NotReported, NeverSeen:
	}
	return d
}

// hasConditionsOnly reports whether the object is a HorizontalPodAutoscaler with conditions: of one whose target it does not find its
// controller sets these, and not which generation it has seen (reconcileAutoscaler of
// k8s.io/kubernetes/pkg/controller/podautoscaler/horizontal.go).
func (o subject) hasConditionsOnly() bool {
	return o.kind == "HorizontalPodAutoscaler" &&
		(o.at("status", "conditions") != nil || o.at("metadata", "annotations", conditionsOfV1) != nil)
}

// alwaysReportsGeneration reports whether the object is of a kind whose controller, a part of Kubernetes, writes of each object
// which generation it has seen:
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

// generationAt reads a generation, one that was written as text too; nil if there is none. Where it stands is said with
// the prefix.
func generationAt(v values, f *problems, prefix string, path ...string) *int64 {
	found, where := v.at(path...), prefix+strings.Join(path, ".")
	if found == nil {
		return nil
	}
	n, ok := whole(found)
	if !ok {
		if n, ok = wholeText(found); ok {
			f.tolerated("%s is %s and no number", where, describe(found))
		}
	}
	if !ok || n < -1 { // -1 is Flux's default
		f.unreadable("%s is %s and no count", where, describe(found))
		return nil
	}
	return &n
}
