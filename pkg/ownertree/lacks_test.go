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
