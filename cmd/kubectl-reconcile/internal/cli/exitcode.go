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

// exitCodeError is an error that ends its command with an exit code other than 1.
type exitCodeError struct {
	error
	code int
}

// Unwrap returns the error without the exit code.
func (e *exitCodeError) Unwrap() error { return e.error }

// WithExitCode makes an error end its command with an exit code, for commands whose exit code 1 is no error. It returns
// nil if err is nil, and ErrSilentExit, or an error that has an exit code already and is the only one, as it is.
func WithExitCode(err error, code int) error {
	if err == nil || errors.Is(err, ErrSilentExit) && len(FlattenErrors(err)) == 1 {
		return err
	}
	if coded := (*exitCodeError)(nil); errors.As(err, &coded) && len(FlattenErrors(err)) == 1 {
		return err
	}
	return &exitCodeError{err, code}
}

// ExitCode prints the error of a command, if any, and returns the exit code: 0, 1 or that of WithExitCode after an
// error, or BrokenPipeExitCode if a closed pipe ended the command.
func ExitCode(ctx context.Context, streams genericiooptions.IOStreams, err error) int {
	code := 0
	if err != nil {
		code = 1
	}
	if coded := (*exitCodeError)(nil); errors.As(err, &coded) {
		code, err = coded.code, coded.error
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
