package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	testclock "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

func TestChangeLines(t *testing.T) {
	var out bytes.Buffer
	clock := testclock.NewFakeClock(treeTime)
	show := func(d *changeLines, grow func(g *grove) []*ownertree.Branch) {
		t.Helper()
		g := newGrove()
		shown := &tree{
			treeReader: &treeReader{treeOptions: &treeOptions{streams: genericiooptions.IOStreams{Out: &out}, clock: clock, targets: &targetFlags{}}},
			branches:   grow(g), facts: g.facts,
		}
		if err := d.show(shown, g.limbs(shown.branches...)); err != nil {
			t.Fatal(err)
		}
	}
	d := &changeLines{last: map[string]objectState{}}
	steps := []struct {
		grow   func(g *grove) []*ownertree.Branch
		want   string
		reason string
	}{
		{func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", is(inspect.InProgress, "0/1", "0 of 1 pods ready"), owning(g.object("Pod/a", is(inspect.InProgress, "0/1", "ContainerCreating"))))}
		}, `12:00:00 added Deployment/web  0/1  InProgress  0 of 1 pods ready
12:00:00 added Pod/a  0/1  InProgress  ContainerCreating
`, "what is new, in the order of the tree"},
		{func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", is(inspect.InProgress, "0/1", "0 of 1 pods ready"), owning(g.object("Pod/a", is(inspect.InProgress, "0/1", "ContainerCreating"))))}
		}, "", "nothing that is shown has changed"},
		{func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", is(inspect.InProgress, "1/1", "1 of 2 \x1bpods updated"), behind(2, 1), owning(g.object("Pod/a", is(inspect.Current, "1/1", ""))))}
		}, `12:00:00 changed Deployment/web  0/1 -> 1/1  generation 1 -> 1/2  1 of 2 ^[pods updated
12:00:00 changed Pod/a  0/1 -> 1/1  InProgress -> Current
`, "what has changed, and into what; escaped"},
		{func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", is(inspect.InProgress, "", "1 of 2 \x1bpods updated"), behind(2, 1), owning(g.object("Pod/b", is(inspect.Current, "", ""))))}
		}, `12:00:00 changed Deployment/web  1/1 -> -
12:00:00 added Pod/b  Current
12:00:00 gone Pod/a
`, "what has gone comes last"},
		{func(*grove) []*ownertree.Branch { return nil }, "12:00:00 gone Deployment/web\n12:00:00 gone Pod/b\n", "all of it"},
	}
	for _, step := range steps {
		out.Reset()
		show(d, step.grow)
		if diff := cmp.Diff(step.want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.reason, diff)
		}
	}
}
