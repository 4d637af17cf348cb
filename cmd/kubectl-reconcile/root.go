package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// completer is the name that kubectl runs a plugin under to ask for completions.
const completer = "kubectl_complete-reconcile"

// run executes one command line and returns its exit code: 0, 1 after an error, or unread.
func run(ctx context.Context, argv []string, streams genericiooptions.IOStreams) int {
	name, args := programName(argv[0]), argv[1:]
	if name == completer {
		name, args = displayName("kubectl-reconcile"), append([]string{cobra.ShellCompRequestCmd}, args...)
	} else {
		name = displayName(name)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	streams.Out, streams.ErrOut = piped(streams.Out, end), piped(streams.ErrOut, end)
	root := newRoot(name, streams)
	root.SetArgs(args)
	return exitCode(ctx, streams, root.ExecuteContext(ctx))
}

// exitCode prints the error of a command.
func exitCode(ctx context.Context, streams genericiooptions.IOStreams, err error) int {
	code := 0
	if err != nil {
		code = 1
	}
	if isUnread(ctx) {
		code, err = unread, withoutUnread(err)
	}
	if err := withoutFound(err); err != nil {
		printError(streams.ErrOut, err)
	}
	return code
}

func programName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), ".exe")
}

// displayName is what a user types to run the program: "kubectl reconcile" for the plugin kubectl-reconcile.
func displayName(program string) string {
	if plugin, ok := strings.CutPrefix(program, "kubectl-"); ok {
		return "kubectl " + strings.ReplaceAll(plugin, "_", "-")
	}
	return program
}

func newRoot(name string, streams genericiooptions.IOStreams) *cobra.Command {
	root := &cobra.Command{
		Use:         "kubectl-reconcile",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: name},
		Short:       "Debug Kubernetes controllers",
		Long: `Debug Kubernetes controllers: run Kubernetes' own controllers on your machine, in an API server that needs no
cluster, and see why every reconcile happened, what it decided and what it wrote; or read any cluster, and see who owns
whom and what has not caught up.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.AddCommand(newTreeCommand(streams), newStatusCommand(streams), newRunCommand(streams), newSandboxCommand(streams), newVersionCommand(streams))
	return root
}

// runner is what a command line comes to.
type runner interface{ run(context.Context) error }

// runs makes a command of its options, which flags and arguments are made into.
func runs[O runner](
	streams genericiooptions.IOStreams, toOptions func(genericiooptions.IOStreams, []string) (O, error),
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		o, err := toOptions(streams, args)
		if err != nil {
			return err
		}
		return o.run(cmd.Context())
	}
}

// noSuchCommand refuses arguments of the root, which are misspelt commands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return withHint(unknownError("command", args[0]), suggestion(args[0], names, "`"+cmd.CommandPath()+" --help` lists the commands"))
}

// flagError adds the nearest flags to the error of a misspelt one.
func flagError(cmd *cobra.Command, err error) error {
	help := "`" + cmd.CommandPath() + " --help` lists the flags"
	_, flag, unknown := strings.Cut(err.Error(), "unknown flag: --")
	if !unknown {
		return withHint(err, help)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	nearest := suggest(flag, names)
	for i := range nearest {
		nearest[i] = "--" + nearest[i]
	}
	return withHint(err, didYouMean(nearest, help))
}

// noArguments refuses arguments where there are only flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return withHint(unknownError("argument", args[0]), "`"+cmd.CommandPath()+" --help` shows how it is used")
	}
	return nil
}
