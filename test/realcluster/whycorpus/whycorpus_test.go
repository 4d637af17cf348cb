package whycorpus

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
)

// nodes is how many nodes there are, as in the embedded control plane of the corpus.
const nodes = 3

// atOnce is how many situations are played, or asked about, at a time.
const atOnce = "8"

// TestCorpus plays all situations.
func TestCorpus(t *testing.T) {
	t.Parallel()
	var program, dir string
	var alone, acting *realcluster.Cluster
	group, ctx := errgroup.WithContext(t.Context())
	group.Go(func() (err error) {
		program, dir, err = realcluster.BuildTest(ctx, "cmd/kubectl-reconcile/internal/why")
		return err
	})
	start := func(cluster **realcluster.Cluster, o realcluster.Options) {
		group.Go(func() (err error) {
			o.Log = t.Logf
			*cluster, err = realcluster.Start(t.Context(), o)
			return err
		})
	}
	start(&alone, realcluster.Options{})
	start(&acting, realcluster.Options{
		Controllers: []string{"*"}, Scheduler: true, Nodes: nodes, Metrics: true, Volumes: true,
	})
	err := group.Wait()
	for _, cluster := range []*realcluster.Cluster{alone, acting} {
		if cluster != nil {
			t.Cleanup(func() {
				if err := cluster.Stop(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	cmd := exec.CommandContext(t.Context(), program,
		"-test.run", "^TestCorpus$", "-test.parallel", atOnce, "-test.timeout", "15m",
		"-test.v="+strconv.FormatBool(testing.Verbose()), "-situation", os.Getenv("WHY_SITUATION"),
		"-alone", alone.Kubeconfig(), "-acting", acting.Kubeconfig())
	cmd.Dir = dir // its data files are there
	said, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err != nil || bytes.Contains(said, []byte("no tests to run")) {
		t.Errorf("situations on a real control plane: %v", err)
	}
	t.Logf("after %.1fs:\n%s", time.Since(began).Seconds(), said)
}
