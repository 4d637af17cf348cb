package cli

import (
	"context"
	"errors"
	"slices"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// ErrSilentExit ends a command with exit code 1 without an error message: --exit-code was given, and what it is for was
// found and printed.
var ErrSilentExit = errors.New("found what --exit-code is for")

// withoutSilentExit removes ErrSilentExit from the errors that err joins.
func withoutSilentExit(err error) error {
	errs := FlattenErrors(err)
	return errors.Join(slices.DeleteFunc(errs, func(e error) bool { return errors.Is(e, ErrSilentExit) })...)
}

// ExitCode prints the error of a command, if any, and returns the exit code: 0, 1 after an error, or
// BrokenPipeExitCode if a closed pipe ended the command.
func ExitCode(ctx context.Context, streams genericiooptions.IOStreams, err error) int {
	code := 0
	if err != nil {
		code = 1
	}
	if IsBrokenPipe(ctx) {
		code, err = BrokenPipeExitCode, withoutBrokenPipe(err)
	}
	if err := withoutSilentExit(err); err != nil {
		PrintError(streams.ErrOut, err)
	}
	return code
}

// BrokenPipeExitCode is the exit code of a command whose output is a closed pipe: 128 and SIGPIPE, which a shell
// reports of kubectl and other programs that the signal kills.
const BrokenPipeExitCode = 141
