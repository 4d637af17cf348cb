package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDrift(t *testing.T) {
	tests := []struct {
		reason, object string
		want           Drift
		behind         int64
		drifted        bool
	}{
		{"seen", `{metadata: {generation: 4}, status: {observedGeneration: 4}}`, Drift{Generation: 4, Observed: new(int64(4)), State: InSync}, 0, false},
		{"not seen", `{metadata: {generation: 4}, status: {observedGeneration: 2}}`, Drift{Generation: 4, Observed: new(int64(2)), State: Behind}, 2, true},
		{"never seen: some controllers write 0 first", `{metadata: {generation: 1}, status: {observedGeneration: 0}}`, Drift{Generation: 1, Observed: new(int64(0)), State: Behind}, 1, true},
		{"not told, which is not that it was seen", `{metadata: {generation: 4}, status: {}}`, Drift{Generation: 4, State: NotReported}, 0, false},
		{"more than there is", `{metadata: {generation: 1}, status: {observedGeneration: 4}}`, Drift{Generation: 1, Observed: new(int64(4)), State: Ahead}, 0, false},
		{"kinds whose generation the API server does not count", `{status: {observedGeneration: 1}}`, Drift{Observed: new(int64(1)), State: NotReported}, 0, false},
		{"written as text", `{metadata: {generation: 4}, status: {observedGeneration: "3"}}`, Drift{Generation: 4, Observed: new(int64(3)), State: Behind}, 1, true},
		{"a word", `{metadata: {generation: 4}, status: {observedGeneration: latest}}`, Drift{Generation: 4, State: NotReported}, 0, false},
		{
			"a condition alone is behind", `{metadata: {generation: 4}, status: {conditions: [{type: Ready, status: "True", observedGeneration: 3}]}}`,
			Drift{Generation: 4, State: NotReported}, 0, true,
		},
		{
			"a condition's own generation counts before the object's", `{metadata: {generation: 4}, status: {observedGeneration: 4, conditions: [{type: Ready, status: "True", observedGeneration: 3}]}}`,
			Drift{Generation: 4, Observed: new(int64(4)), State: InSync}, 0, true,
		},
		{
			"since the spec was written", `{metadata: {generation: 4, managedFields: [{manager: a, time: "2026-01-02T03:04:05Z"}, {manager: b, subresource: status, time: "2026-01-02T03:04:06Z"}]}, status: {observedGeneration: 3}}`,
			Drift{Generation: 4, Observed: new(int64(3)), State: Behind, Since: at("2026-01-02T03:04:05Z")}, 1, true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got := Inspect(fromYAML(t, "{apiVersion: example.com/v1, kind: Cache, "+tt.object[1:]), nil)
			if diff := cmp.Diff(tt.want, got.Drift); diff != "" {
				t.Errorf("drift (-want +got):\n%s", diff)
			}
			if got.Drift.Behind() != tt.behind || got.Drifted() != tt.drifted {
				t.Errorf("behind by %d, drifted %t; want %d, %t", got.Drift.Behind(), got.Drifted(), tt.behind, tt.drifted)
			}
		})
	}
}
