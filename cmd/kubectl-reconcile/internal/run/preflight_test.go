package run

import (
	"bytes"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/access"
)

func need(right access.Permission, optional bool, names ...string) access.Need {
	return access.Need{Permission: right, Optional: optional, Controllers: names}
}

// TestPermissionError: roles have what the run lacks.
func TestPermissionError(t *testing.T) {
	pods := func(verb string) access.Permission { return access.Permission{Resource: "pods", Verb: verb} }
	missing := []access.Need{
		need(pods("list"), false, "deployment"), need(pods("delete"), false, "deployment"),
		need(pods("watch"), false, "deployment", "ttl"),
	}
	const roles = "hint: the printed roles grant jane these permissions: an administrator can apply them by `kubectl apply -f -`"
	for _, row := range []struct {
		reason          string
		write, terminal bool
		missing         []access.Need
		want, verbs     string
	}{
		{
			"a dry run needs reads", false, false, missing,
			"no permission to list pods, watch pods, which deployment, ttl need; " + roles +
				"; trying the writes on the server needs 1 more permission, --dry-run=client none; " +
				"--controller job needs none of them", "- list\n  - watch\n",
		},
		{
			"a run that writes needs all", true, false, missing,
			"no permission to list pods, delete pods, watch pods, which deployment, ttl need; " + roles +
				"; --controller job needs none of them", "- delete\n  - list\n  - watch\n",
		},
		{
			"on a terminal the hint says how to get them", false, true, missing[:1],
			"no permission to list pods, which deployment needs; hint: the same command with `>roles.yaml` writes roles that grant jane " +
				"these permissions, for an administrator to apply; --controller job,ttl needs none of them", "",
		},
		{"a dry run needs no writes", false, false, missing[1:2], "", ""},
	} {
		var printed bytes.Buffer
		printRoles := func(objects []runtime.Object) (bool, error) {
			for _, o := range objects {
				text, err := yaml.Marshal(o)
				if err != nil {
					return false, err
				}
				if !row.terminal {
					printed.Write(text)
				}
			}
			return !row.terminal, nil
		}
		c := &clusterTarget{list: "deployment,job,ttl"}
		c.cluster.Write, c.options.Controllers = row.write, known(t, "deployment", "job", "ttl")
		p := &runlocal.Preflight{Missing: row.missing, User: authenticationv1.UserInfo{Username: "jane"}}
		if got := oneText(c.permissionError(p, printRoles)); got != row.want {
			t.Errorf("%s:\n got %s\nwant %s", row.reason, got, row.want)
		}
		if _, verbs, _ := strings.Cut(printed.String(), "verbs:\n  "); !strings.HasPrefix(verbs, row.verbs) ||
			row.verbs == "" && printed.Len() > 0 {
			t.Errorf("%s: printed\n%s", row.reason, printed.String())
		}
	}
}

func TestPermissionsText(t *testing.T) {
	var needs []access.Need
	for _, verb := range []string{"get", "list", "watch", "create", "update", "delete"} {
		needs = append(needs, need(access.Permission{Resource: "pods", Verb: verb}, false, "b", "a"))
	}
	if got, want := permissionsText(needs), "get pods, list pods, watch pods, create pods and 2 more"; got != want {
		t.Errorf("many: %q, want %q", got, want)
	}
	if got, want := permissionsText(needs[:2]), "get pods, list pods"; got != want {
		t.Errorf("few: %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"a", "b"}, controllersOf(needs)); diff != "" {
		t.Errorf("each controller once (-want +got):\n%s", diff)
	}
}
