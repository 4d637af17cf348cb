package plan

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

const there = `uid: "1", resourceVersion: "1"`

func TestRelated(t *testing.T) {
	web := seed.Root{Kind: deploymentType, Namespace: "shop", Name: "web"}
	unknown := tried(t, widgetType, "namespace: shop, name: w", "")
	unknown.known = false
	for _, row := range []struct {
		reason string
		asked  asked
		tried  []*triedManifest
		pruned []seed.Root
		want   []string
	}{
		{"nothing is named: all is copied", asked{}, nil, nil, nil},
		{"an object", asked{web}, nil, nil, []string{"deployment.apps shop/web stays"}},
		{"all objects of a kind may be related to any", asked{web, {Kind: configMapType, Namespace: "shop"}}, nil, nil, nil},
		{"an object of a change, by what it will be", asked{},
			[]*triedManifest{tried(t, deploymentType, "namespace: shop, name: web", there)}, nil,
			[]string{"deployment.apps shop/web is written with uid 1"}},
		{"one that was not tried, by what it is in the file", asked{},
			[]*triedManifest{tried(t, deploymentType, "namespace: new, name: web", "")}, nil,
			[]string{"deployment.apps new/web is written with uid "}},
		{"no controller of Kubernetes acts on a custom resource", asked{},
			[]*triedManifest{tried(t, widgetType, "namespace: shop, name: w", there), unknown}, nil, nil},
		{"what is pruned", asked{}, nil, []seed.Root{{Kind: configMapType, Namespace: "shop", Name: "old"}},
			[]string{"configmap shop/old stays"}},
	} {
		var got []string
		for _, r := range (&clusterRead{asked: row.asked, tried: row.tried, pruned: row.pruned}).related() {
			becomes := " stays"
			if r.Object != nil {
				becomes = " is written with uid " + string(r.Object.GetUID())
			}
			got = append(got, r.Kind.String()+" "+r.Namespace+"/"+r.Name+becomes)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

func TestReadByName(t *testing.T) {
	shop := seed.Root{Kind: namespaceType, Name: "shop"}
	for _, row := range []struct {
		reason string
		asked  asked
		tried  []*triedManifest
		pruned []seed.Root
		want   []string
	}{
		{"nothing", asked{}, nil, nil, nil},
		{"what is named, and not all of a kind", asked{shop, {Kind: configMapType, Namespace: "shop"}}, nil, nil, []string{"namespace /shop"}},
		{"what a change has in no namespace", asked{}, []*triedManifest{tried(t, volumeType, "name: disk", there)}, nil,
			[]string{"persistentvolume /disk"}},
		{"what it makes is not there", asked{}, []*triedManifest{tried(t, namespaceType, "name: new", `uid: "1"`)}, nil,
			nil},
		{"what is in a namespace is in the lists of that", asked{},
			[]*triedManifest{tried(t, configMapType, "namespace: shop, name: a", there)}, nil, nil},
		{"what is pruned", asked{}, nil, []seed.Root{
			{Kind: configMapType, Namespace: "shop", Name: "old"}, {Kind: volumeType, Name: "disk"}},
			[]string{"configmap shop/old", "persistentvolume /disk"}},
	} {
		var got []string
		for _, target := range (&clusterRead{asked: row.asked, tried: row.tried, pruned: row.pruned}).readByName() {
			got = append(got, target.Kind.String()+" "+target.Namespace+"/"+target.Name)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestMakeOnCluster: a plan for a change of what a cluster has, which is not written to, and the errors by which callers
// tell what is wrong.
func TestMakeOnCluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	live, err := runlocal.Start(ctx, runlocal.Options{Controllers: runlocal.Names("deployment", "replicaset")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := live.Stop(); err != nil {
			t.Error(err)
		}
	}()
	applied, err := live.ApplyWith(ctx, "default", manifests(t, deployment(2, "a"), "{apiVersion: v1, kind: ConfigMap, "+
		"metadata: {name: old}}"), runlocal.KubectlApply{}.Write)
	if err == nil {
		err = live.WaitReady(ctx, applied)
	}
	if err != nil {
		t.Fatal(err)
	}
	var stages []Stage
	given := manifests(t, deployment(2, "b"))
	p, err := Make(ctx, &Cluster{Config: live.Config()}, Change{Manifests: given, Prune: &Pruning{}}, Options{
		Progress: func(s Stage) { stages = append(stages, s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	isThere := func(verb Verb, kind, name string) bool {
		return slices.ContainsFunc(p.Objects, func(o Object) bool { return o.Verb() == verb && o.Kind == kind && o.Name == name })
	}
	if !isThere(Update, "Deployment", "web") || !isThere(Delete, "ConfigMap", "old") || p.End != EndSettled {
		t.Errorf("it ends %s, with %q", p.End, outline(p))
	}
	web, err := kubernetes.NewForConfigOrDie(live.Config()).AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
	if err != nil || web.Generation != 1 {
		t.Errorf("the cluster was written to: %v, %v", web, err)
	}
	if want := []Stage{StageRead, StagePlan}; !slices.Equal(stages, want) || p.Drift != nil || given[0].Object.GetNamespace() != "" {
		t.Errorf("stages %v, drift %v, the change in namespace %q", stages, p.Drift, given[0].Object.GetNamespace())
	}
	if p, err := Make(ctx, &Cluster{Config: live.Config()}, Change{}, Options{Next: true}); err != nil || p.Drift == nil {
		t.Errorf("without a change: %v, %v", p, err)
	}
	manifest, absent, unserved := (*ManifestError)(nil), (*seed.NotFoundError)(nil), (*UnservedKindError)(nil)
	for _, row := range []struct {
		reason string
		change Change
		o      Options
		want   func(error) bool
	}{
		{"the cluster refuses it", Change{Manifests: manifests(t, deployment(-1, "a"))}, Options{}, func(err error) bool {
			return errors.As(err, &manifest) && apierrors.IsInvalid(manifest.Err) && manifest.Manifest.Object.GetName() == "web"
		}},
		{"a kind that is not served", Change{Manifests: manifests(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}")},
			Options{}, func(err error) bool { return errors.As(err, &manifest) }},
		{"no such namespace", Change{}, Options{Namespace: "none"}, func(err error) bool {
			return errors.As(err, &absent) && absent.Kind.Kind == "Namespace"
		}},
		{"no such kind to prune", Change{Manifests: given, Prune: &Pruning{Kinds: []schema.GroupVersionKind{{Version: "v1", Kind: "None"}}}},
			Options{}, func(err error) bool { return errors.As(err, &unserved) }},
		{"an object in no namespace that is not there", Change{}, Options{
			Only: func(_ context.Context, c *Cluster, _ string) ([]seed.Root, error) {
				kind, err := c.Kinds.Resolve("pv")
				return []seed.Root{{Kind: kind, Name: "none"}}, err
			},
		}, func(err error) bool {
			unread := (*ReadError)(nil)
			return errors.As(err, &unread) && apierrors.IsNotFound(err)
		}},
		{"one in a namespace", Change{}, Options{
			Only: func(_ context.Context, c *Cluster, namespace string) ([]seed.Root, error) {
				kind, err := c.Kinds.Resolve("deploy")
				return []seed.Root{{Kind: kind, Namespace: namespace, Name: "none"}}, err
			},
		}, func(err error) bool {
			unread := (*ReadError)(nil)
			return errors.As(err, &unread) && unread.Object.Name == "none"
		}},
	} {
		if _, err := Make(ctx, &Cluster{Config: live.Config()}, row.change, row.o); !row.want(err) {
			t.Errorf("%s: %v", row.reason, err)
		}
	}
}
