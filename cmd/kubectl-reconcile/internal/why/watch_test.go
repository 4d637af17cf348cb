package why

import (
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
)

// TestTimedOut: an object that was not read is not said to be other than it should be.
func TestTimedOut(t *testing.T) {
	kind := cluster.Kind{Resource: "pods"}
	kind.Kind = "Pod"
	cause := &diagnosis.Cause{
		Cause: inspect.Cause{Type: inspect.ImagePull, Part: "container web"},
		Chain: []diagnosis.Link{{Node: &ownertree.Node{Kind: &kind, Name: "a"}}},
	}
	for _, row := range []struct {
		reason string
		last   *view
		want   string
	}{
		{"nothing was read", nil, "pod/a could not be read within 1s"},
		{"no cause is known", &view{diagnosis: &diagnosis.Diagnosis{}}, "pod/a has not converged within 1s"},
		{"the likeliest cause", &view{diagnosis: &diagnosis.Diagnosis{Causes: []*diagnosis.Cause{cause}}},
			"pod/a has not converged within 1s: container web of Pod/a cannot pull its image"},
	} {
		f := &follower{last: row.last, query: &query{
			options: &Options{timeout: time.Second}, target: connect.NewTarget(kind, "", "a"),
		}}
		if got := f.timedOut().Error(); got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}
