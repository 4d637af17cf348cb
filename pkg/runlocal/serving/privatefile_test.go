package serving

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCreatePrivate(t *testing.T) {
	for _, row := range []struct {
		reason string
		before func(t *testing.T, path string)
		fails  string
		device bool
	}{
		{"there is nothing", func(*testing.T, string) {}, "", false},
		{"a file that all may read is replaced", func(t *testing.T, path string) {
			write(t, path, 0o644)
		}, "", false},
		{"a link to a file is replaced, and the file is left", func(t *testing.T, path string) {
			write(t, path+".target", 0o644)
			link(t, path+".target", path)
		}, "", false},
		{"a link to nothing is replaced", func(t *testing.T, path string) { link(t, path+".nothing", path) }, "", false},
		{"a device is written to", func(t *testing.T, path string) { link(t, os.DevNull, path) }, "", true},
		{"a directory", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "is a directory", false},
	} {
		path := filepath.Join(t.TempDir(), "trace")
		row.before(t, path)
		f, err := CreatePrivate(path)
		if row.fails != "" {
			if err == nil || !strings.Contains(err.Error(), row.fails) {
				t.Errorf("%s: got %v, want %q", row.reason, err, row.fails)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.reason, err)
			continue
		}
		if _, err := f.WriteString("new"); err != nil {
			t.Errorf("%s: %v", row.reason, err)
		}
		f.Close()
		switch at, err := os.Lstat(path); {
		case err != nil:
			t.Errorf("%s: %v", row.reason, err)
		case row.device && at.Mode().Type() != os.ModeSymlink:
			t.Errorf("%s: the way to it is %v", row.reason, at.Mode())
		case !row.device && at.Mode() != 0o600:
			t.Errorf("%s: the file is %v", row.reason, at.Mode())
		}
		if _, err := os.Stat(path + ".nothing"); err == nil {
			t.Errorf("%s: a file was made where a link led to", row.reason)
		}
		if left, err := os.ReadFile(path + ".target"); err == nil && string(left) != "old" {
			t.Errorf("%s: the link's target has become %q", row.reason, left)
		}
	}
}

func write(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte("old"), mode); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}
