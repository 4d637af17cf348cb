package completion

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
)

// optionsIn returns options for a plugin in a folder, which is in PATH alone, and what they print.
func optionsIn(t *testing.T, dir, plugin, system string) (*Options, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	o := &Options{
		plugin: filepath.Join(dir, plugin), dir: dir, system: system, out: &out, errOut: &out,
		look: func(name string) (string, error) {
			for _, extension := range []string{"", ".cmd"} {
				if path := filepath.Join(dir, name+extension); sameFile(path, path) {
					return path, nil
				}
			}
			return "", os.ErrNotExist
		},
	}
	if err := os.WriteFile(o.plugin, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return o, &out
}

// TestOnWindows: the completer is a file that runs the plugin beside it; a file of an older form is replaced, another
// one is not.
func TestOnWindows(t *testing.T) {
	dir := t.TempDir()
	o, out := optionsIn(t, dir, "kubectl-debug_controllers.exe", "windows")
	path := filepath.Join(dir, "kubectl_complete-debug_controllers.cmd")
	want := "@rem Written by `completion kubectl` of kubectl-reconcile.\r\n@\"%~dp0kubectl-debug_controllers.exe\" __complete %*\r\n"
	for _, tt := range []struct{ reason, before, after, printed string }{
		{"none is there", "", want, "wrote " + path + "\n"},
		{"it is there", want, want, path + " is there already\n"},
		{"an older one", fileMark + "\r\nolder\r\n", want, "wrote " + path + "\n"},
		{"something else", "@echo mine\r\n", "@echo mine\r\n", ""},
	} {
		if tt.before != "" {
			if err := os.WriteFile(path, []byte(tt.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out.Reset()
		err := o.Run(t.Context())
		if got, read := os.ReadFile(path); read != nil || string(got) != tt.after {
			t.Errorf("%s: the file is %q, want %q (%v)", tt.reason, got, tt.after, read)
		}
		if tt.printed == "" {
			if err == nil || !strings.Contains(err.Error(), "not replacing "+path) {
				t.Errorf("%s: %v", tt.reason, err)
			}
			continue
		}
		if wanted := tt.printed + "kubectl completes `kubectl debug-controllers` where"; err != nil || !strings.HasPrefix(out.String(), wanted) {
			t.Errorf("%s: printed %q, want %q (%v)", tt.reason, out, wanted, err)
		}
	}
}

// TestFolderThatCannotBeWritten: the error has a way out, and nothing is left.
func TestFolderThatCannotBeWritten(t *testing.T) {
	o, _ := optionsIn(t, t.TempDir(), "kubectl-reconcile", runtime.GOOS)
	o.dir = filepath.Join(o.dir, "gone")
	err := o.Run(t.Context())
	if hint := (*cli.HintError)(nil); !errors.As(err, &hint) || !strings.Contains(hint.Hint, "--dir names another folder") {
		t.Errorf("%v has no such hint", err)
	}
}

// TestBashFunctions: the script calls no function of the package bash-completion but where it is known to be there.
func TestBashFunctions(t *testing.T) {
	var out bytes.Buffer
	root := &cobra.Command{Use: "kubectl-reconcile"}
	root.AddCommand(&cobra.Command{Use: "tree", Run: func(*cobra.Command, []string) {}})
	AddCommand(root, "kubectl-reconcile", genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out})
	root.SetArgs([]string{"completion", "bash"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	guarded := false
	for line := range strings.Lines(out.String()) {
		code := strings.TrimSpace(line)
		calls := strings.HasPrefix(code, "_get_comp_words_by_ref") || strings.HasPrefix(code, "_filedir") ||
			strings.Contains(code, `"_filedir`) || strings.Contains(code, " _filedir -d") || strings.HasPrefix(code, "_init_completion")
		if calls && !guarded {
			t.Errorf("the script calls a function that may not be there: %s", code)
		}
		guarded = strings.Contains(code, "declare -F")
	}
	if !strings.Contains(out.String(), "\n__kubectl-reconcile_join_comp_words()") {
		t.Errorf("the script does not have its own functions:\n%s", &out)
	}
}
