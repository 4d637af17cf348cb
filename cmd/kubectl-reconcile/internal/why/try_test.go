package why

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trial"
)

// TestTrialLines: what was tried is said, and what could not be.
func TestTrialLines(t *testing.T) {
	const begin = "incomplete: what the controller of Deployment/web writes could not be tried: "
	accepted := trial.Write{Verb: "create", Resource: "pods", Code: 201}
	refused := trial.Write{Verb: "create", Resource: "pods", Code: 403, Message: "no"}
	unpermitted := trial.Write{Verb: "create", Resource: "pods", Code: 403, Message: "no", NotPermitted: true}
	for _, row := range []struct {
		reason  string
		attempt trial.Attempt
		want    []string
	}{
		{"it has nothing to do", trial.Attempt{Done: true},
			[]string{"tried in dry run: controller deployment with Deployment/web: it writes nothing"}},
		{"its writes are accepted", trial.Attempt{Done: true, Writes: []trial.Write{accepted}},
			[]string{"tried in dry run: controller deployment with Deployment/web: 1 write, accepted: " +
				"that of the cluster is behind, or does not run"}},
		{"a refusal is a cause", trial.Attempt{Done: true, Writes: []trial.Write{refused}}, nil},
		{"an error is a cause", trial.Attempt{Done: true, Error: "no"}, nil},
		{"it takes too long", trial.Attempt{}, []string{begin + "its controller has not reconciled it in time"}},
		{"no answer says nothing about what it writes", trial.Attempt{Done: true, Unanswered: true},
			[]string{begin + "a write was not answered, or conflicted with a change by another"}},
		{"nor do those before it", trial.Attempt{Done: true, Unanswered: true, Writes: []trial.Write{accepted}},
			[]string{begin + "a write was not answered, or conflicted with a change by another"}},
		{"permission is what the user can do about it",
			trial.Attempt{Done: true, Unanswered: true, Writes: []trial.Write{unpermitted}},
			[]string{begin + "you have no permission to create pods"}},
	} {
		row.attempt.Controller = "deployment"
		kind := &cluster.Kind{}
		kind.Kind = "Deployment"
		tried := &trials{}
		tried.list = append(tried.list, documentOf(&ownertree.Node{Kind: kind, Name: "web"}, row.attempt))
		if diff := cmp.Diff(row.want, (&view{trials: tried}).trialLines()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}
