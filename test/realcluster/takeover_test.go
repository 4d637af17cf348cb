package realcluster

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
)

// TestTakesThePlaceOfControllers: while kube-controller-manager runs, the plugin refuses to write; when it has crashed,
// the plugin takes its place, and ends when it comes back.
func TestTakesThePlaceOfControllers(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context()) // it ends before the cleanup
	cluster, err := Start(ctx, Options{
		Controllers: []string{"*"}, LeaderElection: true, Scheduler: true, Nodes: 2, Log: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Stop() })
	write := append([]string{"--controller", "*", "--write", "--yes", "--quiet"}, cluster.Keys()...)
	ends(t, cluster, 1, "kube-controller-manager runs on this cluster: ", write...)
	if err := cluster.KillControllers(); err != nil {
		t.Fatal(err)
	}
	run, err := cluster.StartRun(ctx, append(write, "--quiet=false")...)
	if err != nil {
		t.Fatal(err)
	}
	patience, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	if _, err := run.Await(patience, "the plugin to take its place", regexp.MustCompile(`(?m)^synced in `)); err != nil {
		said, _ := run.Complaints()
		t.Fatal(err, said)
	}
	becomesReady(t, kubernetes.NewForConfigOrDie(cluster.Config()))
	if err := cluster.startControllers(ctx); err != nil {
		t.Fatal(err)
	}
	code, err := run.Ended(patience)
	said, _ := run.Complaints()
	if err != nil || code != 1 || !strings.Contains(said, "kube-controller-manager was started: ") {
		t.Errorf("the plugin ended with %d (%v) when kube-controller-manager came back:\n%s", code, err, said)
	}
}

// ends runs the plugin, which must end by itself and complain of something.
func ends(t *testing.T, cluster *Cluster, code int, complaint string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	run, err := cluster.StartRun(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := run.Ended(ctx)
	said, _ := run.Complaints()
	if err != nil || got != code || !strings.Contains(said, complaint) {
		t.Errorf("the plugin ended with %d (%v), want %d and %q:\n%s", got, err, code, complaint, said)
	}
}
