package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
)

const there = `uid: "1", resourceVersion: "1"`

func TestRelatedOf(t *testing.T) {
	web := connect.NewTarget(deploymentType, "shop", "web")
	unknown := tried(t, widgetType, "namespace: shop, name: w", "")
	unknown.known = false
	for _, row := range []struct {
		reason string
		asked  asked
		tried  []*triedManifest
		pruned []prunedObject
		want   []string
	}{
		{"nothing is named: all is copied", asked{}, nil, nil, nil},
		{"an object", asked{targets: []connect.Target{web}}, nil, nil, []string{"deployment.apps shop/web stays"}},
		{"all objects of a kind may be related to any", asked{
			targets: []connect.Target{web}, kinds: []connect.Target{connect.NewTarget(configMapType, "shop", "")},
		}, nil, nil, nil},
		{"an object of -f, by what it will be", asked{},
			[]*triedManifest{tried(t, deploymentType, "namespace: shop, name: web", there)}, nil,
			[]string{"deployment.apps shop/web is written with uid 1"}},
		{"one that was not tried, by what it is in the file", asked{},
			[]*triedManifest{tried(t, deploymentType, "namespace: new, name: web", "")}, nil,
			[]string{"deployment.apps new/web is written with uid "}},
		{"no controller of Kubernetes acts on a custom resource", asked{},
			[]*triedManifest{tried(t, widgetType, "namespace: shop, name: w", there), unknown}, nil, nil},
		{"what is pruned", asked{}, nil, []prunedObject{{configMapType, "shop", "old"}},
			[]string{"configmap shop/old stays"}},
	} {
		var got []string
		for _, r := range relatedOf(row.asked, row.tried, row.pruned) {
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
	shop := connect.NewTarget(namespaceType, "", "shop")
	for _, row := range []struct {
		reason string
		asked  asked
		tried  []*triedManifest
		pruned []prunedObject
		want   []string
	}{
		{"nothing", asked{}, nil, nil, nil},
		{"what is named, and not all of a kind", asked{
			targets: []connect.Target{shop}, kinds: []connect.Target{connect.NewTarget(configMapType, "shop", "")},
		}, nil, nil, []string{"namespace /shop"}},
		{"what -f changes in no namespace", asked{}, []*triedManifest{tried(t, volumeType, "name: disk", there)}, nil,
			[]string{"persistentvolume /disk"}},
		{"what it makes is not there", asked{}, []*triedManifest{tried(t, namespaceType, "name: new", `uid: "1"`)}, nil,
			nil},
		{"what is in a namespace is in the lists of that", asked{},
			[]*triedManifest{tried(t, configMapType, "namespace: shop, name: a", there)}, nil, nil},
		{"what is pruned", asked{}, nil, []prunedObject{{configMapType, "shop", "old"}, {volumeType, "", "disk"}},
			[]string{"configmap shop/old", "persistentvolume /disk"}},
	} {
		var got []string
		for _, target := range readByName(row.asked, row.tried, row.pruned) {
			got = append(got, target.Kind.String()+" "+target.Namespace+"/"+target.Name)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}
