package trace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestCreatedResources(t *testing.T) {
	pods := Object{Version: "v1", Resource: "pods"}
	sets := Object{Group: "apps", Version: "v1", Resource: "replicasets"}
	m := NewCreatedResources("root-ca-cert-publisher")
	for _, e := range []struct {
		reconcile ReconcileID
		detail    Detail
		reason    string
	}{
		{1, &Request{Verb: "create", Object: sets, Code: 201}, "made"},
		{2, &Request{Verb: "create", Object: pods, Code: 201}, "made"},
		{2, &Request{Verb: "create", Object: pods, Code: 201}, "again"},
		{3, &Request{Verb: "create", Object: Object{Resource: "secrets"}, Code: 403}, "refused"},
		{3, &Request{Verb: "update", Object: Object{Resource: "nodes"}, Code: 200}, "not a creation"},
		{3, &Request{Verb: "create", Object: pods, Subresource: "binding", Code: 201}, "a subresource"},
		{0, &Request{Verb: "create", Object: Object{Resource: "leases"}, Code: 201}, "outside of any reconcile"},
		{4, &Request{Verb: "create", Object: Object{Resource: "events"}, Code: 201, Recorded: &RecordedEvent{}}, "an Event"},
		{4, &Request{Verb: "create", Object: Object{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}, Code: 201}, "a review"},
		{4, &Log{Message: "no request"}, "no request"},
	} {
		m.Record(&Event{Reconcile: e.reconcile, Detail: e.detail})
	}
	m.Record(&Event{
		Controller: "root-ca-cert-publisher", Reconcile: 5,
		Detail: &Request{Verb: "create", Object: Object{Version: "v1", Resource: "configmaps"}, Code: 201},
	}) // ignored
	want := []schema.GroupVersionResource{{Version: "v1", Resource: "pods"}, {Group: "apps", Version: "v1", Resource: "replicasets"}}
	if diff := cmp.Diff(want, m.Resources()); diff != "" {
		t.Errorf("resources that reconciles created objects of, sorted (-want +got):\n%s", diff)
	}
}
