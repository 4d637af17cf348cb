package ownertree_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// prediction is an object and what is to become of it.
type prediction struct {
	obj    *unstructured.Unstructured
	action ownertree.GCAction
	policy metav1.DeletionPropagation
	reason string
	// stripped are the names of the references that go.
	stripped []string
}

// TestOutcomeComesTrue makes objects with all sorts of owners, foretells what the garbage collector does about each,
// and then runs the real one.
func TestOutcomeComesTrue(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	for _, namespace := range []string{"a", "b"} {
		s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	}
	cases := s.allSorts()
	g := s.collect(ownertree.Scope{})
	if missing := g.Incomplete(); len(missing) > 0 {
		t.Fatalf("not read: %v", missing)
	}
	for _, c := range cases {
		n := g.ByUID(c.obj.GetUID())
		if n == nil {
			t.Fatalf("%s is not in the graph", c.obj.GetName())
		}
		outcome := g.GCOutcome(n)
		var stripped []string
		for _, ref := range outcome.Stripped {
			stripped = append(stripped, ref.Name)
		}
		got := prediction{c.obj, outcome.Action, outcome.Policy, c.reason, stripped}
		if diff := cmp.Diff(c, got, cmp.AllowUnexported(prediction{})); diff != "" {
			t.Errorf("%s (%s), of which is said %q (-want +got):\n%s", c.obj.GetName(), c.reason, outcome.Why, diff)
		}
	}
	s.collectGarbage()
	for _, c := range cases {
		s.comesTrue(c)
	}
	// What is to stay is looked at when the collector has handled something that came later.
	last := s.configMap("a", "last", nowhere("v1", "ConfigMap", "absent"))
	s.eventually("the last object is collected", func() bool { return s.get(last) == nil })
	for _, c := range cases {
		s.stays(c)
	}
}

// comesTrue waits for what is to happen to an object.
func (s *sandbox) comesTrue(c prediction) {
	s.Helper()
	what := fmt.Sprintf("%s is %s: %s", c.obj.GetName(), c.action, c.reason)
	switch c.action {
	case ownertree.Deleted, ownertree.DeletedWithOwner:
		s.eventually(what, func() bool { return s.get(c.obj) == nil })
	case ownertree.ReferencesStripped:
		s.eventually(what, func() bool {
			now := s.get(c.obj)
			return now != nil && !slices.ContainsFunc(now.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
				return slices.Contains(c.stripped, ref.Name)
			})
		})
	default:
	}
}

// stays checks that nothing else has happened to an object.
func (s *sandbox) stays(c prediction) {
	s.Helper()
	if c.action == ownertree.Deleted || c.action == ownertree.DeletedWithOwner {
		return
	}
	now := s.get(c.obj)
	if now == nil {
		s.Errorf("%s is gone, and should be %s: %s", c.obj.GetName(), c.action, c.reason)
		return
	}
	if want := len(c.obj.GetOwnerReferences()) - len(c.stripped); len(now.GetOwnerReferences()) != want {
		s.Errorf("%s has owners %v, want %d: %s", c.obj.GetName(), now.GetOwnerReferences(), want, c.reason)
	}
}

// nowhere refers to what is not there.
func nowhere(apiVersion, kind, name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID("00000000-0000-0000-0000-" + name)}
}

const (
	background = metav1.DeletePropagationBackground
	foreground = metav1.DeletePropagationForeground
	orphan     = metav1.DeletePropagationOrphan
)

