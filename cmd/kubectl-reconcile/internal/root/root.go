// Package root has the command that has all others, and runs command lines by the name that the program was started by.
package root

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/completion"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/diff"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/envtest"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/get"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/record"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/run"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/sandbox"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/status"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/tree"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/version"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/why"
)

// Execute runs one command line and returns its exit code, as cli.ExitCode does.
func Execute(ctx context.Context, argv []string, streams genericiooptions.IOStreams) int {
	path, args := argv[0], argv[1:]
	if code, ok := envtest.Run(ctx, programName(path), args, streams, os.Getenv); ok {
		return code
	}
	if plugin, ok := strings.CutPrefix(programName(path), completion.Prefix); ok {
		path = filepath.Join(filepath.Dir(path), "kubectl-"+plugin)
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	streams.Out, streams.ErrOut = cli.CancelOnBrokenPipe(streams.Out, end), cli.CancelOnBrokenPipe(streams.ErrOut, end)
	root := New(path, streams)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	cli.EachHint(err, func(hint *string) { *hint = renamed(*hint, displayName(programName(path))) })
	return cli.ExitCode(ctx, streams, err)
}

// programName returns the name of the program that a path runs.
func programName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), ".exe")
}

// displayName returns what a user types to run the program: "kubectl reconcile" for the plugin kubectl-reconcile.
func displayName(program string) string {
	if plugin, ok := strings.CutPrefix(program, "kubectl-"); ok {
		return "kubectl " + strings.ReplaceAll(plugin, "_", "-")
	}
	return program
}

// UsualName is what most users type to run the program, and what help and hints contain.
const UsualName = "kubectl reconcile"

// renamed returns a text with the name that the user types in the place of the usual one.
func renamed(text, name string) string { return strings.ReplaceAll(text, UsualName, name) }

// rename makes the help of a command and of those below it show the name that the user types.
func rename(cmd *cobra.Command, name string) {
	cmd.Short, cmd.Long, cmd.Example = renamed(cmd.Short, name), renamed(cmd.Long, name), renamed(cmd.Example, name)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = renamed(f.Usage, name) })
	for _, c := range cmd.Commands() {
		rename(c, name)
	}
}

// New returns the command that has all others. path is how the program was started, such as "kubectl-reconcile": help
// shows what the user types to run it so.
func New(path string, streams genericiooptions.IOStreams) *cobra.Command {
	program := programName(path)
	name := displayName(program)
	root := &cobra.Command{
		Use:         program, // for which there are completion scripts
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: name},
		Short:       "Debug Kubernetes controllers",
		Long: `Debug Kubernetes controllers: run Kubernetes' own controllers on your machine, in an API server that
needs no cluster, and see why every reconcile happened, what it decided and what it wrote; read any
cluster, and see who owns whom, what is not ready and why; or record what its API says, and replay it.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wanted, err := cmd.Flags().GetBool(versionFlag); err == nil && wanted {
				return version.NewCommand(streams).RunE(cmd, nil)
			}
			return cmd.Help()
		},
	}
	root.Flags().Bool(versionFlag, false, "print the versions, as the command version does")
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.AddCommand(
		tree.NewCommand(streams), status.NewCommand(streams), why.NewCommand(streams), diff.NewCommand(streams),
		get.NewCommand(streams), record.NewCommand(streams), run.NewCommand(streams), sandbox.NewCommand(streams),
		version.NewCommand(streams),
		replay.NewCommand(streams), envtest.NewCommand(streams),
	)
	completion.AddCommand(root, path, streams)
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		switch {
		case cmd.Name() == "help":
			cmd.RunE = help
		case cmd.HasSubCommands():
			cmd.Args, cmd.RunE = noSuchCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	if name != UsualName {
		rename(root, name)
	}
	return root
}

// versionFlag is the flag of the root that other programs have in the place of a command.
const versionFlag = "version"

// help shows the help of the command that the arguments name. What follows a command that has no others is not looked
// at.
func help(cmd *cobra.Command, args []string) error {
	of, rest, err := cmd.Root().Find(args)
	if err == nil && of.HasSubCommands() {
		err = noSuchCommand(of, rest)
	}
	if err != nil {
		return err
	}
	of.InitDefaultHelpFlag() // the help shows it
	return of.Help()
}

// noSuchCommand is the cobra.PositionalArgs of commands that have others: their arguments can only be misspelt ones.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	help := "`" + cmd.CommandPath() + " --help` lists the commands"
	return cli.WithHint(cli.UnknownError("command", args[0]), cli.Suggestion(args[0], names, help))
}

// flagError adds a hint to the error of a flag: similar flags if it is unknown.
func flagError(cmd *cobra.Command, err error) error {
	help := "`" + cmd.CommandPath() + " --help` lists the flags"
	_, flag, unknown := strings.Cut(err.Error(), "unknown flag: --")
	if !unknown {
		return cli.WithHint(err, help)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	nearest := cli.Suggest(flag, names)
	for i := range nearest {
		nearest[i] = "--" + nearest[i]
	}
	return cli.WithHint(err, cli.DidYouMean(nearest, help))
}
