package ownertree_test

import (
	"errors"
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
	config := configOf(t, s)
	notMaps := func(kind cluster.Kind) bool { return kind.Kind != "ConfigMap" }
	for _, tt := range []struct {
		reason string
		query  ownertree.Query
		want   []string
	}{
		{"an object and what is below it", ownertree.Query{Namespace: "a", Objects: []string{"configmaps/middle"}}, []string{"configmap/middle", "  secret/below"}},
		{"what is above it is read by itself", ownertree.Query{
			Namespace: "a", Objects: []string{"secrets/below"}, LayoutOptions: showing(ownertree.TreeOptions{Up: true}),
		}, []string{"configmap/top", "  configmap/middle", "    secret/below"}},
		{"what is below one that is shown for what is above it", ownertree.Query{
			Namespace: "a", Objects: []string{"configmaps/middle"}, LayoutOptions: showing(ownertree.TreeOptions{Up: true, Down: true}),
		}, []string{"configmap/top", "  configmap/middle", "    secret/below"}},
		{"all of a kind", ownertree.Query{Namespace: "a", Objects: []string{"secrets"}}, []string{"secret/below", "secret/lost"}},
		{"all of a kind, in all namespaces", ownertree.Query{Objects: []string{"configmaps"}}, []string{"configmap/top", "  configmap/middle", "    secret/below", "configmap/other"}},
		{"everything in a namespace", ownertree.Query{Namespace: "a"}, []string{"configmap/top", "  configmap/middle", "    secret/below", "secret/lost"}},
		{"everything", ownertree.Query{}, []string{"configmap/top", "  configmap/middle", "    secret/below", "configmap/other", "secret/lost"}},
		{"everything but some kinds, tops included", ownertree.Query{
			Namespace: "a", LayoutOptions: showing(ownertree.TreeOptions{Kinds: notMaps}),
		}, []string{"secret/below", "secret/lost"}},
	} {
		got, err := ownertree.Read(t.Context(), config, tt.query)
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
	for _, tt := range []struct {
		reason string
		query  ownertree.Query
		is     func(error) bool
	}{
		{"an object that does not exist", ownertree.Query{Namespace: "a", Objects: []string{"configmaps/absent"}}, apierrors.IsNotFound},
		{"a name that is missing, as of an empty variable", ownertree.Query{Namespace: "a", Objects: []string{"secrets/"}}, func(err error) bool {
			return err != nil && err.Error() == `"secrets/" has neither the form TYPE nor TYPE/NAME`
		}},
		{"a kind that is not served", ownertree.Query{Objects: []string{"gadget/a"}}, isUnknownKind},
		{"an object without its namespace", ownertree.Query{Objects: []string{"configmaps/top"}}, func(err error) bool {
			return err != nil && err.Error() == `reading "configmaps/top": it is in a namespace, and none is given`
		}},
	} {
		if _, err := ownertree.Read(t.Context(), config, tt.query); !tt.is(err) {
			t.Errorf("%s: %v", tt.reason, err)
		}
	}
}

func isUnknownKind(err error) bool {
	unknown := (*cluster.UnknownKindError)(nil)
	return errors.As(err, &unknown)
}

// showing are the options of a layout that shows a part of a graph.
func showing(o ownertree.TreeOptions) ownertree.LayoutOptions {
	return ownertree.LayoutOptions{TreeOptions: o}
}
