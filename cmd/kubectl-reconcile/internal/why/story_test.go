package why

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/status"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/tree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// oneStory compares what `tree` and `status` say of the object with the diagnosis, and returns how they contradict it.
// They may know less: tree does not follow what an object uses, status no other objects but those that Services and
// Ingresses lead to, and neither reads Events of what reports that it is well.
func (p *player) oneStory(ctx context.Context, t *testing.T, v *view) string {
	t.Helper()
	d := v.diagnosis
	kubeconfig, err := p.stage.serve(t)
	if err != nil {
		return err.Error()
	}
	shown, err := p.tree(ctx, kubeconfig)
	if err != nil {
		return err.Error()
	}
	listed, err := p.status(ctx, kubeconfig)
	if err != nil {
		return err.Error()
	}
	asked := find(shown, func(o *v1alpha1.TreeObject) bool { return o.Object.UID == d.Asked.UID })
	if asked == nil || len(listed) != 1 {
		return fmt.Sprintf("tree and status do not show %s: %d items", d.Asked, len(listed))
	}
	treeStatus := asked.Status.Status
	if d.Status == treestatus.Dangling { // tree says it by what the garbage collector will do
		treeStatus = d.Status
	}
	switch {
	case treeStatus != d.Status:
		return fmt.Sprintf("tree says %s %q, why %s", treeStatus, asked.Reason, d.Status)
	case listed[0].Status.Status != d.Facts.Status.Status:
		return fmt.Sprintf("status says %s %q, why %s %q", listed[0].Status.Status, listed[0].Reason, d.Facts.Status.Status,
			d.Facts.Reason)
	case listed[0].Reason != d.Facts.Reason || asked.Reason != d.Facts.Reason:
		return fmt.Sprintf("status has the reason %q, tree %q, why %q", listed[0].Reason, asked.Reason, d.Facts.Reason)
	case d.Converged && (asked.NotReady || asked.Drifted || listed[0].NotReady || listed[0].Drifted):
		return "why says that it has converged, tree or status that it is not ready"
	case len(d.Causes) == 0:
		return ""
	}
	first := d.Causes[0]
	text := v.sentence(first)
	for _, e := range first.Evidence {
		text += " " + v.evidenceText(e)
	}
	silent := well(asked) && d.Status != inspect.Suspended && !tells(asked.Summary, text)
	switch {
	case p.Unseen == "" && silent:
		return fmt.Sprintf("tree says nothing of it: %s %q %q", asked.Status.Status, asked.Reason, asked.Summary)
	case p.Unseen != "" && !silent:
		return "tree sees it after all"
	}
	shows := find(shown, func(o *v1alpha1.TreeObject) bool { return o.Object.UID == first.Node().UID })
	reason := first.Chain[len(first.Chain)-1].Facts.Reason // which why shows in the chain
	if shows != nil && !well(shows) && shows.Summary != reason && !tells(shows.Summary, text) {
		return fmt.Sprintf("tree says %q of %s, why %q", shows.Summary, first.Node(), text)
	}
	return ""
}

// well reports whether tree says that there is nothing wrong with an object, nor with what it owns.
func well(o *v1alpha1.TreeObject) bool {
	return !o.NotReady && !o.Drifted && o.GarbageCollector == nil && o.HeldBy == nil &&
		!slices.ContainsFunc(o.Children, func(c *v1alpha1.TreeObject) bool { return !well(c) })
}

// tells reports whether a reason shares a word that matters with a sentence: a name, a number, a word of five letters
// or more. The reason of an object that only counts others tells nothing else.
func tells(reason, sentence string) bool {
	if reason == "" {
		return false
	}
	sentence = strings.ToLower(sentence)
	separates := func(r rune) bool { return strings.ContainsRune(" :,;()\"'", r) }
	for _, word := range strings.FieldsFunc(strings.ToLower(reason), separates) {
		if len(word) >= 5 && strings.Contains(sentence, word) {
			return true
		}
	}
	return false
}

func find(all []*v1alpha1.TreeObject, is func(*v1alpha1.TreeObject) bool) *v1alpha1.TreeObject {
	for _, o := range all {
		if is(o) {
			return o
		}
		if found := find(o.Children, is); found != nil {
			return found
		}
	}
	return nil
}

func (p *player) tree(ctx context.Context, kubeconfig string) ([]*v1alpha1.TreeObject, error) {
	var out v1alpha1.OwnerTree
	err := p.run(ctx, kubeconfig, tree.NewCommand, &out)
	return out.Trees, err
}

func (p *player) status(ctx context.Context, kubeconfig string) ([]v1alpha1.StatusItem, error) {
	var out v1alpha1.StatusList
	err := p.run(ctx, kubeconfig, status.NewCommand, &out)
	return out.Items, err
}

// run runs a command with the object that is asked for, and reads its JSON.
func (p *player) run(
	ctx context.Context, kubeconfig string, command func(genericiooptions.IOStreams) *cobra.Command, out any,
) error {
	var stdout, stderr bytes.Buffer
	cmd := command(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr})
	cmd.SetArgs([]string{p.expand(p.Ask), "-n", p.namespace, "-o", "json", "--kubeconfig", kubeconfig})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(ctx); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd.Name(), err, stderr.String())
	}
	return json.Unmarshal(stdout.Bytes(), out)
}

// serve serves the control plane on loopback, which commands need to reach it, until the test ends, and returns a
// kubeconfig.
func (s *stage) serve(t *testing.T) (string, error) {
	transport, err := rest.TransportFor(s.config)
	if err != nil {
		return "", err
	}
	host, _, err := rest.DefaultServerUrlFor(s.config)
	if err != nil {
		return "", err
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(host) },
	})
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test"}
	config.CurrentContext = "test"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	return file, clientcmd.WriteToFile(*config, file)
}
