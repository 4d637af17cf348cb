package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

func TestRunOptions(t *testing.T) {
	web := manifests(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}")
	unplaced := manifests(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: api}}")
	id := func(kind, namespaceType, name string) ObjectID {
		return ObjectID{Kind: kind, Namespace: namespaceType, Name: name}
	}
	shop := &seed.Copy{Namespaces: []string{"shop"}}
	gone := seed.Root{Kind: deploymentType, Namespace: "shop", Name: "gone"}
	for _, row := range []struct {
		reason string
		making making
		only   []ObjectID
		want   RunOptions
	}{
		{"no change: all objects of the copied namespaces", making{state: &State{Copy: shop}}, nil,
			RunOptions{Namespaces: []string{"shop"}}},
		{"a copy of all namespaces has what is in none, too", making{state: &State{Copy: &seed.Copy{AllNamespaces: true}}}, nil,
			RunOptions{}},
		{"what was asked for", making{state: &State{Copy: shop}}, []ObjectID{id("Deployment", "shop", "web")},
			RunOptions{Namespaces: []string{"shop"}, Only: []ObjectID{id("Deployment", "shop", "web")}}},
		{"owners that count as there", making{state: &State{Copy: &seed.Copy{AbsentOwners: []seed.Root{gone}}}}, nil,
			RunOptions{Absent: []ObjectID{{
				Resource: deploymentType.GVR(), Kind: "Deployment", Namespace: "shop", Name: "gone",
			}}}},
		{"manifests that are applied first are in a namespace, or their name stands in its place",
			making{state: &State{Copy: shop, First: manifests(t, "{apiVersion: v1, kind: Node, metadata: {name: one}}")}}, nil,
			RunOptions{Namespaces: []string{"shop", "default", "one"}}},
		{"the objects of a change", making{change: Change{Manifests: web}, state: &State{Copy: shop}}, nil, RunOptions{
			Namespaces: []string{"shop"}, Only: []ObjectID{id("Deployment", "shop", "web")},
			Given: []*unstructured.Unstructured{web[0].Object}}},
		{"one whose file names no namespace is in none, or in that of the options",
			making{change: Change{Manifests: unplaced}, state: &State{Copy: shop}}, nil, RunOptions{Namespaces: []string{"shop"},
				Only:  []ObjectID{id("Deployment", "", "api"), id("Deployment", "default", "api")},
				Given: []*unstructured.Unstructured{unplaced[0].Object}}},
		{"a change adds to what was asked for", making{change: Change{Manifests: web}, state: &State{Copy: shop, cluster: &clusterRead{
			tried: []*triedManifest{{manifest: web[0]}}, pruned: []seed.Root{{Kind: configMapType, Namespace: "shop", Name: "old"}}}}}, []ObjectID{id("Pod", "shop", "p")},
			RunOptions{Namespaces: []string{"shop"}, Given: []*unstructured.Unstructured{web[0].Object}, Only: []ObjectID{
				id("Pod", "shop", "p"), id("Deployment", "shop", "web"), id("ConfigMap", "shop", "old")}}},
		{"a change of which nothing is left is not a plan for all objects", making{change: Change{Manifests: web}, state: &State{Copy: shop, cluster: &clusterRead{}}}, nil,
			RunOptions{Namespaces: []string{"shop"}, Only: []ObjectID{}}},
	} {
		row.making.namespace = "default"
		got := row.making.runOptions(nil, row.only)
		if (got.Change != nil) != (len(row.making.change.Manifests) > 0) {
			t.Errorf("%s: a change: %t", row.reason, got.Change != nil)
		}
		got.Change = nil // functions are not compared
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
	m := &making{Options: Options{Next: true, Steps: 3, Wait: 5}, state: &State{Copy: shop}}
	if got := m.runOptions(nil, nil); !got.Next || got.Steps != 3 || got.Wait != 5 {
		t.Errorf("the options are not those of the run: %+v", got)
	}
}
