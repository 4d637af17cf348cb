package input

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/imports"
)

// errDirectory is the error of a file that is a directory.
var errDirectory = errors.New("it is a directory")

const readableHint = "read are recordings of `kubectl reconcile record`, watch events and objects of kubectl " +
	"(-o json), lists, manifests and audit logs, also compressed by gzip or zstd"

// named returns how errors call a file.
func named(name string) string {
	if name == stdin {
		return "standard input"
	}
	return fmt.Sprintf("%q", name)
}

// openingError returns the error that a file cannot be opened, with a hint.
func openingError(name string, err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err // the path is named already
	}
	var (
		unrecognized *imports.UnrecognizedError
		none         *replay.NotRecordingError
		version      *replay.VersionError
		torn         *replay.TornError
	)
	out := fmt.Errorf("opening %s: %w", named(name), err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("opening %s: no such file", named(name))
	case errors.Is(err, errDirectory):
		return cli.WithHint(out, "name the file in it")
	case errors.Is(err, fs.ErrPermission):
		return cli.WithHint(out, "recordings can be read by the user who made them only")
	case errors.Is(err, imports.ErrEmpty):
		return cli.WithHint(fmt.Errorf("%s is empty", named(name)), "what wrote it may have ended with an error")
	case errors.As(err, &version):
		return cli.WithHint(out, "it was written by a newer version: update this program")
	case errors.As(err, &unrecognized):
		hint := readableHint
		switch unrecognized.Content {
		case "encrypted by age":
			hint = "decrypt it first: age -d FILE | kubectl reconcile replay -"
		case "a table of kubectl":
			hint = "add -o json to it: kubectl get pods -w --output-watch-events -o json"
		case "text in UTF-16":
			hint = "PowerShell wrote it: convert it to UTF-8, as by Out-File -Encoding utf8"
		}
		return cli.WithHint(fmt.Errorf("%s is no recording: it is %s", named(name), unrecognized.Content), hint)
	case errors.As(err, &none):
		return cli.WithHint(out, readableHint)
	case errors.As(err, &torn):
		return cli.WithHint(fmt.Errorf("%s ends before its first record: %w", named(name), torn.Err),
			"what wrote it may have been ended at once")
	}
	return out
}
