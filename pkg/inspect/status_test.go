package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestStatusOf(t *testing.T) {
	tests := []struct {
		reason, object string
		want           Status
		current        bool
	}{
		{
			"a rolled out Deployment is as its spec asks",
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","generation":1},"spec":{"replicas":2},
			  "status":{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2,
			  "conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]}}`,
			Status{Status: "Current", Ready: "2/2"}, true,
		},
		{
			"a Deployment that waits for pods counts those that are ready",
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","generation":1},"spec":{"replicas":2},
			  "status":{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"readyReplicas":1,"availableReplicas":1}}`,
			Status{Status: "InProgress", Ready: "1/2"}, false,
		},
		{
			"a Deployment that its controller has not seen has no status at all",
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","generation":1},"spec":{"replicas":2},"status":{}}`,
			Status{Status: "InProgress", Ready: "0/2"}, false,
		},
		{
			"a pod counts its containers",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a"},{"name":"b"}]},
			  "status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"a","ready":true},{"name":"b","ready":false}]}}`,
			Status{Status: "Current", Ready: "1/2"}, true,
		},
		{
			"a pod that failed is not as its spec asks, though nothing more will happen to it",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a"}]},"status":{"phase":"Failed"}}`,
			Status{Status: "Failed", Ready: "0/1"}, false,
		},
		{
			"a pod that succeeded is done",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a"}]},"status":{"phase":"Succeeded"}}`,
			Status{Status: "Current", Ready: "0/1"}, true,
		},
		{
			"an object without a status is as it is",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}`,
			Status{Status: "Current"}, true,
		},
		{
			"a status that is not of the promised shape is unknown, not a panic",
			`{"apiVersion":"example.com/v1","kind":"X","metadata":{"name":"x","generation":2},"spec":{"replicas":"two"},"status":{"observedGeneration":"one","conditions":"none"}}`,
			Status{Status: "Unknown"}, false,
		},
		{
			"containers that are no list count as none",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":{}},"status":{"phase":"Pending","containerStatuses":[1]}}`,
			Status{Status: "InProgress", Ready: "0/0"}, false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got := StatusOf(fromJSON(t, tt.object))
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(Status{}, "Message", "Kstatus", "Reason")); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if got.Current() != tt.current {
				t.Errorf("Current() = %t for %s", got.Current(), got.Status)
			}
		})
	}
}
