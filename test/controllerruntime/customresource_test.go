package controllerruntime

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/controllerruntime/website"
)

// TestValidation: the server refuses what the schema and its CEL rules refuse, on create and on update.
func TestValidation(t *testing.T) {
	t.Parallel()
	c := newClient(t, startSandbox(t, apiAlone()...))
	site := newSite("blog")
	create(t, c, site)
	tests := []struct {
		reason string
		change func(*website.Website)
		want   string // of the error; empty if the change is allowed
	}{
		{"a required field", func(w *website.Website) { w.Spec.Content = "" }, "spec.content: Invalid value"},
		{"a minimum", func(w *website.Website) { w.Spec.Replicas = new(int32(-1)) }, "should be greater than or equal to 0"},
		{"an enumeration", func(w *website.Website) { w.Spec.Tier = "staging" }, `supported values: "test", "production"`},
		{"a CEL rule about two fields, one of them defaulted", func(w *website.Website) { w.Spec.Replicas = new(int32(4)) }, "only production sites may have more than 3 replicas"},
		{"the same rule, kept", func(w *website.Website) { w.Spec.Replicas, w.Spec.Tier = new(int32(4)), "production" }, ""},
		{"a CEL rule about the old value", func(w *website.Website) { w.Spec.Host = "other.example.com" }, "host is immutable"},
	}
	for _, test := range tests {
		changed := site.DeepCopy()
		test.change(changed)
		err := c.Update(t.Context(), changed, client.DryRunAll)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.reason, err)
		case test.want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: the error is %v, want Invalid with %q", test.reason, err, test.want)
		}
	}
}

// TestDefaults: the server fills in what the schema defaults, and keeps what was given.
func TestDefaults(t *testing.T) {
	t.Parallel()
	c := newClient(t, startSandbox(t, apiAlone()...))
	bare, full := newSite("bare"), newSite("full")
	full.Spec.Tier, full.Spec.Replicas = "production", new(int32(0))
	create(t, c, bare, full)
	want := website.Spec{Host: "bare.example.com", Content: "files", Tier: "test", Replicas: new(int32(1))}
	if diff := cmp.Diff(want, bare.Spec); diff != "" {
		t.Errorf("defaulted spec (-want +got):\n%s", diff)
	}
	want = website.Spec{Host: "full.example.com", Content: "files", Tier: "production", Replicas: new(int32(0))}
	if diff := cmp.Diff(want, full.Spec); diff != "" {
		t.Errorf("spec with nothing to default (-want +got):\n%s", diff)
	}
}

// TestStatusSubresource: a write of the object leaves the status alone, a write of the status everything else.
func TestStatusSubresource(t *testing.T) {
	t.Parallel()
	c := newClient(t, startSandbox(t, apiAlone()...))
	site := newSite("blog")
	site.Status.ReadyReplicas = 9
	create(t, c, site)
	if site.Status.ReadyReplicas != 0 || site.Generation != 1 {
		t.Errorf("after the creation: %d ready replicas at generation %d, want 0 at 1", site.Status.ReadyReplicas, site.Generation)
	}

	site.Spec.Replicas, site.Status.ReadyReplicas = new(int32(2)), 9
	if err := c.Update(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	if site.Status.ReadyReplicas != 0 || site.Generation != 2 {
		t.Errorf("after an update: %d ready replicas at generation %d, want 0 at 2", site.Status.ReadyReplicas, site.Generation)
	}

	site.Spec.Replicas, site.Status.ReadyReplicas = new(int32(3)), 2
	meta.SetStatusCondition(&site.Status.Conditions, metav1.Condition{Type: website.Ready, Status: metav1.ConditionTrue, Reason: "AllReady"})
	if err := c.Status().Update(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	get(t, c, site)
	if *site.Spec.Replicas != 2 || site.Status.ReadyReplicas != 2 || site.Generation != 2 {
		t.Errorf("after an update of the status: %d wanted, %d ready replicas at generation %d, want 2, 2 at 2",
			*site.Spec.Replicas, site.Status.ReadyReplicas, site.Generation)
	}
	if !meta.IsStatusConditionTrue(site.Status.Conditions, website.Ready) {
		t.Errorf("the conditions are %+v", site.Status.Conditions)
	}
}

// TestPrinterColumns: the server prints the table that kubectl shows.
func TestPrinterColumns(t *testing.T) {
	t.Parallel()
	config := startSandbox(t, apiAlone()...)
	create(t, newClient(t, config), newSite("blog"))
	raw, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	table := &metav1.Table{}
	err = raw.RESTClient().Get().
		AbsPath("/apis", website.GroupVersion.Group, website.GroupVersion.Version, "namespaces", namespace, "websites").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		Do(t.Context()).Into(table)
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	for _, column := range table.ColumnDefinitions {
		columns = append(columns, column.Name)
	}
	if diff := cmp.Diff([]string{"Name", "Host", "Replicas", "Ready"}, columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if len(table.Rows) != 1 {
		t.Fatalf("%d rows, want 1", len(table.Rows))
	}
	if diff := cmp.Diff([]any{"blog", "blog.example.com", int64(1), nil}, table.Rows[0].Cells); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}
