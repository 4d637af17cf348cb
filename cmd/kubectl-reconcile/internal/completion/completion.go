// Package completion is the command `completion kubectl`: it makes the program by which kubectl completes the plugin.
// The scripts of shells, which are the other commands of `completion`, are cobra's; that of bash is made to work
// without the package bash-completion (bash.go).
//
// kubectl looks in PATH for a program that is called as the plugin, with kubectl_complete in the place of kubectl, and
// runs it with the words of the command line (k8s.io/kubectl/pkg/cmd/plugin/plugin_completion.go). That is this program
// under another name: completion.go has the command, and completer.go what is written.
package completion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
)

// Prefix is what the name begins with by which kubectl runs a plugin for completions: that of kubectl-reconcile is
// kubectl_complete-reconcile.
const Prefix = "kubectl_complete-"

// pluginPrefix is what the name of a plugin begins with.
const pluginPrefix = "kubectl-"

const example = `  # kubectl completes the plugin from now on, in every shell for which it has completion itself
  kubectl reconcile completion kubectl

  # Only say what would be written
  kubectl reconcile completion kubectl --dry-run

  # Into another folder of PATH, if that of the plugin is not yours
  kubectl reconcile completion kubectl --dir ~/.local/bin`

// Flags are the flags of `completion kubectl`.
type Flags struct {
	program string
	dir     string
	dryRun  bool
}

// AddCommand adds `completion kubectl` to the command `completion` of the root, which cobra makes. program is the path
// by which the plugin was started.
func AddCommand(root *cobra.Command, program string, streams genericiooptions.IOStreams) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Short = "Set up completion through kubectl, or print the completion script of a shell"
		cmd.Long = `Set up completion, so that the Tab key offers commands, flags, and what your cluster has.

` + "`completion kubectl`" + ` does it for the plugin as kubectl runs it, and is all that is needed in a shell in which
kubectl itself is completed. The other commands print a script for the program when it is run without kubectl.`
		for _, shell := range cmd.Commands() {
			if shell.Name() == "bash" {
				replaceBash(shell, streams.Out)
			}
		}
		cmd.AddCommand(newCommand(program, streams))
	}
}

func newCommand(program string, streams genericiooptions.IOStreams) *cobra.Command {
	f := &Flags{program: program}
	cmd := &cobra.Command{
		Use:   "kubectl",
		Short: "Let kubectl complete the plugin: link it to the name that kubectl looks for",
		Long: `Let kubectl complete the plugin: make a link to it under the name that kubectl looks for, beside the
plugin. kubectl finds it if the folder is in PATH, as that of a plugin is. On Windows it is a file that
runs the plugin. Nothing is written in the place of a file that is something else.

The shell must complete kubectl itself: see ` + "`kubectl completion --help`.",
		Example:           example,
		Args:              cli.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              cli.RunE(streams, f.toOptions),
	}
	cmd.Flags().StringVar(&f.dir, "dir", "", "the folder to write to; by default that of the plugin")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only print what would be written")
	_ = cmd.MarkFlagDirname("dir") // it is there
	return cmd
}

// Options are what `completion kubectl` needs to run.
type Options struct {
	plugin string // the file of the plugin, absolute
	dir    string // to write to, absolute
	dryRun bool
	system string // runtime.GOOS
	out    io.Writer
	errOut io.Writer
	// look finds a program in PATH.
	look func(name string) (string, error)
}

func (f *Flags) toOptions(streams genericiooptions.IOStreams, _ []string) (*Options, error) {
	plugin, err := exec.LookPath(f.program) // a path as it is
	if err == nil || errors.Is(err, exec.ErrDot) {
		plugin, err = filepath.Abs(plugin)
	}
	if err != nil {
		return nil, cli.WithHint(fmt.Errorf("looking for the plugin, %q: %w", f.program, err),
			"run it by kubectl, or by its path")
	}
	o := &Options{
		plugin: plugin, dir: filepath.Dir(plugin), dryRun: f.dryRun, system: runtime.GOOS,
		out: streams.Out, errOut: streams.ErrOut, look: exec.LookPath,
	}
	if f.dir != "" {
		if o.dir, err = filepath.Abs(f.dir); err != nil {
			return nil, fmt.Errorf("--dir %s: %w", f.dir, err)
		}
	}
	return o, o.validate()
}

func (o *Options) validate() error {
	if name := o.name(); !strings.HasPrefix(name, pluginPrefix) || name == pluginPrefix {
		return cli.WithHint(fmt.Errorf("the program is called %q: kubectl has no plugin of that name", name),
			"a plugin is called kubectl-NAME; `"+name+" completion --help` lists shells that complete the program")
	}
	info, err := os.Stat(o.dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("--dir %s: no such folder", o.dir)
	case err != nil:
		return fmt.Errorf("--dir: %w", err)
	case !info.IsDir():
		return fmt.Errorf("--dir %s is not a folder", o.dir)
	}
	return nil
}

// name returns the name of the plugin, such as kubectl-reconcile.
func (o *Options) name() string { return strings.TrimSuffix(filepath.Base(o.plugin), ".exe") }

// typed returns what a user types to run the plugin.
func (o *Options) typed() string {
	return "kubectl " + strings.ReplaceAll(strings.TrimPrefix(o.name(), pluginPrefix), "_", "-")
}

// Run writes the completer, and prints what it did.
func (o *Options) Run(context.Context) error {
	c := o.completer()
	there, err := c.isThere()
	switch {
	case err != nil:
		return err
	case there:
		fmt.Fprintf(o.out, "%s is there already\n", c.path)
	case o.dryRun:
		fmt.Fprintf(o.out, "would write %s\n", c)
		return nil
	default:
		if err := c.write(); err != nil {
			return cli.WithHint(err, o.elsewhere())
		}
		fmt.Fprintf(o.out, "wrote %s\n", c)
	}
	o.checkPath(c)
	return nil
}

// elsewhere returns the hint for a folder that cannot be written to.
func (o *Options) elsewhere() string {
	return "--dir names another folder of PATH, in which you may write; or run this as a user who may write there"
}

// checkPath warns if kubectl will not find the completer.
func (o *Options) checkPath(c completer) {
	name := strings.TrimSuffix(filepath.Base(c.path), filepath.Ext(c.path))
	found, err := o.look(name)
	switch {
	case err != nil:
		fmt.Fprintf(o.errOut, "warning: kubectl does not find it: %s is not in PATH\n", filepath.Dir(c.path))
	case !sameFile(found, c.path):
		fmt.Fprintf(o.errOut, "warning: kubectl finds another one first: %s\n", found)
	default:
		fmt.Fprintf(o.out, "kubectl completes `%s` where it is completed itself: see `kubectl completion --help`\n",
			o.typed())
	}
}
