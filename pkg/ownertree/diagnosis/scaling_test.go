package diagnosis

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// scaledTwice is a Deployment that an autoscaler and `kubectl apply` scale in turn.
const scaledTwice = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, generation: 40, managedFields: [
  {manager: argocd, operation: Apply, apiVersion: apps/v1, time: "2026-01-01T11:58:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}]}
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
status: {observedGeneration: 40, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
status: {desiredReplicas: 5, currentReplicas: 2, lastScaleTime: "2026-01-01T11:59:00Z"}`

// scaledThereAndBack are the Events of a Deployment and its autoscaler.
const scaledThereAndBack = `
---
apiVersion: v1
kind: Event
metadata: {name: up}
involvedObject: {kind: Deployment, name: web, namespace: shop, uid: Deployment/web}
type: Normal
reason: ScalingReplicaSet
message: Scaled up replica set web-1 from 2 to 5
count: 2
lastTimestamp: "2026-01-01T11:59:00Z"
---
apiVersion: v1
kind: Event
metadata: {name: down}
involvedObject: {kind: Deployment, name: web, namespace: shop, uid: Deployment/web}
type: Normal
reason: ScalingReplicaSet
message: Scaled down replica set web-1 from 5 to 2
count: 1
lastTimestamp: "2026-01-01T11:58:00Z"
---
apiVersion: v1
kind: Event
metadata: {name: rescale}
involvedObject: {kind: HorizontalPodAutoscaler, name: web, namespace: shop, uid: HorizontalPodAutoscaler/web}
type: Normal
reason: SuccessfulRescale
message: "New size: 5; reason: cpu resource utilization (percentage of request) above target"
count: 2
lastTimestamp: "2026-01-01T11:59:00Z"`

// TestScalingFights: what could not be read of autoscalers and what they scale is said, unless it has gone.
func TestScalingFights(t *testing.T) {
	const fight = "FieldFight of Deployment/web, spec.replicas: HorizontalPodAutoscaler/web and argocd set spec.replicas in turn -> HorizontalPodAutoscaler/web"
	many := scaledTwice
	for i := range mostAutoscalers {
		many += fmt.Sprintf("\n---\n{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: other-%d}}", i)
	}
	for _, row := range []struct {
		reason, objects, asked, refused string
		code                            int
		fight                           bool
		unread                          []string
	}{
		{"asked for the workload", scaledTwice, "Deployment/web", "", 0, true, nil},
		{"asked for the autoscaler", scaledTwice, "HorizontalPodAutoscaler/web", "", 0, true, nil},
		{"it was applied long ago", strings.Replace(scaledTwice, "T11:58", "T10:58", 1), "Deployment/web", "", 0, false, nil},
		{"it has hardly been changed", strings.ReplaceAll(scaledTwice, "40", "4"), "Deployment/web", "", 0, false, nil},
		{"it was set back at once", strings.Replace(strings.ReplaceAll(scaledTwice, "40", "4"), "T11:58", "T11:59", 1), "Deployment/web", "", 0, true, nil},
		{"Events show that it goes on", strings.ReplaceAll(scaledTwice, "40", "4") + scaledThereAndBack, "Deployment/web", "", 0, true, nil},
		{"and those of the autoscaler", strings.ReplaceAll(scaledTwice, "40", "4") + scaledThereAndBack, "HorizontalPodAutoscaler/web", "", 0, true, nil},
		{
			"the autoscaler may not be read", scaledTwice, "Deployment/web", "horizontalpodautoscalers/web", http.StatusForbidden, false,
			[]string{"horizontalpodautoscalers Forbidden"},
		},
		{"the autoscaler has gone", scaledTwice, "Deployment/web", "horizontalpodautoscalers/web", http.StatusNotFound, false, nil},
		{
			"what it scales may not be read", scaledTwice, "HorizontalPodAutoscaler/web", "deployments/web", http.StatusForbidden, false,
			[]string{"deployments Forbidden"},
		},
		{"what it scales has gone", scaledTwice, "HorizontalPodAutoscaler/web", "deployments/web", http.StatusNotFound, false, nil},
		{"there are too many", many, "Deployment/web", "", 0, false, []string{"horizontalpodautoscalers TooMany"}},
		{
			"there are too many for what has no replicas", many + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}", "ConfigMap/web", "", 0,
			false, nil,
		},
		{"there are too many, but one is asked for", many, "HorizontalPodAutoscaler/web", "", 0, true, nil},
	} {
		s := newServer(t, row.objects)
		s.refuses[row.refused] = row.code
		read := s.situation(row.asked)
		if got := lines(read.Diagnose(at)); slices.Contains(got, "Likely "+fight) != row.fight {
			t.Errorf("%s: %q", row.reason, got)
		}
		if diff := cmp.Diff(row.unread, unread(read), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: not read (-want +got):\n%s", row.reason, diff)
		}
	}
}