// allSorts makes the objects.
func (s *sandbox) allSorts() []prediction {
	s.Helper()
	owner := s.configMap("a", "owner")
	role := s.create("", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: role}}")
	ref, missing := owned(owner), nowhere("v1", "ConfigMap", "missing")
	out := []prediction{
		{s.configMap("a", "owned", ref), ownertree.Kept, "", "its owner is there", nil},
		{s.configMap("a", "dangling", missing), ownertree.Deleted, background, "nothing has the owner's name", nil},
		{
			s.configMap("a", "reborn", changed(ref, func(r *metav1.OwnerReference) { r.UID = "another" })),
			ownertree.Deleted, background, "the owner's name is another's", nil,
		},
		{s.configMap("b", "elsewhere", ref), ownertree.Deleted, background, "the owner is in another namespace", nil},
		{s.configMap("b", "of-the-cluster", owned(role)), ownertree.Kept, "", "an owner without a namespace owns everywhere", nil},
		{
			s.create("", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: upside-down}}", ref),
			ownertree.NeverCollected, "", "an object without a namespace, and an owner with one", nil,
		},
		{s.configMap("a", "unmappable", nowhere("example.com/v1", "Nothing", "x")), ownertree.NeverCollected, "", "no such kind", nil},
		{s.configMap("a", "unmappable-too", nowhere("example.com/v1", "Nothing", "x"), missing), ownertree.NeverCollected, "", "of two owners one is of no kind", nil},
		{s.configMap("a", "unmappable-kept", nowhere("example.com/v1", "Nothing", "x"), ref, missing), ownertree.Kept, "", "an owner of no kind keeps the dangling one", nil},
		{s.configMap("a", "two", missing, ref), ownertree.ReferencesStripped, "", "one of two owners is there", []string{"missing"}},
		{
			s.configMap("a", "wrong-name", changed(ref, func(r *metav1.OwnerReference) { r.Name = "other" })),
			ownertree.Deleted, background, "the uid is the owner's, the name is not", nil,
		},
		{
			s.configMap("a", "wrong-kind", changed(ref, func(r *metav1.OwnerReference) { r.Kind = "Secret" })),
			ownertree.Deleted, background, "the uid is the owner's, the kind is not", nil,
		},
		{
			s.configMap("a", "lower", changed(ref, func(r *metav1.OwnerReference) { r.Kind = "configmap" })),
			ownertree.Kept, "", "the collector's mapper knows kinds in lower case too", nil,
		},
		{
			s.configMap("a", "a-list", changed(missing, func(r *metav1.OwnerReference) { r.Kind = "ConfigMapList" })),
			ownertree.Deleted, background, "the collector's mapper takes lists for kinds, and nothing has such a path", nil,
		},
		{
			s.configMap("a", "both", ref, changed(ref, func(r *metav1.OwnerReference) { r.Name = "alias" })),
			ownertree.ReferencesStripped, "", "references go by uid, so the right one goes with the wrong one", []string{"owner", "alias"},
		},
		{owner, ownertree.Kept, "", "it has no owner", nil},
	}
	out = append(out, s.chains(missing)...)
	out = append(out, s.circles()...)
	return append(out, s.leaving()...)
}

// chains are objects whose owners go.
func (s *sandbox) chains(missing metav1.OwnerReference) []prediction {
	s.Helper()
	top := s.configMap("a", "top", missing)
	middle := s.configMap("a", "middle", owned(top))
	bottom := s.configMap("a", "bottom", owned(middle))
	orphaning := s.create("a", "{apiVersion: v1, kind: ConfigMap, metadata: {name: orphaning, finalizers: [orphan]}}", missing)
	orphaned := s.configMap("a", "orphaned", owned(orphaning))
	waiting := s.create("a", "{apiVersion: v1, kind: ConfigMap, metadata: {name: waiting, finalizers: [foregroundDeletion]}}", missing)
	awaited := s.configMap("a", "awaited", owned(waiting))
	return []prediction{
		{top, ownertree.Deleted, background, "it has no owner", nil},
		{middle, ownertree.DeletedWithOwner, background, "its owner goes", nil},
		{bottom, ownertree.DeletedWithOwner, background, "its owner's owner goes", nil},
		{orphaning, ownertree.Deleted, orphan, "by the finalizer orphan", nil},
		{orphaned, ownertree.ReferencesStripped, "", "its owner orphans it", []string{"orphaning"}},
		{waiting, ownertree.Deleted, foreground, "by the finalizer foregroundDeletion", nil},
		{awaited, ownertree.DeletedWithOwner, background, "its owner goes, after it", nil},
	}
}

