package ownertree_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

func TestFindElsewhere(t *testing.T) {
	s := startSandbox(t)
	for _, namespace := range []string{"a", "b"} {
		s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	}
	owner := s.configMap("b", "owner")
	lost := s.configMap("a", "lost", owned(owner))
	gone := s.configMap("a", "gone", nowhere("v1", "ConfigMap", "absent"))
	g := s.collect(ownertree.Scope{Namespaces: []string{"a"}})
	reader, err := cluster.NewReader(s.server.Config())
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Confirm(t.Context(), reader, g.Nodes()); err != nil {
		t.Fatal(err)
	}
	before := g.GCOutcome(g.ByUID(lost.GetUID())).Action
	g.FindElsewhere(t.Context(), reader, g.Nodes())
	for _, tt := range []struct {
		uid    string
		want   ownertree.Verdict
		detail string
		reason string
	}{
		{string(lost.GetUID()), ownertree.OtherNamespace, `the owner is in namespace "b"`, "an object of that uid is in another namespace"},
		{string(gone.GetUID()), ownertree.OwnerMissing, "", "there is none anywhere"},
	} {
		for _, n := range g.Nodes() {
			if string(n.UID) == tt.uid && (n.Owners[0].Verdict != tt.want || n.Owners[0].Detail != tt.detail || !n.Owners[0].Confirmed) {
				t.Errorf("%s: %+v: %s", n, n.Owners[0], tt.reason)
			}
		}
	}
	if after := g.GCOutcome(g.ByUID(lost.GetUID())).Action; after != before || after != ownertree.Deleted {
		t.Errorf("for the garbage collector it is the same: %s, then %s", before, after)
	}
}

// TestFindElsewhereOfMany: of many lost owners the first names are looked for, and each for all that refer to it.
func TestFindElsewhereOfMany(t *testing.T) {
	s := newShelf(t)
	for i := range 20 {
		name := fmt.Sprintf("owner-%02d", i)
		s.add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: name}})
		ref := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: types.UID("ConfigMap/b/" + name)}
		for _, dependent := range []string{"first", "last"} {
			s.add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: dependent + "-" + name, OwnerReferences: []metav1.OwnerReference{ref}}})
		}
	}
	reader, kinds := s.open()
	g, err := ownertree.Collect(t.Context(), reader, kinds, ownertree.Scope{Namespaces: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Confirm(t.Context(), reader, g.Nodes()); err != nil {
		t.Fatal(err)
	}
	g.FindElsewhere(t.Context(), reader, g.Nodes())
	for _, n := range g.Nodes() {
		want := ownertree.OtherNamespace
		if strings.HasSuffix(n.Name, "16") || strings.HasSuffix(n.Name, "17") || strings.HasSuffix(n.Name, "18") || strings.HasSuffix(n.Name, "19") {
			want = ownertree.OwnerMissing // not looked for
		}
		if got := n.Owners[0]; got.Verdict != want || !got.Confirmed {
			t.Errorf("%s: %s, want %s", n, got.Verdict, want)
		}
	}
}

// TestAscendAgain: an owner that could not be read is read again by the next Ascend of the graph, one that was read is
// not.
func TestAscendAgain(t *testing.T) {
	s, w := startRecorded(t)
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: a}}")
	role := s.create("", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: owner}}")
	there := s.configMap("a", "there", owned(role))
	gone := s.configMap("a", "gone", nowhere("rbac.authorization.k8s.io/v1", "ClusterRole", "absent"))
	g, err := ownertree.Collect(t.Context(), s.reader, s.kinds(), ownertree.Scope{Namespaces: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	const forbidden = "Forbidden: no secrets for you"
	for _, step := range []struct {
		forbid        string
		there, gone   ownertree.Verdict
		detail, asked string
		reason        string
	}{
		{"clusterroles", ownertree.Unknown, ownertree.Unknown, forbidden, "absent owner", "neither may be read"},
		{"", ownertree.Solid, ownertree.OwnerMissing, "", "absent owner", "both may, later"},
		{"clusterroles", ownertree.Solid, ownertree.OwnerMissing, "", "", "it is known"},
	} {
		w.asked()
		w.forbid = step.forbid
		nodes := []*ownertree.Node{g.ByUID(there.GetUID()), g.ByUID(gone.GetUID())}
		if err := g.Ascend(t.Context(), s.reader, nodes); err != nil {
			t.Fatal(err)
		}
		for i, want := range []ownertree.Verdict{step.there, step.gone} {
			if o := nodes[i].Owners[0]; o.Verdict != want || o.Detail != step.detail {
				t.Errorf("%s: %s: %s %q, want %s %q", step.reason, nodes[i], o.Verdict, o.Detail, want, step.detail)
			}
		}
		var asked []string
		for _, at := range w.asked() {
			asked = append(asked, path.Base(at))
		}
		if got := strings.Join(asked, " "); got != step.asked {
			t.Errorf("%s: it reads %q, want %q", step.reason, got, step.asked)
		}
	}
}
