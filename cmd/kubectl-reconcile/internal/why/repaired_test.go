package why

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// repaired does what repairs the situation, and asks from then on until the object has converged: what was the cause is
// never certain again, but for one answer, as what an answer is made of was not all read at one moment. A controller that
// puts off what was refused is made to try again, as `why` says how to.
func (p *player) repaired(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, a := range p.Repair {
		p.do(ctx, t, a)
	}
	touched := map[types.UID]bool{}
	for before := 0; ; {
		v, err := p.ask(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if v.diagnosis.Converged {
			return
		}
		for _, c := range v.diagnosis.Causes {
			n := c.Node()
			if (c.Type == inspect.RefusedBefore || c.Type == inspect.MissingBefore) && !touched[n.UID] {
				touched[n.UID] = true
				annotation := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"retried": "now"}}}
				p.patch(ctx, t, action{Target: strings.ToLower(n.Kind.Kind) + "/" + n.Name, Patch: annotation})
			}
			if string(c.Type) != p.Cause || c.Certainty != inspect.Certain {
				continue
			}
			if before++; before > 1 {
				t.Fatalf("it was repaired, and the cause is certain as before: %s\n%s", v.sentence(c), v.headline())
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("it has not converged after the repair: %s", v.headline())
		}
		wait(ctx)
	}
}
