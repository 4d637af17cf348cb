package root

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/completion"
)

func TestNames(t *testing.T) {
	for _, tt := range []struct{ argv0, program, display, reason string }{
		{"/usr/local/bin/kubectl-reconcile", "kubectl-reconcile", "kubectl reconcile", "as kubectl starts it"},
		{"kubectl-reconcile.exe", "kubectl-reconcile", "kubectl reconcile", "on Windows"},
		{"./kubectl-re_concile", "kubectl-re_concile", "kubectl re-concile", "kubectl looks for an underscore where the user types a dash"},
		{"reconcile", "reconcile", "reconcile", "started by itself under another name"},
		{"my_tool", "my_tool", "my_tool", "only kubectl turns dashes into underscores"},
		{"/opt/kubectl_complete-reconcile", completion.Prefix + "reconcile", completion.Prefix + "reconcile", "the name for completion is never shown"},
	} {
		program := programName(tt.argv0)
		if program != tt.program || displayName(program) != tt.display {
			t.Errorf("%s is %q, shown as %q; want %q, %q: %s", tt.argv0, program, displayName(program), tt.program, tt.display, tt.reason)
		}
	}
}

func TestRunReturnsExitCodes(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		code   int
		out    string
		err    string
		reason string
	}{
		{nil, 0, "Usage:", "", "without arguments: help"},
		{[]string{"version"}, 0, "Kubernetes v", "", "data goes to stdout"},
		{[]string{"--no-such-flag"}, 1, "", "error: unknown flag: --no-such-flag\nhint: `kubectl reconcile --help` lists the flags\n", "errors go to stderr, alone"},
		{[]string{"--version"}, 0, "Kubernetes v", "", "as a flag, as most programs have it"},
		{[]string{"help"}, 0, "Usage:", "", "help in general"},
		{[]string{"help", "completion", "bash"}, 0, "completion bash", "", "of a command below another"},
		{[]string{"help", "tree", "deploy/web"}, 0, "reconcile tree", "", "of a whole command line"},
		{[]string{"help", "rnu"}, 1, "", "error: unknown command \"rnu\"\nhint: did you mean run? `kubectl reconcile --help` lists the commands\n", "help of what is not there"},
		{[]string{"help", "completion", "bsh"}, 1, "", "error: unknown command \"bsh\"\nhint: did you mean bash or zsh? `kubectl reconcile completion --help` lists the commands\n", "nor below another"},
		{[]string{"completion", "bsh"}, 1, "", "error: unknown command \"bsh\"\nhint: did you mean bash or zsh? `kubectl reconcile completion --help` lists the commands\n", "a command below another"},
		{[]string{"completion"}, 0, "Usage:", "", "which others there are"},
		{[]string{"nonsense"}, 1, "", "error: unknown command \"nonsense\"\nhint: `kubectl reconcile --help` lists the commands\n", "no usage is printed with them"},
	} {
		streams, _, out, errOut := genericiooptions.NewTestIOStreams()
		code := Execute(t.Context(), append([]string{"kubectl-reconcile"}, tt.args...), streams)
		if code != tt.code || !strings.Contains(out.String(), tt.out) || (tt.out == "") != (out.Len() == 0) || errOut.String() != tt.err {
			t.Errorf("%q: code %d, stdout %q, stderr %q: %s", tt.args, code, out, errOut, tt.reason)
		}
	}
}

// TestOtherName starts the program under another name, as krew does if the plugin is in an index under that.
func TestOtherName(t *testing.T) {
	for _, tt := range []struct{ args, want, reason string }{
		{"tree --help", "  kubectl debug-controllers tree deploy/web\n", "examples"},
		{"tree --help", "\n  kubectl debug-controllers tree [", "usage"},
		{"replay --help", "`kubectl debug-controllers record`", "descriptions"},
		{"replay", "`kubectl debug-controllers record -o FILE` makes one", "hints that are written in the code"},
		{"nonsense", "hint: `kubectl debug-controllers --help` lists the commands", "hints that are computed"},
	} {
		streams, _, out, errOut := genericiooptions.NewTestIOStreams()
		Execute(t.Context(), append([]string{"/home/me/.krew/bin/kubectl-debug_controllers"}, strings.Fields(tt.args)...), streams)
		printed := out.String() + errOut.String()
		if !strings.Contains(printed, tt.want) || strings.Contains(printed, UsualName) {
			t.Errorf("%s has no %q, or the usual name: %s:\n%s", tt.args, tt.want, tt.reason, printed)
		}
	}
}

func TestCommandsAreDocumented(t *testing.T) {
	root := New("kubectl-reconcile", genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}})
	for _, cmd := range root.Commands() {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: its line in the list of commands is %q", cmd.Name(), cmd.Short)
		}
		if strings.Contains(cmd.Example, "%!") {
			t.Errorf("%s: its example is not filled in: %s", cmd.Name(), cmd.Example)
		}
	}
}
