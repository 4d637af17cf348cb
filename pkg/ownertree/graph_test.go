package ownertree

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

func TestVerdicts(t *testing.T) {
	everything := []string{"A n/owner", "A m/other", "C top", "B n/two:x"}
	for _, tt := range []struct {
		scope     Scope
		object    string
		want      Verdict
		confirmed bool
		reason    string
	}{
		{Scope{}, "B n/o <- A/owner", Solid, true, "the owner is in its place"},
		{Scope{}, "B n/o <- C/top", Solid, true, "an owner without a namespace owns everywhere"},
		{Scope{}, "C o <- C/top", Solid, true, "both without a namespace"},
		{Scope{}, "B n/o <- B/o", Solid, true, "itself"},
		{Scope{}, "B n/o <- A/absent", OwnerMissing, false, "lists do not have it"},
		{Scope{}, "B n/o <- C/absent", OwnerMissing, false, "lists of the whole cluster do not have it"},
		{Scope{}, "B n/o <- A/owner:else", OtherUID, false, "another object is there"},
		{Scope{}, "B n/o <- A/other", OtherNamespace, false, "the owner is in another namespace"},
		{Scope{}, "B n/o <- A/alias:owner", OwnerMissing, false, "the uid is known, by another name"},
		{Scope{}, "B n/o <- B/owner", OwnerMissing, false, "the uid is known, of another kind"},
		{Scope{}, "B n/o <- B/two:owner", OtherUID, false, "the uid is known elsewhere, the name is another's"},
		{Scope{}, "C o <- A/owner", OtherNamespace, true, "an owner in a namespace of an object without"},
		{Scope{}, "C o <- A/absent", OtherNamespace, true, "the same, whether it is there or not"},
		{Scope{}, "B n/o <- Nothing/x", UnmappableKind, true, "no such kind"},
		{Scope{}, "B n/o <- Lost/x", Unknown, false, "a kind of a group whose discovery failed"},
		{Scope{}, "B n/o <- E/x", Unknown, false, "a kind that is not listed"},
		{Scope{Namespaces: []string{"n"}}, "B n/o <- A/absent", OwnerMissing, false, "the namespace was listed"},
		{Scope{Namespaces: []string{"n"}}, "B n/o <- C/absent", Unknown, false, "what has no namespace was not listed"},
		{Scope{Nothing: true}, "B n/o <- A/absent", Unknown, false, "nothing was listed"},
		{Scope{Kinds: func(k cluster.Kind) bool { return k.Kind != "A" }}, "B n/o <- A/absent", Unknown, false, "the kind was left out"},
	} {
		g := sketch(t, tt.scope, append(everything, tt.object)...)
		n := named(t, g, "o")[0]
		o := n.Owners[0]
		if o.Verdict != tt.want || o.Confirmed != tt.confirmed || (o.Node != nil) != (tt.want == Solid) {
			t.Errorf("%s: %s, confirmed %v, %q; want %s, %v: %s", tt.object, o.Verdict, o.Confirmed, o.Detail, tt.want, tt.confirmed, tt.reason)
		}
		if o.Dangling() {
			t.Errorf("%s: said to be dangling without a live read: %s", tt.object, tt.reason)
		}
	}
}

// TestUnlistedKind: what could not be listed leaves verdicts unknown, in the namespaces that it could not be listed in.
func TestUnlistedKind(t *testing.T) {
	for _, tt := range []struct {
		namespace string
		want      Verdict
	}{{"", Unknown}, {"n", Unknown}, {"m", OwnerMissing}} {
		g := newGraph(&cluster.Kinds{}, Scope{})
		a := g.share(*sketchKinds()["A"])
		g.lookup[ownerKind{"v1", "A"}] = kindResult{kind: a}
		g.missing([]cluster.Incomplete{{Version: "v1", Resource: "as", Namespace: tt.namespace, Reason: cluster.ReasonForbidden}})
		g.build([]*Node{(&builder{graph: g}).node(a, sketched("n/o", []string{"A/absent"}))})
		if o := g.nodes[0].Owners[0]; o.Verdict != tt.want {
			t.Errorf("not listed in %q: %s, want %s", tt.namespace, o.Verdict, tt.want)
		}
		if got := g.Incomplete(); len(got) != 1 || got[0].Reason != cluster.ReasonForbidden {
			t.Errorf("incomplete: %v", got)
		}
	}
}

