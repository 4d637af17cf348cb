package why

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// TestContinued: a command that is too long can still be copied.
func TestContinued(t *testing.T) {
	for _, row := range []struct {
		reason  string
		command string
		width   int
		want    []string
	}{
		{"it fits", "kubectl get pods", 20, []string{"kubectl get pods"}},
		{"no terminal", "kubectl -n shop get pods", 0, []string{"kubectl -n shop get pods"}},
		{"between words", "kubectl -n shop get pods", 18, []string{`kubectl -n shop \`, "  get pods"}},
		{"not within quotes", `kubectl patch x -p '{"a": "b c"}'`, 20, []string{`kubectl patch x -p \`, `  '{"a": "b c"}'`}},
		{"a quote within quotes", `kubectl get 'it'\''s a' b`, 18, []string{`kubectl get \`, `  'it'\''s a' b`}},
		{"a word that is longer", "kubectl get " + strings.Repeat("x", 30), 20,
			[]string{`kubectl get \`, "  " + strings.Repeat("x", 30)}},
	} {
		got := continued(row.command, row.width)
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
		joined := strings.Join(got, "\n")
		if joined = strings.ReplaceAll(joined, " \\\n  ", " "); joined != row.command {
			t.Errorf("%s: a shell reads %q", row.reason, joined)
		}
	}
}

// TestCommandLines: what a command does is said where copying the command does not take it along.
func TestCommandLines(t *testing.T) {
	command := v1alpha1.Command{Command: "kubectl -n shop scale deployment/web --replicas=COUNT", Changes: true, For: "or fewer pods"}
	for _, row := range []struct {
		reason string
		width  int
		want   string
	}{
		{"no terminal", 0, "  change:   kubectl -n shop scale deployment/web --replicas=COUNT  # or fewer pods\n"},
		{"a wide one", 100, "  change:   kubectl -n shop scale deployment/web --replicas=COUNT  # or fewer pods\n"},
		{"the words do not fit", 70, "  change:   # or fewer pods\n            kubectl -n shop scale deployment/web --replicas=COUNT\n"},
		{"nor does the command", 50,
			"  change:   # or fewer pods\n            kubectl -n shop scale deployment/web \\\n              --replicas=COUNT\n"},
	} {
		s := &screen{options: &Options{palette: render.Palette{}}, width: row.width}
		s.command("change", command)
		if diff := cmp.Diff(row.want, s.text.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestEvidenceTexts: what the kubelet writes into the status and into an Event is read once.
func TestEvidenceTexts(t *testing.T) {
	v := &view{now: time.Now()}
	problem := "rpc error: code = NotFound desc = failed to resolve reference"
	got := v.evidenceTexts([]inspect.Evidence{
		{Source: inspect.FromField, Name: "status", Text: "ErrImagePull: " + problem},
		{Source: inspect.FromEvent, Name: "Failed", Text: "Failed to pull image: " + problem, Count: 3, By: "kubelet"},
		{Source: inspect.FromEvent, Name: "BackOff", Text: "Back-off: another", Count: 2},
		{Source: inspect.FromObject, Name: "Pod/x", Text: strings.Repeat("long ", 100)},
		{Source: inspect.FromCondition, Name: "Ready", Text: "False Broken: what the sentence has said before, in the same words"},
	}, "Widget/x reports: what the sentence has said before, in the same words")
	want := []string{
		"field status: ErrImagePull: " + problem,
		"event Failed (3 times, by kubelet)",
		"event BackOff (2 times): Back-off: another",
		"Pod/x: " + strings.Repeat("long ", 58) + "lo…",
		"condition Ready: False Broken",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCutMiddle: the end of a name is what distinguishes it.
func TestCutMiddle(t *testing.T) {
	for name, want := range map[string]string{
		"Pod/web": "Pod/web",
		"Pod/payment-authorization-gateway-fd85cc696-x2k4z": "Pod/payment-auth…96-x2k4z",
	} {
		if got := cutMiddle(name, 25); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestChain: names are cut to the cells that are left for them, and not shorter because the lines before them are of
// more bytes than cells.
func TestChain(t *testing.T) {
	kind := &cluster.Kind{}
	kind.Kind = "Pod"
	node := &ownertree.Node{Kind: kind, Name: strings.Repeat("x", 38)} // 42 cells with its kind
	link := diagnosis.Link{Node: node, Facts: &treestatus.Facts{}}
	link.Facts.Status.Status = inspect.Current
	c := &diagnosis.Cause{Chain: []diagnosis.Link{link, link, link}}
	draw := func(ascii bool, width int) string {
		v := &view{diagnosis: &diagnosis.Diagnosis{Status: inspect.Current}}
		s := &screen{options: &Options{ascii: ascii}, view: v, width: width}
		s.chain(c)
		return s.text.String()
	}
	for _, width := range []int{70, 75, 77, 78, 80, 100} {
		drawn := strings.ReplaceAll(draw(false, width), "└─", "`-")
		if diff := cmp.Diff(draw(true, width), drawn); diff != "" {
			t.Errorf("width %d (-ASCII +else):\n%s", width, diff)
		}
	}
}
