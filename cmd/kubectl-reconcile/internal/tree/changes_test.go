package tree

import (
	"bytes"
	"io"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// testOptions are those of `tree` in the namespace shop.
func testOptions(out io.Writer, clock clock.WithTicker) *Options {
	return &Options{
		streams: genericiooptions.IOStreams{Out: out}, clock: clock, targets: &connect.TargetFlags{},
		connection: &connect.Connection{Namespace: "shop"},
	}
}

func TestChangeLines(t *testing.T) {
	var out bytes.Buffer
	clock := testclock.NewFakeClock(treeTime)
	o := testOptions(&out, clock)
	show := func(d *changeLines, build func(g *testTree) []*ownertree.Branch) {
		t.Helper()
		g := newTestTree()
		branches := build(g)
		if err := d.showView(&view{nodes: g.nodes(branches...), objects: ownertree.NodesOf(branches), collector: g}); err != nil {
			t.Fatal(err)
		}
	}
	d := &changeLines{options: o, last: map[string]objectState{}}
	steps := []struct {
		build  func(g *testTree) []*ownertree.Branch
		want   string
		reason string
	}{
		{func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", status(inspect.InProgress, "0/1", "0 of 1 pods ready"), owning(g.object("Pod/a", status(inspect.InProgress, "0/1", "ContainerCreating"))))}
		}, `12:00:00 added Deployment/web  0/1  InProgress  0 of 1 pods ready
12:00:00 added Pod/a  0/1  InProgress  ContainerCreating
`, "what is new, in the order of the tree"},
		{func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", status(inspect.InProgress, "0/1", "0 of 1 pods ready"), owning(g.object("Pod/a", status(inspect.InProgress, "0/1", "ContainerCreating"))))}
		}, "", "nothing that is shown has changed"},
		{func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", status(inspect.InProgress, "1/1", "1 of 2 \x1bpods updated"), behind(2, 1), owning(g.object("Pod/a", status(inspect.Current, "1/1", ""))))}
		}, `12:00:00 changed Deployment/web  0/1 -> 1/1  generation 1 -> 1/2  1 of 2 ^[pods updated
12:00:00 changed Pod/a  0/1 -> 1/1  InProgress -> Current
`, "what has changed, and into what; escaped"},
		{func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", status(inspect.InProgress, "", "1 of 2 \x1bpods updated"), behind(2, 1), owning(g.object("Pod/b", status(inspect.Current, "", ""))))}
		}, `12:00:00 changed Deployment/web  1/1 -> -
12:00:00 added Pod/b  Current
12:00:00 gone Pod/a
`, "what has gone comes last"},
		{func(*testTree) []*ownertree.Branch { return nil }, "12:00:00 gone Deployment/web\n12:00:00 gone Pod/b\n", "all of it"},
	}
	for _, step := range steps {
		out.Reset()
		show(d, step.build)
		if diff := cmp.Diff(step.want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.reason, diff)
		}
	}
}

// TestChangeLinesAge: an object that nothing writes to is shown when time alone makes it another, and once. The facts
// of a tree are read while it is shown, so they must not change in place.
func TestChangeLinesAge(t *testing.T) {
	var out bytes.Buffer
	clock := testclock.NewFakeClock(treeTime)
	g := newTestTree()
	unseen := inspect.Status{Status: inspect.InProgress, Reason: "not seen by its controller yet", Ready: "0/1"}
	late := unseen
	late.Reason = "never seen by its controller"
	web := g.object("Deployment/web", func(_ *testTree, b *ownertree.Branch, f *treestatus.Facts) {
		b.Node.Generation = 1
		f.Status, f.Drift = unseen, inspect.Drift{Generation: 1, State: inspect.NotReported}
		f.Later = &inspect.Later{From: treeTime.Add(30 * time.Second), Status: late, Drift: inspect.NeverSeen}
	})
	branches := []*ownertree.Branch{web}
	l := &ownertree.Layout{Graph: &ownertree.Graph{}, Branches: branches, Nodes: ownertree.NodesOf(branches)}
	read := maps.Clone(g.facts)
	d := &changeLines{options: testOptions(&out, clock), last: map[string]objectState{}}
	if err := d.show(&reading{layout: l, facts: g.facts}); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	for second := range 32 {
		clock.Step(time.Second)
		if err := d.tick(); err != nil {
			t.Fatal(err)
		}
		if second == 28 && out.Len() > 0 {
			t.Errorf("too early: %q", out.String())
		}
	}
	const want = "12:00:30 changed Deployment/web  generation 1 -> 0/1  never seen by its controller\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if !maps.Equal(read, g.facts) {
		t.Error("the facts of the tree changed in place")
	}
}
