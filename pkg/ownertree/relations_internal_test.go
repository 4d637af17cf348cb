package ownertree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLacks: what is missing is found wherever an object leads to, each once, with what names it.
func TestLacks(t *testing.T) {
	g := sketch(t, Scope{}, "A n/pod", "A n/claim", "A n/class", "A n/secret", "A n/other", "A n/ring")
	at := map[string]*Node{}
	for _, n := range g.Nodes() {
		at[n.Name] = n
	}
	relation := func(from, to string, missing, optional bool) Relation {
		return Relation{From: at[from], To: at[to], Type: "uses", Missing: missing, Needed: !optional}
	}
	relations := []Relation{
		relation("pod", "claim", false, false), relation("claim", "class", true, false), relation("pod", "secret", true, true),
		relation("other", "class", true, false), relation("pod", "ring", false, false), relation("ring", "pod", false, false), relation("ring", "class", true, false),
	}
	var got []string
	lacks := Lacks([]*Node{at["pod"], at["claim"], at["secret"]}, relations)
	for _, name := range []string{"pod", "claim", "secret", "other"} {
		for _, lack := range lacks[at[name]] {
			got = append(got, strings.Join([]string{name, lack.Object.Name, lack.NamedBy.Name}, " "))
		}
	}
	if diff := cmp.Diff([]string{"pod class claim", "claim class claim"}, got); diff != "" {
		t.Errorf("object, what is missing, what names it (-want +got):\n%s", diff)
	}
}

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
