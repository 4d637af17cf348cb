package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/drift"
)

func TestDriftOf(t *testing.T) {
	owned := func(kind, name, uid, ownerKind, owner string) *unstructured.Unstructured {
		const (
			text  = "{apiVersion: apps/v1, kind: %s, metadata: {namespace: shop, name: %s, uid: %s%s}}"
			owned = ", ownerReferences: [{apiVersion: apps/v1, kind: %s, name: x, uid: %s, controller: true}]"
		)
		owners := ""
		if owner != "" {
			owners = fmt.Sprintf(owned, ownerKind, owner)
		}
		return objectOf(t, fmt.Sprintf(text, kind, name, uid, owners))
	}
	web, set := owned("Deployment", "web", "d1", "", ""), owned("ReplicaSet", "web-1", "r1", "Deployment", "d1")
	stray := owned("ReplicaSet", "stray", "r2", "Deployment", "gone")
	one := owned("Deployment", "one", "c1", "Deployment", "c2")
	two := owned("Deployment", "two", "c2", "Deployment", "c1")
	objects := []*unstructured.Unstructured{web, set, stray, one, two}
	report := drift.Report{
		Unseen:    []drift.Unseen{{Object: web}, {Object: stray}, {Object: one}},
		Counts:    []drift.Count{{Object: web}, {Object: set}, {Object: two}},
		OldPods:   []drift.OldPods{{Object: set}, {Object: stray}},
		SetFields: []drift.SetField{{Object: stray}, {Object: set}},
	}
	names := func(r drift.Report) (out []string) {
		for _, u := range r.Unseen {
			out = append(out, "unseen "+u.Object.GetName())
		}
		for _, c := range r.Counts {
			out = append(out, "count "+c.Object.GetName())
		}
		for _, o := range r.OldPods {
			out = append(out, "old "+o.Object.GetName())
		}
		for _, f := range r.SetFields {
			out = append(out, "field "+f.Object.GetName())
		}
		return out
	}
	for _, row := range []struct {
		reason string
		asked  asked
		want   []string
	}{
		{"nothing was asked for: all", asked{}, names(report)},
		{"an object, and what it owns", asked{{Kind: deploymentType, Namespace: "shop", Name: "web"}},
			[]string{"unseen web", "count web", "count web-1", "old web-1", "field web-1"}},
		{"one of that name in another namespace", asked{{Kind: deploymentType, Namespace: "other", Name: "web"}}, nil},
		{"a kind in all namespaces; owners in a circle have an end", asked{{Kind: deploymentType}}, []string{
			"unseen web", "unseen one", "count web", "count web-1", "count two", "old web-1", "field web-1"}},
		{"a circle that has nothing of it", asked{{Kind: configMapType, Namespace: "shop"}}, nil},
	} {
		if diff := cmp.Diff(row.want, names(driftOf(report, objects, row.asked))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}
