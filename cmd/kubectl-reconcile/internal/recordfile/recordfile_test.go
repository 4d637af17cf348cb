package recordfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCreate(t *testing.T) {
	for _, row := range []struct {
		reason string
		before func(path string) error
		force  bool
		fails  string
	}{
		{"there is nothing", nil, false, ""},
		{"a file", func(path string) error { return os.WriteFile(path, []byte("old"), 0o644) }, false, "exists already"},
		{"a file that all may read, with --force", func(path string) error { return os.WriteFile(path, []byte("old"), 0o644) }, true, ""},
		{"a link to nothing", func(path string) error { return os.Symlink(path+".target", path) }, false, "exists already"},
		{"a link to a file, with --force", func(path string) error {
			return errors.Join(os.WriteFile(path+".target", []byte("old"), 0o644), os.Symlink(path+".target", path))
		}, true, ""},
		{"a folder, with --force", func(path string) error { return os.Mkdir(path, 0o700) }, true, "is a directory"},
	} {
		path := filepath.Join(t.TempDir(), "x")
		if row.before != nil {
			if err := row.before(path); err != nil {
				t.Fatal(err)
			}
		}
		file, err := Create(path, row.force, "force")
		if row.fails != "" {
			if err == nil || !strings.Contains(err.Error(), row.fails) {
				t.Errorf("%s: got %v", row.reason, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.reason, err)
			continue
		}
		file.Close()
		if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 || info.Size() != 0 {
			t.Errorf("%s: the file is %v, %v", row.reason, info, err)
		}
		if old, err := os.ReadFile(path + ".target"); err == nil && string(old) != "old" {
			t.Errorf("%s: what the link leads to is %q", row.reason, old)
		}
	}
}
