package run

import (
	"strings"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

func TestSelectForCluster(t *testing.T) {
	chosen, line, err := selectForCluster(controllers.Authority{}, "*,-serviceaccount-token")
	const want = "left out because they need key files: root-ca-cert-publisher, " +
		"kube-apiserver-serving-clustertrustbundle-publisher, csrsigning; `run --list` names their flags"
	if err != nil || line != want || len(chosen) == 0 {
		t.Errorf("%d chosen, %v, %q, want %q", len(chosen), err, line, want)
	}
	for _, tt := range []struct{ list, err, hint, reason string }{
		{
			"csrsigning", `controller "certificatesigningrequest-signing-controller" does not run here: ` +
				controllers.MissingSigningAuthority,
			"a control plane has what it needs; give it with --cluster-signing-cert-file and --cluster-signing-key-file", "one that is named",
		},
		{
			"nodeipam", `controller "node-ipam-controller" does not run here`, "`run --list` says which run here",
			"one that never runs",
		},
		{"none", "with --controller none nothing runs on a cluster", "--sandbox has simulated nodes", "nothing to run"},
		{"csrsigning,deploymnt", `no controller "deploymnt"`, "did you mean deployment", "an unknown name comes first"},
	} {
		_, _, err := selectForCluster(controllers.Authority{}, tt.list)
		var printed strings.Builder
		if err != nil {
			cli.PrintError(&printed, err)
		}
		if !strings.Contains(printed.String(), tt.err) || !strings.Contains(printed.String(), tt.hint) {
			t.Errorf("%s: %s", tt.reason, printed.String())
		}
	}
	if chosen, line, err := selectForCluster(controllers.Authority{}, ""); chosen != nil || line != "" || err != nil {
		t.Errorf("an empty list: %v, %q, %v", chosen, line, err)
	}
}

func TestClusterRates(t *testing.T) {
	for _, tt := range []struct {
		reason string
		qps    float32
		burst  int
		want   float32
		atOnce int
	}{
		{"as kube-controller-manager", 0, 0, 20, 30},
		{"as the flags say", 5, 7, 5, 7},
		{"without a bound, if that is said", -1, 0, -1, 0},
	} {
		o := withClusterRates(runlocal.Options{QPS: tt.qps, Burst: tt.burst})
		if o.QPS != tt.want || o.Burst != tt.atOnce {
			t.Errorf("%s: %v a second, %d at once", tt.reason, o.QPS, o.Burst)
		}
	}
}
