package diagnosis

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// TestUnsure: controllers are tried where they seem not to act, or where there are only symptoms.
func TestUnsure(t *testing.T) {
	const expired = `
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: kube-controller-manager, namespace: kube-system},
  spec: {holderIdentity: a, leaseDurationSeconds: 15, renewTime: "2026-01-01T10:00:00.000000Z"}}`
	observed := neverSeen + `
status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: "True"}]}`
	for _, row := range []struct {
		reason, objects string
		want            []string
	}{
		{"its controller does not act, which may have a reason", neverSeen, []string{"Deployment/web"}},
		{"its controller does not run", documents(neverSeen, expired), nil},
		{"it is as its spec requests", observed, nil},
		{
			"there are no pods, and nothing says why",
			strings.NewReplacer("replicas: 1, updatedReplicas: 1", "replicas: 0, updatedReplicas: 0", "readyReplicas: 1", "readyReplicas: 0",
				"availableReplicas: 1", "availableReplicas: 0", `"True"`, `"False"`).Replace(observed),
			[]string{"Deployment/web"},
		},
		{"a pod is refused", refusedPods(`pods "web" is forbidden: exceeded quota: few, requested: pods=1`), nil},
	} {
		s := newServer(t, row.objects)
		read := s.situation(string(s.objects[0].GetUID()))
		var got []string
		for _, n := range read.Unsure(read.Diagnose(at)) {
			got = append(got, n.Kind.Kind+"/"+n.Name)
		}
		if diff := cmp.Diff(row.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestTrialsAreCauses: what a controller that was tried is refused explains that it does not act.
func TestTrialsAreCauses(t *testing.T) {
	s := newServer(t, neverSeen).situation("Deployment/web")
	s.Trials = map[types.UID]inspect.Trial{"Deployment/web": {Refused: []inspect.Evidence{{
		Source: inspect.FromController, Name: "deployment", Text: `create replicasets is refused: exceeded quota: few, requested: count/replicasets.apps=1`,
	}}}}
	want := []string{"Likely QuotaExceeded of Deployment/web: requested: count/replicasets.apps=1 -> ResourceQuota/few"}
	if diff := cmp.Diff(want, lines(s.Diagnose(at))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
