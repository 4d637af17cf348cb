package session

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/diagram"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/interaction"
)

// TestInteractionDiagram: a box for each controller, kind and manager that did something, and an arrow for each pair.
func TestInteractionDiagram(t *testing.T) {
	pods := interaction.Kind{Kind: "Pod"}
	g := interaction.Graph{Controllers: []interaction.Controller{
		{Name: "idle", Watches: []interaction.Watched{{Kind: pods}}},
		{
			Name: "job", Reconciles: 2,
			Watches: []interaction.Watched{{Kind: pods, Reconciles: 2, By: []interaction.Writer{
				{Name: "job", Reconciles: 1}, {Name: "me", Outside: true, Reconciles: 1}}}},
			Writes: []interaction.Requests{
				{Kind: pods, Verb: "create", Requests: 1}, {Kind: pods, Verb: "delete", Refused: 1},
				{Kind: pods, Subresource: "status", Verb: "patch", Requests: 1},
			},
		},
	}}
	var out strings.Builder
	if err := diagram.WriteDot(&out, interactionDiagram(g, "me")); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(out.String(), "fontsize=10];\n")
	const want = `  n1 [label="job", penwidth=3];
  n2 [label="Pod"];
  n3 [label="you", color=gray50];
  n1 -> n2 [label="create, patch status"];
  n2 -> n1 [style=dotted, label="2"];
  n3 -> n2;
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("diagram (-want +got):\n%s", diff)
	}
}
