package run

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

func TestQuestion(t *testing.T) {
	c := &clusterTarget{
		connection: &connect.Connection{Config: &rest.Config{Host: "https://10.0.0.1:6443"}, Context: "pr\x1bod"},
		scope:      runlocal.Scope{Namespaces: []string{"blog", "shop"}},
	}
	c.options.Controllers = known(t, "deployment", "replicaset")
	want := `--write: the controllers will change this cluster
  context      pr^[od
  server       https://10.0.0.1:6443
  user         jane
  controllers  deployment, replicaset
  part         --namespaces blog,shop
write to it? [y/N] `
	if diff := cmp.Diff(want, c.question("jane")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConfirmWithoutTerminal(t *testing.T) {
	var printed bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader("yes\n"), Out: io.Discard, ErrOut: &printed}
	if err := confirm(t.Context(), streams, "write?"); err == nil || printed.Len() > 0 {
		t.Errorf("a pipe has confirmed it: %v, %q", err, printed.String())
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
