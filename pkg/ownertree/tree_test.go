package ownertree

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// rollout is a deployment with an old and a new set of pods, one of which has two owners.
var rollout = []string{
	"C cluster", "A n/web <- C/cluster", "A n/old <- A/web", "A n/new <- A/web", "B n/p1 <- A/new", "B n/p2 <- A/new A/other", "B n/p0 <- A/old", "A n/other",
	"A m/far <- C/cluster",
}

func TestTree(t *testing.T) {
	both := TreeOptions{Up: true, Down: true}
	hide := func(kinds string) func(cluster.Kind) bool {
		return func(k cluster.Kind) bool { return strings.Contains(kinds, k.Kind) }
	}
	in := Scope{Namespaces: []string{"n"}}
	for _, tt := range []struct {
		reason  string
		lines   []string
		scope   Scope
		asked   string
		options TreeOptions
		want    string
	}{
		{"below", rollout, in, "web", TreeOptions{Down: true}, `
web*
 new
  p1
  p2
 old
  p0
`},
		{"above, whose other dependents are not all read", rollout, in, "web", both, `
cluster
 web*
  new
   p1
   p2
  old
   p0
`},
		{"above, whose dependents are all read", rollout, Scope{}, "web", both, `
cluster
 far beside
 web*
  new
   p1
   p2
  old
   p0
`},
		{"the others below an owner on the way", rollout, in, "new", both, `
cluster
 web
  new*
   p1
   p2
  old beside
`},
		{"only the way", rollout, in, "new", TreeOptions{Up: true}, `
cluster
 web
  new*
`},
		{"neither", rollout, in, "new", TreeOptions{}, `
new*
`},
		{"several owners", rollout, in, "p2", both, `
other
 p2*
cluster
 web
  new
   p1 beside
   p2*
  old beside
`},
		{"one asked for below another", rollout, in, "web p1", TreeOptions{Down: true}, `
web*
 new
  p1*
  p2
 old
  p0
`},
		{"two asked for, in one tree", rollout, in, "p0 p1", TreeOptions{Up: true}, `
cluster
 web
  new
   p1*
  old
   p0*
`},
		{"depth", rollout, in, "web", TreeOptions{Down: true, Depth: 1}, `
web*
 new +2
 old +1
`},
		{"depth counts from what was asked for", rollout, in, "new", TreeOptions{Up: true, Down: true, Depth: 1}, `
cluster
 web
  new*
   p1
   p2
  old beside
`},
		{"depth ends at another that was asked for", rollout, in, "web p1", TreeOptions{Down: true, Depth: 1}, `
web*
 new +1
  p1*
 old +1
`},
		{"what is not shown gives its place to what it owns", rollout, in, "web", TreeOptions{Down: true, Kinds: hide("B")}, `
web*
 p0
 p1
 p2
`},
		{"and does not count as a level", rollout, in, "cluster", TreeOptions{Down: true, Depth: 1, Exclude: hide("A")}, `
cluster*
 p0
 p1
 p2
`},
		{"a top that is not shown", rollout, in, "p1", TreeOptions{Up: true, Exclude: hide("AC")}, `
p1*
`},
		{"a repeated subtree", []string{"A n/top", "A n/l <- A/top", "A n/r <- A/top", "A n/x <- A/l A/r", "B n/y <- A/x"}, in, "top", both, `
top*
 l
  x
   y
 r
  x again
`},
		{"a leaf comes again as it is", []string{"A n/top", "A n/l <- A/top", "A n/r <- A/top", "A n/x <- A/l A/r"}, in, "top", both, `
top*
 l
  x
 r
  x
`},
		{"a circle", []string{"A n/a <- A/b", "A n/b <- A/a", "B n/p <- A/b"}, in, "a", both, `
a*
 b
  a* cycle
  p
`},
		{"a circle asked for from below", []string{"A n/a <- A/b", "A n/b <- A/a", "B n/p <- A/b"}, in, "p", both, `
a
 b
  a cycle
  p*
`},
		{"itself", []string{"A n/a <- A/a", "B n/p <- A/a"}, in, "a", both, `
a*
 a* cycle
 p
`},
		{"itself, not shown", []string{"A n/a <- A/a", "B n/p <- A/a"}, in, "p", TreeOptions{Up: true, Down: true, Exclude: hide("A")}, `
p*
`},
		{"nothing asked for", rollout, in, "", both, "\n"},
	} {
		g := sketch(t, tt.scope, tt.lines...)
		asked := named(t, g, strings.Fields(tt.asked)...)
		got := "\n" + drawn(g.Tree(asked, tt.options))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if again := "\n" + drawn(g.Tree(append(asked, asked...), tt.options)); again != got {
			t.Errorf("%s: asked for twice it is another tree:\n%s", tt.reason, again)
		}
	}
}

func TestVia(t *testing.T) {
	g := sketch(t, Scope{}, rollout...)
	top := g.Tree(named(t, g, "p2"), TreeOptions{Up: true})
	if top[0].Via != nil {
		t.Error("a top has an owner")
	}
	web := top[1].Children[0]
	p2 := web.Children[0].Children[0]
	if p2.Via == nil || p2.Via.Name != "new" || web.Via.Name != "cluster" {
		t.Errorf("by way of %v", p2.Via)
	}
	if other := top[0].Children[0]; other.Node != p2.Node || other.Via.Name != "other" {
		t.Errorf("the second time by way of %v", other.Via)
	}
}

// TestDeep: nothing that comes from a cluster is deep enough to overflow a stack.
func TestDeep(t *testing.T) {
	const depth = 100_000
	kinds := sketchKinds()
	g := newGraph(&cluster.Kinds{}, Scope{})
	a := g.share(*kinds["A"])
	g.lookup[ownerKind{"v1", "A"}] = kindResult{kind: a}
	b := &builder{graph: g}
	owner := "A/gone"
	for i := range depth {
		name := "n/" + string(rune('a'+i%26)) + strings.Repeat("x", i%7) + strconv.Itoa(i)
		b.add(*kinds["A"], sketched(name, []string{owner}))
		owner = "A/" + strings.TrimPrefix(name, "n/")
	}
	g.build(b.nodes)
	top := named(t, g, "a0")
	top[0].Owners[0].Confirmed = true
	if roots := g.Roots(); len(roots) != 1 || roots[0] != top[0] {
		t.Fatalf("%d roots", len(roots))
	}
	levels := 0
	for branches := g.Tree(top, TreeOptions{Up: true, Down: true}); len(branches) > 0; branches = branches[0].Children {
		levels++
	}
	if levels != depth {
		t.Errorf("%d levels, want %d", levels, depth)
	}
	last := named(t, g, strings.TrimPrefix(owner, "A/"))
	if fate := g.GCOutcome(last[0]); fate.Action != DeletedWithOwner {
		t.Errorf("the last of the chain: %v", fate)
	}
	up := g.Tree(last, TreeOptions{Up: true})
	if len(up) != 1 || up[0].Node != top[0] {
		t.Errorf("going up ends at %v", up[0].Node)
	}
}
