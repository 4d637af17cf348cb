package inspect

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Report is all that an object tells of itself.
type Report struct {
	Status
	// Drift is of the object as a whole.
	Drift Drift `json:"drift"`
	// Conditions are those of status.conditions, or of all that a route or policy is attached to: bad ones first, then by
	// type.
	Conditions []Condition `json:"conditions,omitempty"`
	// Since is when what Reason tells began; nil if the object does not say.
	Since *metav1.Time `json:"since,omitempty"`
	// Problems tell what in the object is not what its kind promises: a generation that is text, conditions that are no
	// list. What is wrong is left out of the judgement, so a status of such an object is not Current without a doubt.
	Problems []string `json:"problems,omitempty"`
}

// Drifted says whether the object, or any of its conditions, is of an older generation.
func (r Report) Drifted() bool {
	return r.Drift.State == Behind ||
		slices.ContainsFunc(r.Conditions, func(c Condition) bool { return c.Drift == Behind })
}

// Inspect reads one object. Without polarities the defaults hold. The object, which may be anything that somebody's
// controller made of it, is only read; a nil one is Unknown.
func Inspect(obj *unstructured.Unstructured, p *Polarities) Report {
	var r Report
	if obj == nil {
		r.Status = Status{Status: Unknown, Reason: "no object"}
		r.Drift.State = NotReported
		return r
	}
	var f flaws
	r.Drift = driftOf(obj, &f)
	v := values(obj.Object)
	if status := v.at("status"); status != nil && v.sub("status") == nil {
		f.lost("status is %s and no map", described(status))
	}
	conditions := conditionReader{group: obj.GroupVersionKind().Group, kind: obj.GetKind(), drift: r.Drift, polarities: p, flaws: &f}
	if conditions.kind == "Pod" && conditions.group == "" {
		conditions.ended = podEnded(v)
	}
	r.Conditions = conditions.read(conditionsIn(v))
	if conditions.kind == "Pod" && conditions.group == "" {
		containerFlaws(v, &f)
	}
	r.Status = f.doubted(judge(obj, r)).bounded()
	r.Problems = f.texts()
	r.Since = since(obj, r)
	return r
}

// conditionsIn finds the conditions of an object. Routes and policies of the Gateway API have some for each of what they
// are attached to, and none of their own.
func conditionsIn(v values) any {
	if found := v.at("status", "conditions"); found != nil {
		return found
	}
	var all []any
	for _, to := range slices.Concat(v.maps("status", "parents"), v.maps("status", "ancestors")) {
		some, _ := to.at("conditions").([]any)
		all = append(all, some...)
	}
	if all == nil {
		return nil
	}
	return all
}
