package completion

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
)

// completer is what kubectl runs for completions: a link to the plugin, or a file that runs it.
type completer struct {
	path string
	// target is what the link points to: relative if the plugin is in the same folder, so that it stays true where a
	// folder is moved, and an update of the plugin needs no other link. Empty for a file.
	target string
	// content is that of a file.
	content []byte
	plugin  string
}

// completer returns the completer of the plugin.
func (o *Options) completer() completer {
	c := completer{
		path:   filepath.Join(o.dir, Prefix+strings.TrimPrefix(o.name(), pluginPrefix)),
		plugin: o.plugin, target: o.plugin,
	}
	if filepath.Dir(o.plugin) == o.dir {
		c.target = filepath.Base(o.plugin)
	}
	if o.system == "windows" { // where not everyone may make links
		run := c.target
		if !filepath.IsAbs(run) {
			run = "%~dp0" + run
		}
		c.path += ".cmd"
		c.content = []byte(fmt.Sprintf("%s\r\n@\"%s\" __complete %%*\r\n", fileMark, run))
		c.target = ""
	}
	return c
}

// fileMark is the first line of a file that is ours.
const fileMark = "@rem Written by `completion kubectl` of kubectl-reconcile."

// String returns what is written, for people.
func (c completer) String() string {
	if c.target != "" {
		return c.path + " -> " + c.target
	}
	return c.path
}

// isThere reports whether the completer is there already. What is there and is something else is an error.
func (c completer) isThere() (bool, error) {
	info, err := os.Lstat(c.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("looking for the completer: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return c.isLinked()
	case sameFile(c.path, c.plugin): // a copy of its directory entry
		return true, nil
	case c.target == "" && info.Mode().IsRegular():
		content, err := os.ReadFile(c.path)
		if err != nil {
			return false, fmt.Errorf("reading the completer: %w", err)
		}
		if bytes.HasPrefix(content, []byte(fileMark)) {
			return bytes.Equal(content, c.content), nil
		}
	}
	return false, c.foreign("it is a file that something else wrote")
}

// isLinked is isThere for a symbolic link. One to a plugin of that name which is elsewhere, or has gone, is ours.
func (c completer) isLinked() (bool, error) {
	target, err := os.Readlink(c.path)
	if err != nil {
		return false, fmt.Errorf("reading the completer: %w", err)
	}
	if sameFile(c.path, c.plugin) {
		return true, nil
	}
	if filepath.Base(target) == filepath.Base(c.plugin) {
		return false, nil
	}
	return false, c.foreign("it is a link to " + target)
}

// foreign returns the error of a file that is not ours.
func (c completer) foreign(why string) error {
	return cli.WithHint(fmt.Errorf("not replacing %s: %s", c.path, why), "remove it if kubectl is not to use it")
}

// write makes the completer, in the place of an older one.
func (c completer) write() error {
	next := c.path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("writing the completer: %w", err)
	}
	var err error
	if c.target != "" {
		err = os.Symlink(c.target, next)
	} else {
		err = os.WriteFile(next, c.content, 0o755) //nolint:gosec // G306: a program that all users of the plugin run
	}
	if err == nil {
		err = os.Rename(next, c.path)
	}
	if err != nil {
		return fmt.Errorf("writing the completer: %w", err)
	}
	return nil
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
