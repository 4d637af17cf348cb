package recordfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
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

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	first, err := Create(path, false, "force")
	if err != nil {
		t.Fatal(err)
	}
	if lock(first) {
		t.Fatal("its own lock is that of another")
	}
	if _, err := Create(path, true, "force"); runtime.GOOS != "windows" && (err == nil || !strings.Contains(err.Error(), "another recorder")) {
		t.Errorf("a file that is being written is replaced: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Create(path, true, "force")
	if err != nil {
		t.Fatalf("a file that is complete is not replaced: %v", err)
	}
	second.Close()
}

func TestCheckPath(t *testing.T) {
	for _, row := range []struct {
		reason string
		do     func(path string) error
		want   string
	}{
		{"it is there", func(string) error { return nil }, ""},
		{"it has another name", func(path string) error { return os.Rename(path, path+".1") }, "was removed"},
		{"it was removed", os.Remove, "was removed"},
		{"there is another", func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600))
		}, "was replaced"},
		{"there is a link to it", func(path string) error {
			return errors.Join(os.Rename(path, path+".1"), os.Symlink(path+".1", path))
		}, "was replaced"},
	} {
		path := filepath.Join(t.TempDir(), "x")
		file, err := Create(path, false, "force")
		if err == nil {
			err = row.do(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		err = CheckPath(path, file)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: got %v", row.reason, err)
		}
		file.Close()
	}
}
