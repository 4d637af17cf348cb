package inspect

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// base is what kstatus says of the object. Where it gives an error, or takes a generation that was observed too early,
// or a default, for one that was not, or where a condition means something else by the user's polarities, the word is
// what it says of a copy with that put right, and Kstatus is still its word on the object.
func base(obj *unstructured.Unstructured, r Report) Status {
	result, err := compute(obj)
	s := Status{}
	if err == nil {
		s.Kstatus = string(result.Status)
	}
	unused := r.Drift.Observed == nil && values(obj.Object).at("status", "observedGeneration") != nil
	if err != nil || unused || r.Drift.State == Ahead || slices.ContainsFunc(r.Conditions, Condition.contrary) {
		result, err = compute(mended(obj, r))
	}
	if err != nil {
		s.Status, s.Message = Unknown, err.Error()
		return s
	}
	s.Status, s.Message = string(result.Status), result.Message
	return s
}

// compute asks kstatus, which panics on containers that are not of the promised shape.
func compute(obj *unstructured.Unstructured) (result *status.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("computing the status: %v", p)
		}
	}()
	return status.Compute(obj)
}

// mended is a copy of the object in which what is wrong with generations and conditions is put right, or left out.
func mended(obj *unstructured.Unstructured, r Report) *unstructured.Unstructured {
	object := maps.Clone(obj.Object)
	if metadata := maps.Clone(map[string]any(values(object).sub("metadata"))); metadata != nil {
		metadata["generation"] = r.Drift.Generation
		if _, ok := metadata["deletionTimestamp"].(string); !ok {
			delete(metadata, "deletionTimestamp")
		}
		object["metadata"] = metadata
	}
	mended := maps.Clone(map[string]any(values(object).sub("status")))
	delete(object, "status")
	if mended != nil {
		delete(mended, "observedGeneration")
		delete(mended, "containerStatuses") // kstatus looks there only for crash loops, which are found without it
		if r.Drift.Observed != nil {
			mended["observedGeneration"] = min(*r.Drift.Observed, r.Drift.Generation)
		}
		mended["conditions"] = plainConditions(r.Conditions)
		object["status"] = mended
	}
	return &unstructured.Unstructured{Object: object}
}

func plainConditions(conditions []Condition) []any {
	out := make([]any, 0, len(conditions))
	for _, c := range conditions {
		if c.contrary() || c.nested() {
			continue
		}
		out = append(out, map[string]any{"type": c.Type, "status": c.Status, "reason": c.Reason, "message": c.Message})
	}
	return out
}
