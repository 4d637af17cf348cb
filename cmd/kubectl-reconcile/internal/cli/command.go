package cli

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// CompleteWords offers fixed words for the value of a flag.
func CompleteWords(cmd *cobra.Command, flag string, words ...string) {
	// The only error is that of a flag that is not there, which a test of completion would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// Runner is what a command line comes to.
type Runner interface{ Run(context.Context) error }

// RunE makes a command of its options, which flags and arguments are made into.
func RunE[O Runner](
	streams genericiooptions.IOStreams, toOptions func(genericiooptions.IOStreams, []string) (O, error),
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		o, err := toOptions(streams, args)
		if err != nil {
			return err
		}
		return o.Run(cmd.Context())
	}
}

// NoArguments refuses arguments where there are only flags.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return WithHint(UnknownError("argument", args[0]), "`"+cmd.CommandPath()+" --help` shows how it is used")
	}
	return nil
}

// ExitCode prints the error of a command.
func ExitCode(ctx context.Context, streams genericiooptions.IOStreams, err error) int {
	code := 0
	if err != nil {
		code = 1
	}
	if IsBrokenPipe(ctx) {
		code, err = BrokenPipeExitCode, withoutBrokenPipe(err)
	}
	if err := withoutFound(err); err != nil {
		PrintError(streams.ErrOut, err)
	}
	return code
}