// TestAnswers: a live read settles what lists have left open.
func TestAnswers(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{}, "x")
	for _, tt := range []struct {
		object, found string // found is what the read gives, in the owner's place
		err           error
		want          Verdict
		dangling      bool
		reason        string
	}{
		{"B n/o <- A/x", "", notFound, OwnerMissing, true, "nothing there"},
		{"B n/o <- A/x", "n/x", nil, Solid, false, "it was made after the list"},
		{"B n/o <- A/x", "n/x:else", nil, OtherUID, true, "another was made after the list"},
		{"B n/o <- A/x", "", errors.New("forbidden"), Unknown, false, "it may not be read"},
		{"B n/o <- A/other", "", notFound, OtherNamespace, true, "the owner is known elsewhere"},
	} {
		g := sketch(t, Scope{}, "A m/other", tt.object)
		n := named(t, g, "o")[0]
		at, open := g.unsettledKey(n, &n.Owners[0])
		if !open {
			t.Fatalf("%s: nothing to ask", tt.reason)
		}
		if tt.found != "" {
			g.Add(*at.kind, sketched(tt.found, nil))
		}
		g.answer(at, tt.err)
		o := &n.Owners[0]
		if o.Verdict != tt.want || o.Dangling() != tt.dangling || (o.Node != nil) != (tt.want == Solid) {
			t.Errorf("%s: %s, dangling %v, %q; want %s, %v", tt.reason, o.Verdict, o.Dangling(), o.Detail, tt.want, tt.dangling)
		}
		if o.Node != nil && len(o.Node.Dependents) != 1 {
			t.Errorf("%s: the owner has dependents %v", tt.reason, o.Node.Dependents)
		}
		// An object that comes later is judged by what has been read.
		late := g.Add(*n.Kind, sketched("n/late", []string{"A/" + n.Owners[0].Name}))
		if late.Owners[0].Verdict != tt.want || late.Owners[0].Dangling() != tt.dangling {
			t.Errorf("%s: one that comes later is %s, dangling %v", tt.reason, late.Owners[0].Verdict, late.Owners[0].Dangling())
		}
	}
}

func TestSameObjectTwice(t *testing.T) {
	g := sketch(t, Scope{}, "B n/web:u", "A n/web:u", "A n/again:1", "A n/again:2", "B n/o <- B/web:u")
	if got := namesOf(g.Nodes()); got != "again web o" {
		t.Errorf("nodes %q: one uid is one object, and of two in a place the later counts", got)
	}
	a, b := g.Find(*sketchKinds()["A"], "n", "web"), g.Find(*sketchKinds()["B"], "n", "web")
	if a == nil || a != b || a.Kind.Kind != "A" {
		t.Errorf("found %v and %v by the two kinds of one object", a, b)
	}
	if again := g.Find(*sketchKinds()["A"], "n", "again"); again.UID != "2" || g.ByUID("1") != nil {
		t.Errorf("found the uid %s", again.UID)
	}
	if o := named(t, g, "o")[0].Owners[0]; o.Node != a {
		t.Errorf("a reference by the other kind: %s", o.Verdict)
	}
	other := sketchKinds()["A"]
	other.Version = "v2"
	if g.Find(*other, "n", "web") != a || g.Find(*other, "", "web") != nil || g.Find(cluster.Kind{Resource: "zs"}, "n", "web") != nil {
		t.Error("Find goes by kind, whatever the version, and by namespace and name")
	}
}

func TestAddSortsAndLinks(t *testing.T) {
	g := sketch(t, Scope{Nothing: true})
	kinds := sketchKinds()
	for _, name := range []string{"n/c", "n/a", "n/b"} {
		g.Add(*kinds["B"], sketched(name, []string{"A/owner"}))
	}
	owner := g.Add(*kinds["A"], sketched("n/owner", nil))
	g.Add(*kinds["A"], sketched("n/z", []string{"A/owner"}))
	if got := namesOf(owner.Dependents); got != "z a b c" {
		t.Errorf("dependents %q", got)
	}
	if got := namesOf(g.Nodes()); got != "owner z a b c" {
		t.Errorf("nodes %q", got)
	}
	if again := g.Add(*kinds["A"], sketched("n/owner", nil)); again != owner {
		t.Error("added twice")
	}
}

