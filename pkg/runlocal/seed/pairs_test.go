package seed

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestUndecodable: what cannot be decoded does not disappear without a word. It stays, and the session reports that it
// cannot load it; of webhooks, which do not stay, it is recorded.
func TestUndecodable(t *testing.T) {
	webhooks := schema.GroupResource{Group: admissionGroup, Resource: "validatingwebhookconfigurations"}
	for _, tt := range []struct {
		reason   string
		resource schema.GroupResource
		json     string
		kept     bool
		leftOut  []LeftOut
	}{
		{"a volume of a claim elsewhere", volumes, `{"spec": {"claimRef": {"namespace": "x"}}}`, false, nil},
		{"a volume whose claim cannot be told", volumes, `{"spec": {"claimRef": "x/data"}}`, true, nil},
		{"an address of a Service elsewhere", ipAddresses, `{"spec": {"parentRef": {"namespace": "x"}}}`, false, nil},
		{"an address of which it cannot be told", ipAddresses, `{"spec": {"parentRef": []}}`, true, nil},
		{"no webhooks", webhooks, `{"webhooks": []}`, false, nil},
		{"webhooks that cannot be told", webhooks, `{"webhooks": {"a": {}}}`, false, []LeftOut{{
			Group: admissionGroup, Resource: "validatingwebhookconfigurations", Name: "one", Reason: ReasonWebhook,
			Message: "webhooks are not called by writes to a copy",
		}}},
	} {
		k := key{resource: tt.resource, name: "one"}
		r := &reading{o: &Options{}, objects: map[key]Object{k: {Name: "one", JSON: json.RawMessage(tt.json)}}}
		r.keepPairs()
		r.leaveOutWebhooks()
		if _, kept := r.objects[k]; kept != tt.kept {
			t.Errorf("%s: kept: %v, want %v", tt.reason, kept, tt.kept)
		}
		if diff := cmp.Diff(tt.leftOut, r.leftOut); diff != "" {
			t.Errorf("%s: left out (-want +got):\n%s", tt.reason, diff)
		}
	}
}
