package run

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/access"
)

func need(right access.Permission, optional bool, who ...string) access.Need {
	return access.Need{Permission: right, Optional: optional, Controllers: who}
}

func TestLacking(t *testing.T) {
	read, write := access.Permission{Resource: "pods", Verb: "list"}, access.Permission{Resource: "pods", Verb: "create"}
	missing := []access.Need{need(read, false, "a"), need(write, false, "b"), need(access.Permission{Resource: "events", Verb: "create"}, true, "a")}
	for _, row := range []struct {
		reason string
		write  bool
		want   []access.Permission
	}{
		{"a dry run lacks what it cannot read", false, []access.Permission{read}},
		{"who writes lacks both, but not what tells of it", true, []access.Permission{read, write}},
	} {
		a := &admission{run: &clusterRun{}, missing: missing}
		a.run.options.Write = row.write
		var got []access.Permission
		for _, n := range a.lacking() {
			got = append(got, n.Permission)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestPermission: roles have what the run lacks, and no terminal is filled with them.
func TestPermission(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals here")
	}
	defer terminal.Close()
	pods := func(verb string) access.Permission { return access.Permission{Resource: "pods", Verb: verb} }
	missing := []access.Need{
		need(pods("list"), false, "deployment"), need(pods("delete"), false, "deployment"), need(pods("watch"), false, "deployment", "ttl"),
	}
	const given = "hint: what is printed gives jane these rights, for whoever may: `kubectl apply -f -`"
	for _, row := range []struct {
		reason       string
		write, onPty bool
		missing      []access.Need
		want, verbs  string
	}{
		{
			"a dry run asks for reads", false, false, missing,
			"no permission to list pods, watch pods, which deployment, ttl need; " + given +
				"; trying the writes on the server needs 1 more right, --dry-run=client none; " +
				"--controller job needs none of them", "- list\n  - watch\n",
		},
		{
			"who writes asks for all", true, false, missing,
			"no permission to list pods, delete pods, watch pods, which deployment, ttl need; " + given +
				"; --controller job needs none of them", "- delete\n  - list\n  - watch\n",
		},
		{
			"a terminal is told how to get them", false, true, missing[:1],
			"no permission to list pods, which deployment needs; hint: the same command with `>roles.yaml` writes roles that give jane " +
				"these rights; whoever may has to apply them; --controller job,ttl needs none of them", "",
		},
		{"who lacks writes alone may look", false, false, missing[1:2], "", ""},
	} {
		var printed bytes.Buffer
		out := &outputs{out: &printed, notes: &printed}
		if row.onPty {
			out.out, out.notes = terminal, terminal
		}
		a := &admission{run: &clusterRun{list: "deployment,job,ttl"}, missing: row.missing}
		a.run.options.Write, a.run.options.Controllers, a.user.Username = row.write, known(t, "deployment", "job", "ttl"), "jane"
		if got := oneText(a.permission(out)); got != row.want {
			t.Errorf("%s:\n got %s\nwant %s", row.reason, got, row.want)
		}
		if _, verbs, _ := strings.Cut(printed.String(), "verbs:\n  "); !strings.HasPrefix(verbs, row.verbs) || row.verbs == "" && printed.Len() > 0 {
			t.Errorf("%s: printed\n%s", row.reason, printed.String())
		}
	}
}

func TestRightsText(t *testing.T) {
	var needs []access.Need
	for _, verb := range []string{"get", "list", "watch", "create", "update", "delete"} {
		needs = append(needs, need(access.Permission{Resource: "pods", Verb: verb}, false, "b", "a"))
	}
	if got, want := rightsText(needs), "get pods, list pods, watch pods, create pods and 2 more"; got != want {
		t.Errorf("many: %q, want %q", got, want)
	}
	if got, want := rightsText(needs[:2]), "get pods, list pods"; got != want {
		t.Errorf("few: %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"a", "b"}, controllersOf(needs)); diff != "" {
		t.Errorf("each controller once (-want +got):\n%s", diff)
	}
}

// asking is a run about which somebody is to be asked.
func asking(t *testing.T, in io.Reader) (*admission, *Options, *bytes.Buffer) {
	t.Helper()
	said := &bytes.Buffer{}
	run := &clusterRun{connection: &connect.Connection{Config: &rest.Config{Host: "https://10.0.0.1:6443"}, Context: "pr\x1bod"}, write: &writing{}}
	run.options.Controllers = known(t, "deployment", "replicaset")
	a := &admission{run: run}
	a.user.Username = "jane"
	return a, &Options{Streams: genericiooptions.IOStreams{In: in, Out: io.Discard, ErrOut: said}}, said
}

func TestQuestion(t *testing.T) {
	a, _, _ := asking(t, nil)
	a.run.part = part{namespaces: []string{"blog", "shop"}}
	want := `--write: the controllers will change this cluster
  context      pr^[od
  server       https://10.0.0.1:6443
  user         jane
  controllers  deployment, replicaset
  part         --namespaces blog,shop
write to it? [y/N] `
	if diff := cmp.Diff(want, a.question()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConfirmWithoutTerminal(t *testing.T) {
	a, o, said := asking(t, strings.NewReader("yes\n"))
	if err := a.confirm(t.Context(), o); err == nil || said.Len() > 0 {
		t.Errorf("a pipe has confirmed it: %v, %q", err, said)
	}
	a.run.write.yes = true
	if err := a.confirm(t.Context(), o); err != nil || said.Len() > 0 {
		t.Errorf("--yes: %v, %q", err, said)
	}
}

func TestReadLine(t *testing.T) {
	for in, want := range map[string]string{"yes\nno\n": "yes\n", "y": "y", "": ""} {
		if got, err := readLine(t.Context(), strings.NewReader(in)); err != nil || got != want {
			t.Errorf("%q: read %q (%v), want %q", in, got, err, want)
		}
	}
	broken := errors.New("the terminal is gone")
	if _, err := readLine(t.Context(), io.MultiReader(strings.NewReader("y"), errorReader{broken})); !errors.Is(err, broken) {
		t.Errorf("a terminal that is gone: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reader, writer := io.Pipe()
	defer writer.Close()
	if _, err := readLine(ctx, reader); err == nil || !strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("an interrupt: %v", err)
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }
