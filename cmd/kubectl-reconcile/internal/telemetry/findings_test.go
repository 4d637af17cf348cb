package telemetry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
)

func TestFindingsCollector(t *testing.T) {
	web := &findings.Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	found := []findings.Finding{
		{Type: findings.Fight, Object: web, Count: 7},
		{Type: findings.NoOpWrite, Object: web, Controller: "op", Verb: "update", Resource: "pods/status", Count: 12},
		{Type: findings.NoOpWrite, Object: web, Controller: "op", Verb: "update", Resource: "deployments.apps", Count: 5},
		{Type: findings.Loop, Object: &findings.Object{Kind: "Node", Name: "a"}, Controller: "op", Count: 3}, // its labels are taken
		{Type: findings.Loop, Object: &findings.Object{Kind: "Node", Name: "a"}, Controller: "op", Count: 11},
		{Type: findings.Retries, Controller: "job", Keys: []string{"shop/a", "shop/b"}, MoreKeys: 2, Count: 40},
	}
	c := newFindingsCollector(func() []findings.Finding { return append([]findings.Finding(nil), found...) })
	const want = `
# HELP kubectl_reconcile_finding_repetitions How often it happened, of the most frequent findings; key is the first of several.
# TYPE kubectl_reconcile_finding_repetitions gauge
kubectl_reconcile_finding_repetitions{controller="",key="",object="Deployment shop/web",type="fight"} 7
kubectl_reconcile_finding_repetitions{controller="job",key="shop/a",object="",type="retries"} 40
kubectl_reconcile_finding_repetitions{controller="op",key="",object="update deployments.apps",type="no-op-write"} 5
kubectl_reconcile_finding_repetitions{controller="op",key="",object="update pods/status",type="no-op-write"} 12
kubectl_reconcile_finding_repetitions{controller="op",key="",object="Node a",type="loop"} 11
# HELP kubectl_reconcile_findings What repeats without progress, since the session began: one for each controller if it is about keys.
# TYPE kubectl_reconcile_findings gauge
kubectl_reconcile_findings{type="fight"} 1
kubectl_reconcile_findings{type="loop"} 2
kubectl_reconcile_findings{type="no-op-write"} 2
kubectl_reconcile_findings{type="put-off"} 0
kubectl_reconcile_findings{type="requeue"} 0
kubectl_reconcile_findings{type="retries"} 1
kubectl_reconcile_findings{type="starving"} 0
`
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("promtool would complain: %v, %v", problems, err)
	}

	for i := range 100 {
		found = append(found, findings.Finding{Type: findings.Loop, Controller: fmt.Sprint(i), Count: 100 + i})
	}
	if n := testutil.CollectAndCount(c, "kubectl_reconcile_finding_repetitions"); n != maxFindings {
		t.Errorf("%d findings have a series, of at most %d", n, maxFindings)
	}
}
