package scenarios

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	uidA = "11111111-1111-4111-8111-111111111111"
	uidB = "22222222-2222-4222-8222-222222222222"
)

func outcomeOf(t *testing.T) *Outcome {
	t.Helper()
	return &Outcome{
		Objects: []Object{{"pods", parsed(t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {
			"name": "web-abc-x1y2z", "generateName": "web-abc-", "uid": "`+uidA+`", "resourceVersion": "17", "creationTimestamp": "2026-01-02T03:04:05Z",
			"ownerReferences": [{"uid": "`+uidB+`"}],
			"managedFields": [
				{"manager": "stand-in", "operation": "Update", "subresource": "status", "apiVersion": "v1", "time": "2026-01-02T03:04:05Z", "fieldsV1": {"f:status": {}}},
				{"manager": "kcm", "operation": "Update", "apiVersion": "v1", "time": "2026-01-02T03:04:05Z",
					"fieldsV1": {"f:metadata": {"f:ownerReferences": {"k:{\"uid\":\"`+uidB+`\"}": {}}}}}]},
			"spec": {"nodeName": "node-1", "volumes": [{"name": "kube-api-access-abcde"}]}}`)}},
		Gone:  []*unstructured.Unstructured{parsed(t, `{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-abc", "uid": "`+uidB+`"}}`)},
		Nodes: []string{"node-1", "node-10"},
		Names: Names{"stand-in": "kubelet"},
	}
}

func TestNormaliseText(t *testing.T) {
	n := newNormaliser(outcomeOf(t))
	tests := []struct{ reason, in, want string }{
		{"a generated name in a text", "Created pod: web-abc-x1y2z", "Created pod: web-abc-*"},
		{"a given name stays", "web-abc", "web-abc"},
		{"a uid is named by whose it is, also when that is gone", uidB, "(uid of ReplicaSet/web-abc)"},
		{"a uid of no known object", "33333333-3333-4333-8333-333333333333", "(uid)"},
		{"a time", "2026-01-02T03:04:05.678901Z", "(time)"},
		{"an address", "on 10.128.0.1", "on (ip)"},
		{"a node, as a whole word", "to node-10", "to (node)"},
		{"what looks like a node", "to node-11", "to node-11"},
		{"the token's volume", "kube-api-access-x9z2q", "kube-api-access-*"},
		{"a digest", "simulated://" + strings.Repeat("a0", 32), "simulated://(digest)"},
		{"everything else", `Container image "web:1" in 2 of 3`, `Container image "web:1" in 2 of 3`},
	}
	for _, tt := range tests {
		if got := n.text(tt.in); got != tt.want {
			t.Errorf("%s: %q became %q, want %q", tt.reason, tt.in, got, tt.want)
		}
	}
}

func TestNormaliseObject(t *testing.T) {
	o := outcomeOf(t)
	got := canonical(newNormaliser(o).object(o.Objects[0]))
	for reason, want := range map[string]string{
		"the version is one of many":              `"resourceVersion":"(version)"`,
		"managers are told apart by what they do": `"kcm Update - v1":{"f:metadata"`,
		"a manager has its role's name":           `"kubelet Update status v1":{"f:status"`,
		"names in keys are normalised too":        `k:{\"uid\":\"(uid of ReplicaSet/web-abc)\"}`,
		"its own name is a generated one":         `"name":"web-abc-*"`,
		"that there is a time is kept":            `"creationTimestamp":"(time)"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s: want %s in\n%s", reason, want, got)
		}
	}
	if o.Objects[0].GetName() != "web-abc-x1y2z" {
		t.Error("the object itself was changed")
	}
}

func TestNormaliseVersionsThatAreReferredTo(t *testing.T) {
	in := map[string]any{"active": []any{map[string]any{"name": "a", "resourceVersion": "331"}}, "resourceVersion": int64(7)}
	want := `{"active":[{"name":"a","resourceVersion":"(version)"}],"resourceVersion":7}`
	if got := canonical(newNormaliser(&Outcome{}).tree(in)); got != want {
		t.Errorf("got %s, want %s: only a version in text is one of an object", got, want)
	}
}
