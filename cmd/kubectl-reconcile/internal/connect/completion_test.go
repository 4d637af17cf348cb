package connect

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
)

// silent is the transport to a server that never answers.
type silent struct{ asked int }

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestCompletionFromSilentServer: a server that never answers costs less than a second, and nothing is offered.
func TestCompletionFromSilentServer(t *testing.T) {
	for _, tt := range []struct {
		reason string
		offer  func(*Flags) cli.Offer
		args   []string
		typed  string
	}{
		{"types", (*Flags).OfferTargets, nil, ""},
		{"names", (*Flags).OfferTargets, []string{"pods"}, ""},
		{"a type and a name", (*Flags).OfferTarget, nil, "deploy/"},
		{"kinds", (*Flags).OfferTypes, nil, ""},
		{"namespaces", (*Flags).OfferNamespaces, nil, ""},
		{"fields", (*Flags).OfferFields, []string{"deploy/web"}, "spec."},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := flagsOf(t, nil, "--server", "https://silent.example.com", "--kubeconfig", os.DevNull)
			transport := &silent{}
			f.Config.WrapConfigFn = func(c *rest.Config) *rest.Config {
				c.Wrap(func(http.RoundTripper) http.RoundTripper { return transport })
				return c
			}
			began := time.Now()
			words, directive := cli.Completion(tt.offer(f))(f.Cmd, tt.args, tt.typed)
			took := time.Since(began)
			if len(words) > 0 || directive != cobra.ShellCompDirectiveNoFileComp || took >= time.Second {
				t.Errorf("%s: %q, directive %d, after %s", tt.reason, words, directive, took)
			}
			if transport.asked == 0 {
				t.Errorf("%s: the server was not asked", tt.reason)
			}
		})
	}
}

// TestNoCompletion: nothing is offered, and nothing is said, where there is nothing to ask.
func TestNoCompletion(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(broken, []byte("clusters: {"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		reason string
		args   []string
	}{
		{"no kubeconfig", []string{"--kubeconfig", filepath.Join(t.TempDir(), "none")}},
		{"one that cannot be read", []string{"--kubeconfig", broken}},
		{"a context that there is not", []string{"--kubeconfig", os.DevNull, "--context", "none"}},
		{"a server that refuses", []string{"--kubeconfig", os.DevNull, "--server", "http://127.0.0.1:1"}},
	} {
		f := flagsOf(t, nil, tt.args...)
		for _, offer := range []cli.Offer{f.OfferTargets(), f.OfferNamespaces(), f.OfferMoments()} {
			if words, _ := cli.Completion(offer)(f.Cmd, nil, ""); len(words) > 0 {
				t.Errorf("%s: %q", tt.reason, words)
			}
		}
	}
}

// TestCompletionDoesNotAsk: a program that gets credentials must not read the terminal, which is the shell's.
func TestCompletionDoesNotAsk(t *testing.T) {
	f := flagsOf(t, nil, "--kubeconfig", os.DevNull, "--server", "http://127.0.0.1:1")
	exec := &clientcmdapi.ExecConfig{Command: "login", InteractiveMode: clientcmdapi.IfAvailableExecInteractiveMode}
	f.Config.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.ExecProvider = exec
		return c
	}
	from, ok := f.source().(*clusterSource)
	if !ok {
		t.Fatal("there is no cluster")
	}
	if config := from.connection.Config; config.ExecProvider == nil || !config.ExecProvider.StdinUnavailable {
		t.Errorf("the program may read standard input: %v", config.ExecProvider)
	}
}
