package diff

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// externalArgument matches the arguments that KUBECTL_EXTERNAL_DIFF may have, as for `kubectl diff`.
var externalArgument = regexp.MustCompile(`^[a-zA-Z0-9-=]+$`)

// runExternal has the program of KUBECTL_EXTERNAL_DIFF compare two directories with a file for each object, as `kubectl
// diff` does.
func (o *Options) runExternal(ctx context.Context, diffs []objectDiff) error {
	dirs := make([]string, 2)
	before, after := o.sides()
	for i, name := range []string{before, after} {
		dir, err := os.MkdirTemp("", name+"-")
		if err != nil {
			return fmt.Errorf("making a directory for KUBECTL_EXTERNAL_DIFF: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }() // it is a temporary one
		dirs[i] = dir
	}
	for _, d := range diffs {
		for i, text := range []string{d.before, d.after} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dirs[i], safeFileName(d.file)), []byte(text), 0o600); err != nil {
				return fmt.Errorf("writing a file for KUBECTL_EXTERNAL_DIFF: %w", err)
			}
		}
	}
	words := strings.Split(o.external, " ")
	var args []string
	for _, word := range words[1:] {
		if externalArgument.MatchString(word) {
			args = append(args, word)
		}
	}
	cmd := exec.CommandContext(ctx, words[0], append(args, dirs...)...) //nolint:gosec // the user names the program
	cmd.Stdout, cmd.Stderr = o.streams.Out, o.streams.ErrOut
	err := cmd.Run()
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) && exited.ExitCode() == 1 {
		return nil // there are differences
	}
	if err != nil {
		return fmt.Errorf("running %q of KUBECTL_EXTERNAL_DIFF: %w", words[0], err)
	}
	return nil
}

// safeFileName replaces what a name of an object may have and a file may not.
func safeFileName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:<>|"?*`, r) {
			return '_'
		}
		return r
	}, name)
}
