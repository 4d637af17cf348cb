package tree

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/diagram"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

func TestDiagram(t *testing.T) {
	box := func(tone render.Tone, lines ...string) diagram.Box { return diagram.Box{Lines: lines, Tone: tone} }
	for _, tt := range []struct {
		name   string
		build  func(g *testTree) []*ownertree.Branch
		want   diagram.Graph
		reason string
	}{
		{"nothing", func(*testTree) []*ownertree.Branch { return nil }, diagram.Graph{}, "no tree, no boxes"},
		{"folded", func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", asked(), owning(
				g.object("Pod/bad", status(inspect.Failed, "0/1", "Error")), g.object("Pod/a"), g.object("Pod/b"),
				g.object("Node/n", relatedBy("runs")), g.object("Service/web", relatedBy("selects")),
			))}
		}, diagram.Graph{
			Boxes: []diagram.Box{
				{Lines: []string{"Deployment/web", "Current", "Error on bad"}, Asked: true},
				box(render.ToneTrouble, "Pod/bad", "0/1 Failed", "Error"), box(render.TonePlain, "Pod (2)", "Current", "a, b"), box(render.TonePlain, "Node/n", "Current"),
				box(render.TonePlain, "Service/web", "Current"),
			},
			Arrows: []diagram.Arrow{{From: 0, To: 1}, {From: 0, To: 2}, {From: 0, To: 3, Label: "runs on", Dotted: true}, {From: 4, To: 0, Label: "selects", Dotted: true}},
		}, "what shares a line shares a box; relations differ from ownership, and lead to what is used"},
		{"several owners", func(g *testTree) []*ownertree.Branch {
			shared := g.object("ConfigMap/shared")
			again := *shared
			again.Repeated = true
			return []*ownertree.Branch{g.object("Site/a", owning(shared)), g.object("Site/b", owning(&again))}
		}, diagram.Graph{
			Boxes:  []diagram.Box{box(render.TonePlain, "Site/a", "Current"), box(render.TonePlain, "ConfigMap/shared", "Current"), box(render.TonePlain, "Site/b", "Current")},
			Arrows: []diagram.Arrow{{From: 0, To: 1}, {From: 2, To: 1}},
		}, "an object that is drawn twice in a tree has one box, and two arrows"},
		{"circle", func(g *testTree) []*ownertree.Branch {
			a := g.object("ConfigMap/a")
			again := *a
			again.Cycle = true
			a.Children = []*ownertree.Branch{g.object("Site/b", owning(&again))}
			return []*ownertree.Branch{a}
		}, diagram.Graph{
			Boxes:  []diagram.Box{box(render.TonePlain, "ConfigMap/a", "Current"), box(render.TonePlain, "Site/b", "Current")},
			Arrows: []diagram.Arrow{{From: 1, To: 0}, {From: 0, To: 1}},
		}, "a circle is one in the picture, too"},
		{"no owner", func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("ConfigMap/a", withOwner(ownertree.OwnerMissing, deletedOutcome)), g.object("ConfigMap/b", withOwner(ownertree.OwnerMissing, deletedOutcome))}
		}, diagram.Graph{
			Boxes: []diagram.Box{
				box(render.ToneTrouble, "ConfigMap/a", "Dangling", deletedOutcome.Why),
				{Lines: []string{"Deployment/old", "OwnerMissing"}, Tone: render.ToneTrouble, Missing: true},
				box(render.ToneTrouble, "ConfigMap/b", "Dangling", deletedOutcome.Why),
			},
			Arrows: []diagram.Arrow{{From: 1, To: 0}, {From: 1, To: 2}},
		}, "an owner that is not there is drawn, once"},
		{"containers", func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Pod/a", func(_ *testTree, _ *ownertree.Branch, f *treestatus.Facts) {
				f.Containers = []inspect.Container{{Name: "main", Type: inspect.MainContainer, State: "running", Ready: true, Image: "nginx"}}
			})}
		}, diagram.Graph{
			Boxes:  []diagram.Box{box(render.TonePlain, "Pod/a", "Current"), box(render.TonePlain, "container/main", "running", "nginx")},
			Arrows: []diagram.Arrow{{From: 0, To: 1}},
		}, "containers are leaves"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newTestTree()
			nodes := g.nodes(tt.build(g)...)
			var relations []ownertree.Relation
			if n, ok := g.objects["Node/n"]; ok {
				relations = append(relations, ownertree.Relation{From: g.objects["Deployment/web"], To: n, Type: "runs on", Inverse: "runs"},
					ownertree.Relation{From: g.objects["Service/web"], To: g.objects["Deployment/web"], Type: "selects", Inverse: "selected by"})
			}
			rows := fold(nodes, foldOptions{})
			if diff := cmp.Diff(tt.want, newDiagram(itemMaker{now: treeTime}, rows, relations)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}
