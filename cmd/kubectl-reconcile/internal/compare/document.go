package compare

import (
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/compare"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// document is what -o json and yaml print.
type document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Same is true if all that was compared is as it was recorded.
	Same bool `json:"same"`
	// NotEnough is true if nothing differs, and too little was compared to say that it is the same.
	NotEnough bool           `json:"notEnough,omitempty"`
	Counts    compare.Counts `json:"counts"`
	*compare.Result
	// Repeatable is whether a second run came out the same; it is left out if there was none.
	Repeatable *bool `json:"repeatable,omitempty"`
	// SecondRun is how the second run differs from the first; empty if it does not.
	SecondRun string `json:"secondRun,omitempty"`
}

// documentKind is the kind of the document.
const documentKind = "ReplayComparison"

func newDocument(result *compare.Result, again repeated) *document {
	out := &document{
		APIVersion: trace.APIVersion, Kind: documentKind, Same: result.IsSame(), Counts: result.Counts(),
		Result: result, SecondRun: again.difference,
	}
	out.NotEnough = !out.Same && out.Counts.Different == 0
	if again.ran {
		repeatable := again.difference == ""
		out.Repeatable = &repeatable
	}
	if out.Keys == nil {
		out.Keys = []compare.Key{}
	}
	return out
}
