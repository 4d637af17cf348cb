package run

import (
	"strings"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

func TestSelectFor(t *testing.T) {
	chosen, line, err := selectFor(controllers.Authority{}, "*,-serviceaccount-token")
	const want = "left out for want of keys: root-ca-cert-publisher, " +
		"kube-apiserver-serving-clustertrustbundle-publisher, csrsigning; `run --list` names their flags"
	if err != nil || line != want || len(chosen) == 0 {
		t.Errorf("%d chosen, %v, %q, want %q", len(chosen), err, line, want)
	}
	for _, tt := range []struct{ list, err, hint, reason string }{
		{
			"csrsigning", `controller "certificatesigningrequest-signing-controller" does not run here: ` + controllers.MissingSigningAuthority,
			"a control plane has what it needs; give it with --cluster-signing-cert-file and --cluster-signing-key-file", "one that is named",
		},
		{
			"nodeipam", `controller "node-ipam-controller" does not run here`, "`run --list` says which run here", "one that never runs",
		},
		{"none", "with --controller none nothing runs on a cluster", "--sandbox has simulated nodes", "nothing to run"},
		{"csrsigning,deploymnt", `no controller "deploymnt"`, "did you mean deployment", "a name that is none comes first"},
	} {
		_, _, err := selectFor(controllers.Authority{}, tt.list)
		var said strings.Builder
		if err != nil {
			cli.PrintError(&said, err)
		}
		if !strings.Contains(said.String(), tt.err) || !strings.Contains(said.String(), tt.hint) {
			t.Errorf("%s: %s", tt.reason, said.String())
		}
	}
	if chosen, line, err := selectFor(controllers.Authority{}, ""); chosen != nil || line != "" || err != nil {
		t.Errorf("nothing asked for: %v, %q, %v", chosen, line, err)
	}
}

func TestSelectControllers(t *testing.T) {
	for _, row := range []struct{ reason, list, want, err string }{
		{"nothing is asked for", "", "", ""},
		{"none is asked for", "none", "", ""},
		{"two", "replicaset,deployment", "deployment,replicaset", ""},
		{"none and one", "none,job", "", "--controller none,job: none stands alone"},
		{
			"only what to leave out", "-deployment,-job", "",
			"--controller -deployment,-job leaves no controller to run; hint: -NAME leaves one out of others: did you mean --controller '*,-deployment,-job'?",
		},
		{
			"what is left out first", "-job,job", "",
			"--controller -job,job leaves no controller to run; hint: -NAME leaves one out of others: did you mean --controller '*,-job,job'?",
		},
		{
			"near to none", "none1", "",
			`no controller "none1" in kube-controller-manager; hint: did you mean none? ` +
				"controllers are named as kube-controller-manager names them; `run --list` lists them",
		},
	} {
		selected, err := selectControllers(row.list)
		if got := strings.Join(shortNames(selected), ","); got != row.want {
			t.Errorf("%s: %s, want %s", row.reason, got, row.want)
		}
		if got := oneText(err); got != row.err {
			t.Errorf("%s:\n got %s\nwant %s", row.reason, got, row.err)
		}
	}
}

func TestEverythingLeftOut(t *testing.T) {
	list := "*"
	for _, c := range controllers.All() {
		if c.Runs() {
			list += ",-" + c.Short
		}
	}
	if _, err := selectControllers(list); !strings.HasSuffix(oneText(err), "; hint: `run --list` lists those that there are") {
		t.Errorf("nothing is left of all: %v", err)
	}
}

func TestControllerFlag(t *testing.T) {
	for _, row := range []struct{ reason, list, out, want string }{
		{"one of two", "deployment,ttl", "ttl", "--controller deployment"},
		{"by its other name", "deployment,ttl-controller", "ttl", "--controller deployment"},
		{"one of all", "*", "ttl", "--controller '*,-ttl'"},
		{"of all but one", "*,-job", "ttl", "--controller '*,-job,-ttl'"},
		{"one that all has not", "*,tokencleaner", "tokencleaner", "--controller '*'"},
		{"the only one", "ttl", "ttl", ""},
	} {
		if got := controllerFlag(row.list, known(t, row.out)); got != row.want {
			t.Errorf("%s: %s, want %s", row.reason, got, row.want)
		}
	}
}
