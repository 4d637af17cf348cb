package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

func TestDefinedBy(t *testing.T) {
	const definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: "
	widgets := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	for _, row := range []struct {
		reason string
		change []string
		want   defined
	}{
		{"nothing", nil, defined{}},
		{"a definition makes its kind", []string{definition + "{group: example.com, names: {kind: Widget}}}"},
			defined{kinds: []schema.GroupKind{widgets}}},
		{"a namespace", []string{"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"},
			defined{namespaces: []string{"shop"}}},
		{"a kind of that name in another group makes none", []string{
			"{apiVersion: example.com/v1, kind: Namespace, metadata: {name: shop}}"}, defined{}},
		{"fields of other types make a kind that no object has", []string{definition + "{group: 1, names: Widget}}"},
			defined{kinds: []schema.GroupKind{{}}}},
	} {
		got := definedBy(manifests(t, row.change...))
		if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(defined{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

func TestKeepCopied(t *testing.T) {
	copied, err := seed.FromFiles([]seed.File{{Object: objectOf(t,
		"{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: copied, "+there+"}}")}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	copied.Incomplete = []cluster.Incomplete{{Group: "apps", Resource: "deployments"}}
	unknown := tried(t, widgetType, "namespace: shop, name: new", "")
	unknown.known, unknown.kind = false, cluster.Kind{}
	for _, row := range []struct {
		reason   string
		tried    *triedManifest
		kept     bool
		uncopied bool
		err      string
	}{
		{"the copy has it", tried(t, configMapType, "namespace: shop, name: copied", there), true, false, ""},
		{"the cluster does not have it", tried(t, configMapType, "namespace: shop, name: a", `uid: "2"`), true, false, ""},
		{"it may not be listed, and is not there", tried(t, deploymentType, "namespace: shop, name: new", `uid: "2"`),
			true, false, ""},
		{"it may not be listed, and is there", tried(t, deploymentType, "namespace: shop, name: web", there), false, false,
			"test.yaml: deployment.apps/web: it exists in the cluster and could not be copied"},
		{"no copy has it", tried(t, configMapType, "namespace: shop, name: other", there), false, true, ""},
		{"another object of a change makes its namespace", tried(t, configMapType, "namespace: new, name: a", ""), true,
			false, ""},
		{"another object of a change makes its kind", unknown, true, false, ""},
	} {
		r, state := clusterRead{tried: []*triedManifest{row.tried}}, &State{Copy: copied}
		err := r.keepCopied(state)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if len(r.tried) == 1 != row.kept || len(state.Uncopied) == 1 != row.uncopied || text != row.err {
			t.Errorf("%s: kept %t, not copied %v, error %q", row.reason, len(r.tried) == 1, state.Uncopied, text)
		}
	}
	r, state := clusterRead{pruned: []seed.Root{
		{Kind: configMapType, Namespace: "shop", Name: "copied"}, {Kind: configMapType, Namespace: "shop", Name: "other"},
	}}, &State{Copy: copied}
	if err := r.keepCopied(state); err != nil || len(r.pruned) != 1 || len(state.Uncopied) != 1 || r.pruned[0].Name != "copied" {
		t.Errorf("pruned %v, not copied %v, error %v", r.pruned, state.Uncopied, err)
	}
}

// TestRemoveInvented: of the addresses and ports that a server answers a dry run with, only those are kept that the
// Service has or is given.
func TestRemoveInvented(t *testing.T) {
	const dual = `clusterIP: 10.96.0.0, clusterIPs: [10.96.0.0, "fd00::"]`
	for _, row := range []struct{ reason, after, given, current, want string }{
		{"a new Service", dual + ", ports: [{port: 80, nodePort: 32769}], healthCheckNodePort: 32770", "", "",
			"clusterIPs: [], ports: [{port: 80}]"},
		{"it asks for one address", dual, "clusterIP: 10.96.0.0", "", "clusterIP: 10.96.0.0, clusterIPs: [10.96.0.0]"},
		{"it asks for both", dual, `clusterIPs: [10.96.0.0, "fd00::"]`, "", dual},
		{"it is there", "clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ports: [{port: 80, nodePort: 30001}]",
			"ports: [{port: 80}]", "clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ports: [{port: 79, nodePort: 30001}]",
			"clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ports: [{port: 80, nodePort: 30001}]"},
		{"it is there and gets a port", "clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ports: [{port: 80, nodePort: 32769}]",
			"type: NodePort", "clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ports: [{port: 80}]",
			"clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ports: [{port: 80}]"},
		{"it asks for ports", "ports: [{port: 80, nodePort: 30001}], healthCheckNodePort: 30002",
			"ports: [{port: 80, nodePort: 30001}], healthCheckNodePort: 30002", "",
			"ports: [{port: 80, nodePort: 30001}], healthCheckNodePort: 30002"},
		{"a headless one", "clusterIP: None, clusterIPs: [None]", "clusterIP: None", "", "clusterIP: None, clusterIPs: [None]"},
	} {
		service := func(spec string) *unstructured.Unstructured {
			return objectOf(t, "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {"+spec+"}}")
		}
		got := service(row.after)
		removeInvented(got, service(row.given), service(row.current))
		if diff := cmp.Diff(service(row.want).Object, got.Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestRemoveValue: what a dry run has made of the uid of a Job goes with it.
func TestRemoveValue(t *testing.T) {
	job := objectOf(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: once, uid: u}, spec: {selector: {matchLabels: `+
		`{controller-uid: u}}, template: {metadata: {labels: {controller-uid: u, job-name: once}}, spec: {containers: [{name: c, args: [u]}]}}}}`)
	removeValue(job.Object, "u")
	want := objectOf(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {selector: {matchLabels: {}}, `+
		`template: {metadata: {labels: {job-name: once}}, spec: {containers: [{name: c, args: [u]}]}}}}`)
	if diff := cmp.Diff(want.Object, job.Object); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
