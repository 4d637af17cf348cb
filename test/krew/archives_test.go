package krew

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// platform is one that is released.
type platform struct{ os, arch string }

var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// archive returns the name of the platform's archive.
func (p platform) archive(version string) string {
	extension := "tar.gz"
	if p.os == "windows" {
		extension = "zip"
	}
	return fmt.Sprintf("kubectl-reconcile_%s_%s_%s.%s", version, p.os, p.arch, extension)
}

// program returns the name of the platform's program.
func (p platform) program() string {
	if p.os == "windows" {
		return "kubectl-reconcile.exe"
	}
	return "kubectl-reconcile"
}

// release is a folder with the archives of all platforms.
type release struct {
	dir, version string
	built        map[platform]bool // those that are no stand-ins
}

// built is the name of an archive that goreleaser has made.
var built = regexp.MustCompile(`^kubectl-reconcile_(v.+)_(linux|darwin|windows)_(amd64|arm64)\.(tar\.gz|zip)$`)

// makeRelease puts what was built into a folder, stand-ins for the rest, and the checksums of all.
func makeRelease(t *testing.T) release {
	t.Helper()
	r := release{dir: t.TempDir(), version: "v0.0.1-test", built: map[platform]bool{}}
	if snapshot := os.Getenv("SNAPSHOT"); snapshot != "" {
		entries, err := os.ReadDir(snapshot)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if m := built.FindStringSubmatch(e.Name()); m != nil {
				r.version, r.built[platform{m[2], m[3]}] = m[1], true
				link(t, filepath.Join(snapshot, e.Name()), filepath.Join(r.dir, e.Name()))
			}
		}
		if len(r.built) == 0 {
			t.Fatalf("%s has no archive", snapshot)
		}
	}
	var sums strings.Builder
	for _, p := range platforms {
		file := filepath.Join(r.dir, p.archive(r.version))
		if !r.built[p] {
			writeStandIn(t, file, p)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sumOf(t, file), filepath.Base(file))
	}
	write(t, filepath.Join(r.dir, "checksums.txt"), sums.String(), 0o600)
	return r
}

// serve lends the folder to programs that download the archives, and returns its URL.
func (r release) serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(r.dir)))
	t.Cleanup(server.Close)
	return server.URL
}

// writeStandIn writes an archive in which the program is a script.
func writeStandIn(t *testing.T, file string, p platform) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := []struct {
		name, content string
		mode          int64
	}{
		{"LICENSE", "the licence\n", 0o644}, {"README.md", "what it is\n", 0o644},
		{p.program(), "#!/bin/sh\necho \"$(basename \"$0\") $*\"\n", 0o755},
	}
	if p.os == "windows" {
		z := zip.NewWriter(f)
		for _, one := range files {
			if w, err := z.Create(one.name); err != nil {
				t.Fatal(err)
			} else if _, err := io.WriteString(w, one.content); err != nil {
				t.Fatal(err)
			}
		}
		closeAll(t, z)
		return
	}
	g := gzip.NewWriter(f)
	w := tar.NewWriter(g)
	for _, one := range files {
		header := &tar.Header{Name: one.name, Mode: one.mode, Size: int64(len(one.content))}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		} else if _, err := io.WriteString(w, one.content); err != nil {
			t.Fatal(err)
		}
	}
	closeAll(t, w, g)
}

func closeAll(t *testing.T, closers ...io.Closer) {
	t.Helper()
	for _, c := range closers {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func sumOf(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		t.Fatal(err)
	}
	return sum.Sum(nil)
}

func link(t *testing.T, from, to string) {
	t.Helper()
	from, err := filepath.Abs(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(from, to); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, file, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}
