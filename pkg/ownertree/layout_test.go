package ownertree_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

func TestRead(t *testing.T) {
	s := newShelf(t)
	ownedBy := func(namespace, name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: types.UID("ConfigMap/" + namespace + "/" + name)}}
	}
	s.add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "top"}})
	s.add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "middle", OwnerReferences: ownedBy("a", "top")}})
	s.add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "below", OwnerReferences: ownedBy("a", "middle")}})
	s.add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "lost", OwnerReferences: ownedBy("b", "other")}})
	s.add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "other"}})
	reader, kinds := s.open()
	kindOf := func(name string) cluster.Kind {
		kind, err := kinds.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		return kind
	}
	maps, secrets := kindOf("configmaps"), kindOf("secrets")
	notMaps := func(kind cluster.Kind) bool { return kind.Kind != "ConfigMap" }
	for _, tt := range []struct {
		reason string
		query  ownertree.Query
		want   []string
	}{
		{"an object and what is below it", ownertree.Query{
			Objects: []ownertree.Ref{{Kind: maps, Namespace: "a", Name: "middle"}}, LayoutOptions: ownertree.LayoutOptions{TreeOptions: ownertree.TreeOptions{Down: true}},
		}, []string{"configmap/middle", "  secret/below"}},
		{"what is above it is read by itself", ownertree.Query{
			Objects: []ownertree.Ref{{Kind: secrets, Namespace: "a", Name: "below"}}, LayoutOptions: ownertree.LayoutOptions{TreeOptions: ownertree.TreeOptions{Up: true}},
		}, []string{"configmap/top", "  configmap/middle", "    secret/below"}},
		{"all of a kind", ownertree.Query{
			Objects: []ownertree.Ref{{Kind: secrets, Namespace: "a"}}, LayoutOptions: ownertree.LayoutOptions{TreeOptions: ownertree.TreeOptions{Down: true}},
		}, []string{"secret/below", "secret/lost"}},
		{"everything in a namespace", ownertree.Query{
			Namespace: "a", LayoutOptions: ownertree.LayoutOptions{TreeOptions: ownertree.TreeOptions{Down: true}},
		}, []string{"configmap/top", "  configmap/middle", "    secret/below", "secret/lost"}},
		{"everything but some kinds, tops included", ownertree.Query{
			Namespace: "a", LayoutOptions: ownertree.LayoutOptions{TreeOptions: ownertree.TreeOptions{Down: true, Kinds: notMaps}},
		}, []string{"secret/below", "secret/lost"}},
	} {
		got, err := ownertree.Read(t.Context(), reader, kinds, tt.query)
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		if diff := cmp.Diff(tt.want, drawn(got.Branches, "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if marked := slices.ContainsFunc(got.Branches, func(b *ownertree.Branch) bool { return b.Asked }); marked && len(tt.query.Objects) == 0 {
			t.Errorf("%s: none was asked for in particular", tt.reason)
		}
		for _, n := range got.Nodes {
			if n.Name == "lost" && n.Owners[0].Verdict != ownertree.OtherNamespace {
				t.Errorf("%s: the verdict on a lost owner is %s", tt.reason, n.Owners[0].Verdict)
			}
		}
	}
	absent := ownertree.Query{Objects: []ownertree.Ref{{Kind: maps, Namespace: "a", Name: "absent"}}}
	if _, err := ownertree.Read(t.Context(), reader, kinds, absent); !apierrors.IsNotFound(err) {
		t.Errorf("an object that does not exist: %v", err)
	}
}
