package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// HintError is an error with advice on what to do about it, which is printed in a line "hint: …" after it.
type HintError struct {
	error
	Hint string
}

// Unwrap returns the error without the advice.
func (e *HintError) Unwrap() error { return e.error }

// WithHint adds advice to an error. It returns nil if err is nil, and err itself if hint is empty.
func WithHint(err error, hint string) error {
	if err == nil || hint == "" {
		return err
	}
	return &HintError{err, hint}
}

// EachHint calls a function with the advice of err and of all that it wraps or joins, which may be changed.
func EachHint(err error, f func(hint *string)) {
	if h, ok := err.(*HintError); ok { //nolint:errorlint // all that is wrapped is visited
		f(&h.Hint)
	}
	switch wrapper := err.(type) { //nolint:errorlint // the same
	case interface{ Unwrap() error }:
		EachHint(wrapper.Unwrap(), f)
	case interface{ Unwrap() []error }:
		for _, e := range wrapper.Unwrap() {
			EachHint(e, f)
		}
	case interface{ Errors() []error }:
		for _, e := range wrapper.Errors() {
			EachHint(e, f)
		}
	}
}

// UnknownError returns the error that there is nothing of that sort, such as a command, with that name.
func UnknownError(sort, name string) error { return fmt.Errorf("unknown %s %q", sort, name) }

// PrintError writes a line "error: …" for each error that err joins, and a line "hint: …" for each that has a hint,
// safe for a terminal. A line that was written already is left out: several parts of the program may report one
// cause.
func PrintError(w io.Writer, err error) {
	written := map[string]bool{}
	line := func(text string) {
		if !written[text] {
			written[text] = true
			fmt.Fprintln(w, Wrap(w, text))
		}
	}
	for _, e := range FlattenErrors(err) {
		line("error: " + OneLine(e.Error()))
		if h := (*HintError)(nil); errors.As(e, &h) {
			line("hint: " + render.Escape(h.Hint))
		}
	}
}

// Interruption returns the error of an operation that ended because ctx, that of the command, is done: the cause of
// ctx, or "interrupted" and when, after a signal.
func Interruption(ctx context.Context, when string) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return errors.New("interrupted " + when)
}

// PrintHint writes a hint that belongs to no error, safe for a terminal; nothing if it is empty.
func PrintHint(w io.Writer, text string) {
	if text != "" {
		fmt.Fprintf(w, "hint: %s\n", render.Escape(text))
	}
}

// FlattenErrors lists the errors that err joins, recursively, or err itself if it joins none. It knows errors.Join and
// apimachinery's Aggregate.
func FlattenErrors(err error) []error {
	var parts []error
	switch joined := err.(type) { //nolint:errorlint // only an error that is itself a list is taken apart
	case interface{ Errors() []error }:
		parts = joined.Errors()
	case interface{ Unwrap() []error }:
		parts = joined.Unwrap()
	default:
		return []error{err}
	}
	var out []error
	for _, e := range parts {
		out = append(out, FlattenErrors(e)...)
	}
	return out
}
