package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	commonsession "github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
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

func TestAddTried(t *testing.T) {
	newNamespace := tried(t, configMapType, "namespace: new, name: a", "")
	newNamespace.newNamespace = true
	bound := tried(t, volumeType, "name: disk", there)
	bound.after.Object["spec"] = map[string]any{"claimRef": map[string]any{"namespace": "shop", "name": "disk"}}
	for _, row := range []struct {
		reason                         string
		tried                          *triedManifest
		namespaces, roots, definitions []string
	}{
		{"a namespace is copied with the objects in it", tried(t, configMapType, "namespace: shop, name: a", there),
			[]string{"shop"}, nil, nil},
		{"but one that the cluster does not have", newNamespace, nil, nil, nil},
		{"a custom resource needs its definition", tried(t, widgetType, "namespace: shop, name: w", there),
			[]string{"shop"}, nil, []string{"Widget.example.com"}},
		{"a namespace that there is brings what is in it", tried(t, namespaceType, "name: shop", there),
			[]string{"shop"}, []string{"namespace/shop"}, nil},
		{"one that there is not brings nothing", tried(t, namespaceType, "name: new", `uid: "1"`), nil, nil, nil},
		{"a volume brings the namespace of its claim", bound, []string{"shop"}, []string{"persistentvolume/disk"}, nil},
		{"one without a claim is read alone", tried(t, volumeType, "name: free", there), []string{""},
			[]string{"persistentvolume/free"}, nil},
	} {
		source := &commonsession.CopySource{}
		addTried(source, row.tried)
		var roots, definitions []string
		for _, r := range source.Roots {
			roots = append(roots, r.Kind.String()+"/"+r.Name)
		}
		for _, d := range source.Definitions {
			definitions = append(definitions, d.String())
		}
		if diff := cmp.Diff([][]string{row.namespaces, row.roots, row.definitions},
			[][]string{source.Namespaces, roots, definitions}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}
