package diff

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

func TestCopyOptions(t *testing.T) {
	web := manifests(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}")
	unplaced := manifests(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: api}}")
	change := func(context.Context, *runlocal.Session) error { return nil }
	id := func(kind, namespaceType, name string) plan.ObjectID {
		return plan.ObjectID{Kind: kind, Namespace: namespaceType, Name: name}
	}
	shop := &seed.Copy{Namespaces: []string{"shop"}}
	gone := seed.Root{Kind: deploymentType, Namespace: "shop", Name: "gone"}
	for _, row := range []struct {
		reason string
		job    copyJob
		only   []plan.ObjectID
		want   plan.RunOptions
	}{
		{"no change: all objects of the copied namespaces", copyJob{copied: shop}, nil,
			plan.RunOptions{Namespaces: []string{"shop"}}},
		{"a copy of all namespaces has what is in none, too", copyJob{copied: &seed.Copy{AllNamespaces: true}}, nil,
			plan.RunOptions{}},
		{"what was asked for", copyJob{copied: shop}, []plan.ObjectID{id("Deployment", "shop", "web")},
			plan.RunOptions{Namespaces: []string{"shop"}, Only: []plan.ObjectID{id("Deployment", "shop", "web")}}},
		{"owners that count as there", copyJob{copied: &seed.Copy{AbsentOwners: []seed.Root{gone}}}, nil,
			plan.RunOptions{Absent: []plan.ObjectID{{
				Resource: deploymentType.GVR(), Kind: "Deployment", Namespace: "shop", Name: "gone",
			}}}},
		{"manifests that are applied first are in a namespace, or their name stands in its place",
			copyJob{copied: shop, first: manifests(t, "{apiVersion: v1, kind: Node, metadata: {name: one}}")}, nil,
			plan.RunOptions{Namespaces: []string{"shop", "default", "one"}}},
		{"the objects of a change", copyJob{copied: shop, change: change, given: web}, nil, plan.RunOptions{
			Namespaces: []string{"shop"}, Only: []plan.ObjectID{id("Deployment", "shop", "web")},
			Given: objectsOf(web)}},
		{"one whose file names no namespace is in none, or in that of the command",
			copyJob{copied: shop, change: change, given: unplaced}, nil, plan.RunOptions{Namespaces: []string{"shop"},
				Only:  []plan.ObjectID{id("Deployment", "", "api"), id("Deployment", "default", "api")},
				Given: objectsOf(unplaced)}},
		{"a change adds to what was asked for", copyJob{copied: shop, change: change, given: web,
			pruned: []prunedObject{{configMapType, "shop", "old"}}}, []plan.ObjectID{id("Pod", "shop", "p")},
			plan.RunOptions{Namespaces: []string{"shop"}, Given: objectsOf(web), Only: []plan.ObjectID{
				id("Pod", "shop", "p"), id("Deployment", "shop", "web"), id("ConfigMap", "shop", "old")}}},
		{"a change of which nothing is left is not a plan for all objects", copyJob{copied: shop, change: change}, nil,
			plan.RunOptions{Namespaces: []string{"shop"}, Only: []plan.ObjectID{}}},
	} {
		o := &Options{namespace: "default"}
		got := o.copyOptions(nil, row.job, row.only)
		if (got.Change != nil) != (row.job.change != nil) {
			t.Errorf("%s: a change: %t", row.reason, got.Change != nil)
		}
		got.Change = nil // functions are not compared
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
	o := &Options{next: true, steps: 3, wait: 5}
	if got := o.copyOptions(nil, copyJob{copied: shop}, nil); !got.Next || got.Steps != 3 || got.Wait != 5 {
		t.Errorf("the options of the command are not those of the plan: %+v", got)
	}
}
