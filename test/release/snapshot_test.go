package release

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Of the archive and of the program for linux/amd64, in bytes.
const (
	mostOfArchive = 32_000_000
	mostOfProgram = 109_900_000
)

// archiveName is the name of an archive: version, platform and format.
var archiveName = regexp.MustCompile(`^kubectl-reconcile_(v.+)_((?:linux|darwin|windows)_(?:amd64|arm64))\.(tar\.gz|zip)$`)

// packed is a file in an archive.
type packed struct {
	mode    os.FileMode
	time    string
	content []byte
}

// TestSnapshot unpacks the archives that SNAPSHOT has, and runs the program of this platform.
func TestSnapshot(t *testing.T) {
	dir := os.Getenv("SNAPSHOT")
	if dir == "" {
		t.Skip("SNAPSHOT names no folder with a build: `make test-snapshot` makes one")
	}
	sums := readSums(t, filepath.Join(dir, "checksums.txt"))
	ran := false
	for name, sum := range sums {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != sum {
			t.Errorf("%s has the checksum %s, but checksums.txt has %s", name, got, sum)
		}
		if strings.HasSuffix(name, ".deb") {
			checkPackage(t, filepath.Join(dir, name))
		}
		m := archiveName.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		version, platform := m[1], m[2]
		files := unpack(t, content, m[3])
		program := checkFiles(t, name, files, platform)
		readManPages(t, name, files)
		if platform == "linux_amd64" && (len(content) > mostOfArchive || len(program) > mostOfProgram) {
			t.Errorf("the archive has %d bytes, of at most %d, and the program %d, of at most %d",
				len(content), mostOfArchive, len(program), mostOfProgram)
		}
		if platform == runtime.GOOS+"_"+runtime.GOARCH {
			runProgram(t, program, version)
			ran = true
		}
	}
	if !ran {
		t.Errorf("%s has no archive for %s/%s", dir, runtime.GOOS, runtime.GOARCH)
	}
}

// checkFiles checks the files of an archive, and returns the program.
func checkFiles(t *testing.T, archive string, files map[string]packed, platform string) []byte {
	t.Helper()
	program := "kubectl-reconcile"
	if strings.HasPrefix(platform, "windows_") {
		program += ".exe"
	}
	var names []string
	for name, f := range files {
		names = append(names, name)
		want := os.FileMode(0o644)
		if name == program {
			want = 0o755
		}
		if f.mode.Perm() != want {
			t.Errorf("%s: %s has the mode %v, want %v", archive, name, f.mode.Perm(), want)
		}
		if f.time != files[program].time {
			t.Errorf("%s: %s is of %s, the program of %s: all are of the commit's time", archive, name, f.time, files[program].time)
		}
	}
	slices.Sort(names)
	want := append(manPages(t, "man/"), "LICENSE", "README.md", program)
	slices.Sort(want)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files of %s (-want +got):\n%s", archive, diff)
	}
	return files[program].content
}

// runProgram runs what was unpacked under both names of the plugin.
func runProgram(t *testing.T, program []byte, version string) {
	t.Helper()
	dir := t.TempDir()
	file, other := filepath.Join(dir, "kubectl-reconcile"), filepath.Join(dir, "kubectl-debug_controllers")
	if err := os.WriteFile(file, program, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, other); err != nil {
		t.Fatal(err)
	}
	var info struct{ Version, Commit, Platform string }
	if err := json.Unmarshal([]byte(output(t, file, "version", "-o", "json")), &info); err != nil {
		t.Fatal(err)
	}
	if info.Version != version || len(info.Commit) != 40 || info.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("the program is of %+v, want version %s and the commit", info, version)
	}
	if help := output(t, other, "--help"); !strings.Contains(help, "kubectl debug-controllers [command]") {
		t.Errorf("the help does not show the name that the program runs under:\n%s", help)
	}
	out := output(t, file, "run", "--sandbox", "--controller", "deployment,replicaset", "-f", "../../examples/web.yaml")
	if !strings.Contains(out, "deployment.apps/web 3/3") {
		t.Errorf("the example does not become ready:\n%s", out)
	}
}

// unpackBlock is a block of docs/install.md that TestInstallPage runs.
var unpackBlock = regexp.MustCompile("(?s)<!-- not run: needs an archive, which test/release unpacks so -->\n```sh\n(.*?)```")

// TestInstallPage runs the blocks of docs/install.md that unpack an archive, for a user who has nothing at home yet.
func TestInstallPage(t *testing.T) {
	dir := os.Getenv("SNAPSHOT")
	if dir == "" {
		t.Skip("SNAPSHOT names no folder with a build: `make test-snapshot` makes one")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the page unpacks the archive for linux/amd64")
	}
	archives, err := filepath.Glob(filepath.Join(dir, "kubectl-reconcile_*_linux_amd64.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(archives) != 1 {
		t.Fatalf("%s has the archives %q, want one for linux/amd64", dir, archives)
	}
	version := archiveName.FindStringSubmatch(filepath.Base(archives[0]))[1]
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := unpackBlock.FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 2 {
		t.Fatalf("docs/install.md has %d such blocks, want those of the program and of the man pages", len(blocks))
	}
	home, downloads := t.TempDir(), t.TempDir()
	for _, name := range []string{archives[0], filepath.Join(dir, "checksums.txt")} {
		if err := os.Symlink(name, filepath.Join(downloads, filepath.Base(name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, block := range blocks {
		cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", strings.ReplaceAll(block[1], "VERSION", version))
		cmd.Dir, cmd.Env = downloads, append(os.Environ(), "HOME="+home)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s%v\n%s", block[1], err, out)
		}
	}
	if out := output(t, filepath.Join(home, ".local/bin/kubectl-reconcile"), "version"); !strings.Contains(out, version) {
		t.Errorf("the program in ~/.local/bin is not of version %s:\n%s", version, out)
	}
	installed, err := filepath.Glob(filepath.Join(home, ".local/share/man/man1/*"))
	if err != nil {
		t.Fatal(err)
	}
	if pages := manPages(t, ""); len(installed) != len(pages) {
		t.Errorf("~/.local/share/man has %d pages, want %d", len(installed), len(pages))
	}
}

func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// readSums reads checksums by the names of files.
func readSums(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sums := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		sums[name] = sum
	}
	return sums
}

func unpack(t *testing.T, content []byte, format string) map[string]packed {
	t.Helper()
	files := map[string]packed{}
	add := func(name string, info os.FileInfo, r io.Reader) {
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = packed{info.Mode(), info.ModTime().UTC().String(), data}
	}
	if format == "zip" {
		z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			add(f.Name, f.FileInfo(), r)
		}
		return files
	}
	g, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	readTar(t, g, add)
	return files
}

// readTar calls add with each file of an archive; folders and links are left out.
func readTar(t *testing.T, from io.Reader, add func(name string, info os.FileInfo, r io.Reader)) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			add(header.Name, header.FileInfo(), r)
		}
	}
}
