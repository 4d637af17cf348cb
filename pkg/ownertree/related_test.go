package ownertree

import "testing"

// TestRelatedBelowFirst: what an object and its dependent are both related to is drawn in full at the dependent, which
// stands above.
func TestRelatedBelowFirst(t *testing.T) {
	g := sketch(t, Scope{}, "A n/set", "B n/pod <- A/set", "A n/claim", "C class")
	at := func(name string) *Node { return named(t, g, name)[0] }
	branches := g.Tree([]*Node{at("set")}, TreeOptions{Down: true})
	Related(branches, []Relation{
		{From: at("set"), To: at("claim"), Type: "claims", Inverse: "claimed by"},
		{From: at("pod"), To: at("claim"), Type: "mounts", Inverse: "mounted by"},
		{From: at("claim"), To: at("class"), Type: "of class", Inverse: "class of"},
	})
	if got, want := drawn(branches), "set*\n pod\n  claim\n   class\n claim again\n"; got != want {
		t.Errorf("drawn as\n%swant\n%s", got, want)
	}
}