func TestSharedMemory(t *testing.T) {
	labelled := func(name string) *metav1.PartialObjectMetadata {
		o := sketched(name, []string{"A/owner"})
		o.Labels = map[string]string{"a": "1", "b": "2"}
		return o
	}
	g := sketch(t, Scope{}, "A n/owner")
	b := &builder{graph: g}
	one, two := b.node(g.nodes[0].Kind, labelled("n/one")), b.node(g.nodes[0].Kind, labelled("n/two"))
	one.Labels["probe"] = "x"
	if two.Labels["probe"] != "x" {
		t.Error("equal labels are kept twice")
	}
	if one.Owners[0].BlockOwnerDeletion != two.Owners[0].BlockOwnerDeletion {
		t.Error("equal flags are kept twice")
	}
	b.forget(0)
	if b.labels == nil {
		t.Error("little is forgotten")
	}
	for i := range 1002 {
		b.intern(string(rune(i + 1000)))
	}
	if b.forget(0); b.labels != nil || b.strings != nil {
		t.Error("much is not forgotten")
	}
}

func TestRoots(t *testing.T) {
	for _, tt := range []struct {
		lines  []string
		want   string
		reason string
	}{
		{nil, "", "nothing"},
		{[]string{"A n/a", "A n/b <- A/a", "A n/c"}, "a c", "what has no owner"},
		{[]string{"A n/a <- A/gone"}, "a", "an owner that is not there owns nothing"},
		{[]string{"A n/a <- A/a"}, "a", "it owns itself"},
		{[]string{"A n/a <- A/b", "A n/b <- A/a"}, "a", "a circle has one root"},
		{[]string{"A n/a <- A/b", "A n/b <- A/a", "A n/top", "A n/tail <- A/a A/top"}, "a top", "what hangs on a circle is no root"},
		{[]string{"A n/tail <- A/x", "A n/x <- A/y", "A n/y <- A/x"}, "x", "nor if it comes first"},
		{[]string{"A n/a <- A/b A/top", "A n/b <- A/a", "A n/top"}, "top", "a circle with an owner above has none"},
		{[]string{"A n/a <- A/b", "A n/b <- A/a", "A n/c <- A/d A/a", "A n/d <- A/c"}, "a", "a circle that owns a circle"},
		{[]string{"A n/c <- A/d", "A n/d <- A/c", "A n/x <- A/y A/c", "A n/y <- A/x"}, "c", "in any order"},
	} {
		g := sketch(t, Scope{}, tt.lines...)
		if diff := cmp.Diff(tt.want, namesOf(g.Roots())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestScopeOf(t *testing.T) {
	kinds := sketchKinds()
	in := func(kind, namespace string) Ref { return Ref{Kind: *kinds[kind], Namespace: namespace, Name: "x"} }
	for _, tt := range []struct {
		refs   []Ref
		down   bool
		want   Scope
		reason string
	}{
		{[]Ref{in("A", "n")}, false, Scope{Nothing: true}, "going up needs no list"},
		{[]Ref{in("A", "n"), in("B", "m"), in("A", "n")}, true, Scope{Namespaces: []string{"m", "n"}}, "dependents are in the namespace"},
		{[]Ref{in("A", "n"), in("C", "")}, true, Scope{}, "and those of what has none are anywhere"},
		{[]Ref{{Kind: *kinds["A"], Namespace: "n"}, in("C", "")}, false, Scope{}, "objects without a name are looked for where they are"},
		{[]Ref{{Kind: *kinds["A"], Namespace: "n"}}, false, Scope{Namespaces: []string{"n"}}, "also to go up from them"},
		{[]Ref{{Kind: *kinds["A"]}, in("B", "m")}, true, Scope{}, "in all namespaces, if in none in particular"},
		{nil, true, Scope{Namespaces: []string{}}, "nothing asked for, nothing read"},
	} {
		if diff := cmp.Diff(tt.want, ScopeOf(tt.refs, tt.down)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}