// circles are objects that own themselves.
func (s *sandbox) circles() []prediction {
	s.Helper()
	alone, left, right := s.configMap("a", "alone"), s.configMap("a", "left"), s.configMap("a", "right")
	s.own(alone, owned(alone))
	s.own(left, owned(right))
	s.own(right, owned(left))
	return []prediction{
		{alone, ownertree.Kept, "", "it owns itself", nil},
		{left, ownertree.Kept, "", "it owns its owner", nil},
		{right, ownertree.Kept, "", "it owns its owner", nil},
	}
}

// own gives an object an owner.
func (s *sandbox) own(obj *unstructured.Unstructured, refs ...metav1.OwnerReference) {
	s.Helper()
	obj.SetOwnerReferences(refs)
	made, err := s.resource(configMaps, obj.GetNamespace()).Update(s.Context(), obj, metav1.UpdateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	*obj = *made
}

// leaving are objects that have been deleted, and their dependents.
func (s *sandbox) leaving() []prediction {
	s.Helper()
	const finalizers = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, finalizers: [example.com/wait]}}"
	held := s.create("a", fmt.Sprintf(finalizers, "held"), nowhere("v1", "ConfigMap", "missing"))
	first := s.configMap("a", "first")
	last := s.configMap("a", "blocks", changed(owned(first), func(r *metav1.OwnerReference) { r.BlockOwnerDeletion = new(true) }))
	below := s.configMap("a", "below-blocks", owned(last))
	freed := s.configMap("a", "freed")
	free := s.configMap("a", "free", owned(freed))
	partly := s.configMap("a", "partly")
	kept := s.configMap("a", "kept-by-another", owned(partly), owned(s.configMap("a", "another")))
	s.delete(held, background)
	s.delete(first, foreground)
	s.delete(freed, orphan)
	s.delete(partly, foreground)
	return []prediction{
		{held, ownertree.BeingDeleted, "", "its finalizer is not the collector's", nil},
		{last, ownertree.Deleted, foreground, "its owner waits for it, and it has dependents", nil},
		{below, ownertree.DeletedWithOwner, background, "its owner's owner waits for its owner", nil},
		{free, ownertree.ReferencesStripped, "", "its owner orphans it", []string{"freed"}},
		{kept, ownertree.ReferencesStripped, "", "one owner waits for it, another is there", []string{"partly"}},
	}
}

// TestBlockersComeTrue: as long as an owner is there, though it is being deleted, the real garbage collector leaves its
// dependents where they are, and only takes away their references to nothing.
func TestBlockersComeTrue(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: a}}")
	held := s.create("a", "{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/wait]}}")
	missing, waits := nowhere("v1", "ConfigMap", "missing"), s.configMap("a", "waits")
	dependents := []*unstructured.Unstructured{
		s.configMap("a", "below", owned(held)),
		s.configMap("a", "partly", owned(held), missing),
		s.configMap("a", "awaited", owned(held), changed(owned(waits), func(r *metav1.OwnerReference) { r.BlockOwnerDeletion = new(true) })),
	}
	s.delete(held, background)
	s.delete(waits, foreground)
	g := s.collect(ownertree.Scope{})
	for i, stripped := range []int{0, 1, 1} {
		outcome := g.GCOutcome(g.ByUID(dependents[i].GetUID()))
		if outcome.Action != ownertree.DeletedWithOwner || len(outcome.Stripped) != stripped || len(outcome.After) != 1 || outcome.After[0].Name != "held" {
			t.Errorf("%s: %+v, want it deleted after held, %d references taken away", dependents[i].GetName(), outcome, stripped)
		}
	}
	s.collectGarbage()
	for _, obj := range dependents[1:] {
		s.eventually(obj.GetName()+" has one owner", func() bool { now := s.get(obj); return now != nil && len(now.GetOwnerReferences()) == 1 })
	}
	s.eventually("what waited is gone", func() bool { return s.get(waits) == nil })
	for _, obj := range dependents {
		if now := s.get(obj); now == nil || now.GetDeletionTimestamp() != nil {
			t.Errorf("%s has not stayed", obj.GetName())
		}
	}
	now := s.get(held)
	now.SetFinalizers(nil)
	if _, err := s.resource(configMaps, "a").Update(t.Context(), now, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, obj := range dependents {
		s.eventually(obj.GetName()+" is gone", func() bool { return s.get(obj) == nil })
	}
}
