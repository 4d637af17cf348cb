package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/interaction"
)

// TestInteractions: who is named how, which kinds have their group, and each lint in words.
func TestInteractions(t *testing.T) {
	var (
		deployments = interaction.Kind{Group: "apps", Kind: "Deployment"}
		events      = interaction.Kind{Kind: "Event"}
		newEvents   = interaction.Kind{Group: "events.k8s.io", Kind: "Event"}
	)
	g := interaction.Graph{
		Controllers: []interaction.Controller{
			{Name: "deployment", Reconciles: 3, Watches: []interaction.Watched{
				{Kind: deployments, Reconciles: 3, By: []interaction.Writer{
					{Name: "deployment", Reconciles: 2}, {Name: "me", Outside: true, Reconciles: 1},
					{Name: "deployment", Outside: true, Reconciles: 1}, {Reconciles: 1}}},
				{Kind: events}, {Kind: newEvents},
			}, Writes: []interaction.Requests{{
				Kind: deployments, Subresource: "status", Verb: "update", Requests: 2, Conflicts: 1, Refused: 1,
				Fields: []string{"metadata.annotations", "status.replicas"},
			}}},
			{Name: "idle"},
			{Name: "ma\x1bnager", Program: true, Watches: []interaction.Watched{{Kind: deployments}},
				Reads: []interaction.Requests{{Kind: events, Verb: "list", Requests: 4}}},
		},
		Lints: []interaction.Lint{
			{Type: interaction.SeveralWriters, Writers: []string{"hpa", "me"}, Of: &deployments, Field: "spec.replicas",
				Example: "shop/web", Count: 2},
			{Type: interaction.Cycle, Count: 1, Path: []interaction.Step{{Controller: "a", Wrote: deployments}, {Controller: "b", Wrote: events}}},
			{Type: interaction.OwnWrites, Controller: "deployment", Of: &deployments, Count: 2, Idle: 1},
			{Type: interaction.OwnWrites, Controller: "b", Of: &deployments, Count: 1},
			{Type: interaction.UnwatchedRead, Controller: "manager", Of: &events, Count: 4},
			{Type: interaction.NoOwner, Controller: "manager", Of: &deployments, Count: 1},
		},
	}
	var out strings.Builder
	if err := Interactions(&out, g, InteractionOptions{FieldManager: "me"}); err != nil {
		t.Fatal(err)
	}
	const want = `deployment  3 reconciles
  watches  Deployment: 3 reconciles (2 by itself, 1 by you, 1 by deployment, 1 by others)
           Event, Event.events.k8s.io: no reconcile
  writes   Deployment/status: update 2, 1 conflict, 1 refused (metadata.annotations, replicas)
ma^[nager  a program outside of the sandbox
  watches  Deployment
  reads    Event: list 4
1 controller that sent no request: idle

what stands out:
  several-writers: Deployment spec.replicas: hpa and you wrote it in turn, 2 times, such as of shop/web
  cycle: a wrote Deployment -> b wrote Event -> a, up to 1 time
  own-writes: deployment: 2 reconciles followed nothing but its own writes of Deployment; 1 wrote nothing
  own-writes: b: 1 reconcile followed nothing but its own writes of Deployment
  unwatched-read: manager: it reads Event (4 requests), and does not watch it
  no-owner: manager: it created 1 of Deployment without an owner
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("interactions (-want +got):\n%s", diff)
	}

	g.Lints = nil
	for range maxLints + 2 {
		g.Lints = append(g.Lints, interaction.Lint{Type: interaction.NoOwner, Of: &deployments})
	}
	for _, all := range []bool{false, true} {
		out.Reset()
		if err := Interactions(&out, g, InteractionOptions{All: all}); err != nil {
			t.Fatal(err)
		}
		more := strings.Contains(out.String(), "no-owner: and 2 more; -v shows all\n")
		if idle := strings.Contains(out.String(), "idle  no reconciles\n"); more == all || idle != all {
			t.Errorf("all %t: it is\n%s", all, &out)
		}
	}
}
