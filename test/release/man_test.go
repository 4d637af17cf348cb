package release

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// manPages returns the sorted names of the man pages in a folder: one for each command that docs/reference has.
func manPages(t *testing.T, folder string) []string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/reference/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("docs/reference has %d pages: %v", len(pages), err)
	}
	var out []string
	for _, p := range pages {
		name := "-" + strings.TrimSuffix(filepath.Base(p), ".md")
		if name == "-README" {
			name = ""
		}
		out = append(out, folder+"kubectl-reconcile"+name+".1")
	}
	slices.Sort(out)
	return out
}

// readManPages checks the date of the man pages of an archive, and has man read them if it is installed.
func readManPages(t *testing.T, archive string, files map[string]packed) {
	t.Helper()
	man, err := exec.LookPath("man")
	if err != nil {
		t.Logf("man is not installed: the pages of %s are not read by it", archive)
	}
	for name, f := range files {
		if !strings.HasPrefix(name, "man/") {
			continue
		}
		if day, _, _ := strings.Cut(f.time, " "); !bytes.Contains(f.content, []byte(`"`+day+`"`)) {
			t.Errorf("%s: %s has not the date of the commit, %s: %.100q", archive, name, day, f.content)
		}
		if man == "" {
			continue
		}
		page := filepath.Join(t.TempDir(), filepath.Base(name))
		if err := os.WriteFile(page, f.content, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), man, "--warnings", "-E", "UTF-8", "-l", page)
		cmd.Env = append(os.Environ(), "MANWIDTH=80", "PAGER=cat", "MANPAGER=cat", "LC_ALL=C.UTF-8")
		var shown, problems bytes.Buffer
		cmd.Stdout, cmd.Stderr = &shown, &problems
		if err := cmd.Run(); err != nil || problems.Len() > 0 {
			t.Errorf("%s: man -l %s: %v\n%s", archive, name, err, &problems)
		}
		title := strings.TrimSuffix(filepath.Base(name), ".1")
		if text := shown.String(); !strings.Contains(text, title+" - ") || !strings.Contains(text, "SEE ALSO") {
			t.Errorf("%s: man -l %s shows\n%s", archive, name, text)
		}
	}
}

// checkPackage checks what a package of Debian has beside the program, if dpkg-deb is installed.
func checkPackage(t *testing.T, path string) {
	t.Helper()
	dpkg, err := exec.LookPath("dpkg-deb")
	if err != nil {
		t.Logf("dpkg-deb is not installed: %s is not read", path)
		return
	}
	out, err := exec.CommandContext(t.Context(), dpkg, "--fsys-tarfile", path).Output()
	if err != nil {
		t.Fatalf("dpkg-deb --fsys-tarfile %s: %v", path, err)
	}
	const folder = "usr/share/man/man1/"
	var got []string
	readTar(t, bytes.NewReader(out), func(name string, _ os.FileInfo, _ io.Reader) {
		if name = strings.TrimPrefix(name, "./"); strings.HasPrefix(name, folder) {
			got = append(got, name)
		}
	})
	slices.Sort(got)
	if diff := cmp.Diff(manPages(t, folder), got); diff != "" {
		t.Errorf("man pages of %s (-want +got):\n%s", path, diff)
	}
}
