package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// HintError is an error with advice on what to do about it.
type HintError struct {
	error
	Hint string
}

// Unwrap returns the error without the advice.
func (e *HintError) Unwrap() error { return e.error }

// WithHint adds advice to an error; nil stays nil, and no advice adds nothing.
func WithHint(err error, hint string) error {
	if err == nil || hint == "" {
		return err
	}
	return &HintError{err, hint}
}

// UnknownError says that there is no such thing of that sort.
func UnknownError(sort, name string) error { return fmt.Errorf("unknown %s %q", sort, name) }

// PrintError writes a line "error: …" for each error that err joins, and a line "hint: …" for each that has one,
// all safe for a terminal.
func PrintError(w io.Writer, err error) {
	written := map[string]bool{} // several parts of the program may report one cause
	line := func(text string) {
		if !written[text] {
			written[text] = true
			fmt.Fprintln(w, Wrap(w, text))
		}
	}
	for _, e := range Flatten(err) {
		line("error: " + OneLine(e.Error()))
		if h := (*HintError)(nil); errors.As(e, &h) {
			line("hint: " + render.Escape(h.Hint))
		}
	}
}

// Interruption is why what was under way has ended with ctx, the command's: an interrupt, or what else has ended it.
func Interruption(ctx context.Context, when string) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return errors.New("interrupted " + when)
}

// Hint writes advice that belongs to no error, safe for a terminal; none writes nothing.
func Hint(w io.Writer, text string) {
	if text != "" {
		fmt.Fprintf(w, "hint: %s\n", render.Escape(text))
	}
}

// Flatten lists the errors that err joins, itself if it joins none. It knows errors.Join and apimachinery's Aggregate.
func Flatten(err error) []error {
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
		out = append(out, Flatten(e)...)
	}
	return out
}

// OneLine makes an error's text safe for a terminal, on one line.
func OneLine(text string) string {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "error: "), "error ") // libraries say it again
	return render.Escape(strings.Join(strings.Fields(strings.ReplaceAll(text, "\n", " ")), " "))
}

// OneLines makes each of several texts so.
func OneLines(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = OneLine(text)
	}
	return out
}

// Wrap breaks a line between words where it is wider than the terminal that it is for.
func Wrap(w io.Writer, line string) string { return render.Wrap(line, render.TerminalWidth(w), "  ") }

// ErrFound ends a command with the exit code 1 and prints nothing: what was found has been shown.
var ErrFound = errors.New("found what --exit-code is for")

// withoutFound leaves out errFound, which is not for people.
func withoutFound(err error) error {
	errs := Flatten(err)
	return errors.Join(slices.DeleteFunc(errs, func(e error) bool { return errors.Is(e, ErrFound) })...)
}
