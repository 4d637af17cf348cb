package inspect

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// FuzzInspect: whatever the content of an object, Inspect does not panic or change it, returns only documented
// values, and returns the same twice.
func FuzzInspect(f *testing.F) {
	for _, row := range misleading {
		text, err := json.Marshal(fromYAML(f, row.object).Object)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, entries := range fixtures(f) {
		for _, entry := range entries {
			text, err := json.Marshal(entry.Object)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	for _, text := range strangeObjects {
		f.Add([]byte(text))
	}
	words := []string{Current, InProgress, Failed, Terminating, Unknown, Suspended, Degraded}
	f.Fuzz(func(t *testing.T, data []byte) {
		var object map[string]any
		if utiljson.Unmarshal(data, &object) != nil {
			t.Skip("no JSON object")
		}
		obj := &unstructured.Unstructured{Object: object}
		before := obj.DeepCopy()
		first, second := Inspect(obj, nil), Inspect(obj, nil)
		if !slices.Contains(words, first.Status.Status) {
			t.Errorf("status %q", first.Status.Status)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("two runs differ:\n%s", diff)
		}
		if first.Drift.Behind() < 0 {
			t.Errorf("behind by %d", first.Drift.Behind())
		}
		if _, err := json.Marshal(first); err != nil {
			t.Errorf("the report is no JSON: %v", err)
		}
		o := Observations{Events: fuzzedEvents, Lease: &Lease{Name: "x"}, Now: time.Unix(1_800_000_000, 0)}
		causes, again := Causes(obj, first, o), Causes(obj, first, o)
		if diff := cmp.Diff(causes, again); diff != "" {
			t.Errorf("two runs find other causes:\n%s", diff)
		}
		for _, c := range causes {
			if c.Type == "" || c.Certainty == "" {
				t.Errorf("a cause without a type or certainty: %+v", c)
			}
		}
		Containers(obj)
		fields.LastWriter(obj)
		if diff := cmp.Diff(before, obj); diff != "" {
			t.Errorf("the object was changed:\n%s", diff)
		}
	})
}

// fuzzedEvents are Events that rules look for.
var fuzzedEvents = []Event{
	{Type: "Warning", Reason: "FailedCreate", Message: "exceeded quota: q"},
	{Type: "Warning", Reason: "FailedMount", Message: `MountVolume.SetUp failed for volume "v" : secret "s" not found`},
	{Type: "Warning", Reason: "Unhealthy", Message: "Readiness probe failed: "},
	{Type: "Normal", Reason: "Killing", Message: "Container a failed liveness probe, will be restarted"},
	{Type: "Warning", Reason: "ProvisioningFailed"},
}

var strangeObjects = []string{
	`{}`, `{"metadata":1}`, `{"apiVersion":"a/b/c","kind":"X"}`, `{"apiVersion":1,"kind":[]}`,
	`{"apiVersion":"v1","kind":"Pod","spec":[],"status":{"phase":1,"conditions":[{"type":"PodScheduled","status":"False"}]}}`,
	`{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"a"},{"name":"a"},{}]},"status":{"containerStatuses":[{"name":"a","state":[]}]}}`,
	`{"apiVersion":"v1","kind":"Pod","metadata":{"deletionTimestamp":"soon","deletionGracePeriodSeconds":9223372036854775807},"status":{}}`,
	`{"apiVersion":"v1","kind":"Pod","metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":-9223372036854775807}}`,
	`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"generation":9223372036854775807},"status":{"observedGeneration":-9223372036854775808}}`,
	`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":1e300},"status":{"replicas":-1,"updatedReplicas":"3"}}`,
	`{"apiVersion":"apps/v1","kind":"StatefulSet","spec":{"replicas":-5,"updateStrategy":"OnDelete"},"status":{"replicas":null}}`,
	`{"apiVersion":"example.com/v1","kind":"X","metadata":{"generation":2,"managedFields":[{"time":5}],"annotations":{"crossplane.io/paused":true}},"spec":{"paused":"yes"},"status":{"conditions":[[],{"type":"Ready","observedGeneration":{}}],"phase":["a"]}}`,
	`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","spec":{},"status":{"parents":[{"conditions":[{"type":"Accepted","status":"False"}]}]}}`,
}
