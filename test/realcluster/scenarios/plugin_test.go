package scenarios_test

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/scenarios"
)

// startPlugin starts a real control plane without kube-controller-manager, and the plugin in its place.
func startPlugin(t *testing.T, names scenarios.Names, controllers []string) (*rest.Config, scenarios.Writes, error) {
	ctx := context.WithoutCancel(t.Context()) // it ends before the cleanup, in which the plugin is still to end by itself
	cluster, err := realcluster.Start(ctx, realcluster.Options{
		Scheduler: true, Nodes: nodes, Log: t.Logf,
		Volumes: slices.Contains(controllers, volumeBinder), Metrics: slices.Contains(controllers, autoscaler),
	})
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() { stop(t, cluster.Stop) })
	trace := filepath.Join(cluster.Dir(), "trace.ndjson")
	run, err := cluster.StartRun(ctx, slices.Concat(realcluster.NodeFlags(), cluster.Keys(), []string{
		"--controller", strings.Join(controllers, ","), "--write", "--yes", "--force", "--quiet", "--qps=-1", "--trace-file", trace,
		"--horizontal-pod-autoscaler-sync-period", realcluster.AutoscalerPeriod,
	})...)
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() { stopRun(t, run) })
	if err := run.AwaitFile(t.Context(), trace, regexp.MustCompile(`"type":"request"`)); err != nil {
		return nil, nil, err
	}
	return cluster.Config(), scenarios.Both(scenarios.AuditLog(cluster.AuditLog(), names), scenarios.Trace(trace, names)), nil
}

// stopRun ends the plugin, which must have run until then.
func stopRun(t *testing.T, run *realcluster.Run) {
	code, err := run.Interrupt()
	if said, _ := run.Complaints(); err != nil || code != 0 {
		t.Errorf("the plugin ended with %d (%v):\n%s", code, err, said)
	}
}
