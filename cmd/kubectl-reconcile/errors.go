package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// hintError is an error with advice on what to do about it.
type hintError struct {
	error
	hint string
}

// Unwrap returns the error without the advice.
func (e *hintError) Unwrap() error { return e.error }

// withHint adds advice to an error; nil stays nil, and no advice adds nothing.
func withHint(err error, hint string) error {
	if err == nil || hint == "" {
		return err
	}
	return &hintError{err, hint}
}

// unknownError says that there is no such thing of that sort.
func unknownError(sort, name string) error { return fmt.Errorf("unknown %s %q", sort, name) }

// printError writes a line "error: …" for each error that err joins, and a line "hint: …" for each that has one,
// all safe for a terminal.
func printError(w io.Writer, err error) {
	written := map[string]bool{} // several parts of the program may report one cause
	line := func(text string) {
		if !written[text] {
			written[text] = true
			fmt.Fprintln(w, fitted(w, text))
		}
	}
	for _, e := range flatten(err) {
		line("error: " + oneLine(e.Error()))
		if h := (*hintError)(nil); errors.As(e, &h) {
			line("hint: " + render.Escape(h.hint))
		}
	}
}

// interruption is why what was under way has ended with ctx, the command's: an interrupt, or what else has ended it.
func interruption(ctx context.Context, when string) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return errors.New("interrupted " + when)
}

// hint writes advice that belongs to no error, safe for a terminal; none writes nothing.
func hint(w io.Writer, text string) {
	if text != "" {
		fmt.Fprintf(w, "hint: %s\n", render.Escape(text))
	}
}

// flatten lists the errors that err joins, itself if it joins none. It knows errors.Join and apimachinery's Aggregate.
func flatten(err error) []error {
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
		out = append(out, flatten(e)...)
	}
	return out
}

// oneLine makes an error's text safe for a terminal, on one line.
func oneLine(text string) string {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "error: "), "error ") // libraries say it again
	return render.Escape(strings.Join(strings.Fields(strings.ReplaceAll(text, "\n", " ")), " "))
}

// oneLines makes each of several texts so.
func oneLines(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = oneLine(text)
	}
	return out
}

// withManifestHints adds what to do to each of the joined errors of objects that were refused.
func withManifestHints(err error) error {
	if err == nil {
		return nil
	}
	errs := flatten(err)
	for i, e := range errs {
		if strings.Contains(e.Error(), `: namespaces "`) && apierrors.IsNotFound(e) {
			errs[i] = withHint(e, "-n NAME creates the namespace, or put it among the files")
		}
		if unknown := (*runlocal.UnknownKindError)(nil); errors.As(e, &unknown) {
			errs[i] = withHint(e, suggestion(unknown.Kind.Kind, unknown.Known, "kinds that are no part of Kubernetes need their CustomResourceDefinition among the files"))
		}
		if uncounted := (*runlocal.UncountedQuotaError)(nil); errors.As(e, &uncounted) {
			errs[i] = withHint(e, "-v shows what the controller does; without the quota the objects are applied")
		}
	}
	return errors.Join(errs...)
}

// withStartHints adds what to do to each of the joined errors of a session that did not start.
func withStartHints(err error) error {
	errs := flatten(err)
	for i := range errs {
		errs[i] = withStartHint(errs[i])
	}
	return errors.Join(errs...)
}

func withStartHint(err error) error {
	switch unknown := (*api.UnknownPluginError)(nil); {
	case errors.As(err, &unknown):
		return withHint(err, suggestion(unknown.Name, unknown.Known, "admission plugins are named as kube-apiserver names them"))
	case errors.Is(err, api.ErrRemoteListen):
		return withHint(err, "--allow-remote lets other machines reach it, with the token of the kubeconfig")
	case errors.Is(err, syscall.EADDRINUSE):
		return withHint(err, "--listen 127.0.0.1:0 picks a free port")
	}
	return err
}
