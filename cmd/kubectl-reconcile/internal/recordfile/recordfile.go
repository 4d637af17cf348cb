// Package recordfile is what commands that write recordings share: the flags that say what is redacted, and how the
// file is created.
package recordfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/recorder"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/redact"
)

// RedactFlags are the flags that say what is redacted.
type RedactFlags struct {
	rules []string
	off   bool
}

// AddTo adds the flags. prefix is what their help begins with: when they have a meaning.
func (f *RedactFlags) AddTo(flags *pflag.FlagSet, prefix string) {
	flags.StringArrayVar(&f.rules, "redact", nil,
		prefix+"redact more than the values of Secrets: TYPE:PATH, such as configmaps:data.password or "+
			"'*:metadata.annotations.x', or /REGEXP/ for what matches in any text; may be repeated")
	flags.BoolVar(&f.off, "no-redact", false, prefix+"record all as it is, the values of Secrets too")
}

// Given returns the name of a flag that was given; empty if none was.
func (f *RedactFlags) Given() string {
	switch {
	case len(f.rules) > 0:
		return "redact"
	case f.off:
		return "no-redact"
	}
	return ""
}

// ToRedaction returns what is redacted, or an error for flags that make no sense.
func (f *RedactFlags) ToRedaction() (Redaction, error) {
	if f.off {
		if len(f.rules) > 0 {
			return Redaction{}, errors.New("--redact and --no-redact exclude each other")
		}
		return Redaction{}, nil
	}
	var out Redaction
	for _, text := range f.rules {
		rule, err := redact.ParseRule(text)
		if err != nil {
			return Redaction{}, cli.WithHint(fmt.Errorf("--redact %q: %w", text, err),
				"for example configmaps:data.password, '*:metadata.annotations.x' or '/token-[a-z0-9]+/'")
		}
		out.rules = append(out.rules, rule)
	}
	var err error
	out.Redactor, err = redact.New(rand.Reader, out.rules)
	return out, err
}

// Redaction is what is redacted. The zero value is nothing.
type Redaction struct {
	// Redactor is nil if nothing is redacted.
	Redactor *redact.Redactor
	rules    []redact.Rule
}

// Text says what is redacted.
func (r *Redaction) Text() string {
	switch n := len(r.rules); {
	case r.Redactor == nil:
		return "nothing is redacted, the values of Secrets are in it"
	case n > 0:
		return "the values of Secrets and what " + cli.Plural(n, "rule") + " of --redact " +
			cli.PluralOf(n, "names", "name") + " are redacted"
	}
	return "the values of Secrets are redacted"
}

// Options returns the flags as the header of a recording has them. The patterns are left out: they may say what they
// hide.
func (r *Redaction) Options() []string {
	var out []string
	for i := range r.rules {
		text := r.rules[i].String()
		if strings.HasPrefix(text, "/") {
			text = "/…/"
		}
		out = append(out, redact.Option+text)
	}
	return out
}

// Unused returns the first rule that is for no kind that is recorded; empty if there is none. What such a rule should
// hide is maybe written.
func (r *Redaction) Unused(selections []recorder.Selection) string {
rules:
	for i := range r.rules {
		for j := range selections {
			k := &selections[j].Kind
			stream := replay.Stream{
				Group: k.Group, Kind: k.Kind, Resource: k.Resource, Singular: k.Singular, ShortNames: k.ShortNames,
			}
			if r.rules[i].Matches(&stream) {
				continue rules
			}
		}
		return r.rules[i].String()
	}
	return ""
}

// Create creates a file that only the user can read, and locks it until it is closed. It follows no symbolic link. What
// exists is replaced if force is true, unless another process writes it; the hint of the error names flag, which makes
// it so. A named pipe or a device is written to.
func Create(path string, force bool, flag string) (*os.File, error) {
	if IsDevice(path) {
		return os.OpenFile(path, os.O_WRONLY, 0) //nolint:gosec // G304: the user names it
	}
	if info, err := os.Lstat(path); err == nil && force {
		if info.IsDir() {
			return nil, fmt.Errorf("creating the recording: %s is a directory", path)
		}
		if info.Mode().IsRegular() && isLocked(path) {
			return nil, cli.WithHint(fmt.Errorf("%s is being written by another recorder", path), "name another file")
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("replacing the recording: %w", err)
		}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // G304: the user names it
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, cli.WithHint(fmt.Errorf("%s exists already", path), "--"+flag+" replaces it")
	case err != nil:
		return nil, fmt.Errorf("creating the recording: %w", err)
	}
	lock(file) // nothing else has it yet
	return file, nil
}

// isLocked reports whether another process has locked a file, as Create does.
func isLocked(path string) bool {
	file, err := os.Open(path) //nolint:gosec // G304: the user names it
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // nothing was written
	return lock(file)
}

// CheckPath returns an error if a path does not lead to a file any more that was written under it: what was written is
// lost when the file is closed. It is nil for a named pipe or a device.
func CheckPath(path string, file *os.File) error {
	written, err := file.Stat()
	if err != nil || !written.Mode().IsRegular() {
		return err
	}
	switch there, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was removed while it was written: what was recorded is lost", path)
	case err == nil && !os.SameFile(written, there):
		return fmt.Errorf("%s was replaced while it was written: what was recorded is lost", path)
	}
	return nil
}

// IsDevice reports whether a path is a named pipe or a device, which is written to rather than replaced.
func IsDevice(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0
}
