package realcluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Programs are those of a control plane, in one folder, with the stages of kwok.
type Programs struct {
	dir string
	// provisioner is the file of the simulated provisioner; empty unless Start has built it.
	provisioner string
}

// Path is the file of a program: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl or kwok.
func (p Programs) Path(name string) string { return filepath.Join(p.dir, name) }

// kwokStages is the folder of kwok's own stages.
func (p Programs) kwokStages() string { return filepath.Join(p.dir, "stages") }

// target is what one call of go build makes.
type target struct {
	output   string // a folder if it ends in a slash
	packages []string
	ldflags  string
}

// targets are the programs. etcd's main package is named for its version, so its file must be named.
func targets(kubernetes string) []target {
	const commands = "k8s.io/kubernetes/cmd/"
	return []target{
		{output: "./", ldflags: versionFlags(kubernetes), packages: []string{
			commands + "kube-apiserver", commands + "kube-controller-manager",
			commands + "kube-scheduler", commands + "kubectl",
		}},
		{output: "etcd", packages: []string{"go.etcd.io/etcd/server/v3"}},
		{output: "kwok", packages: []string{"sigs.k8s.io/kwok/cmd/kwok"}},
	}
}

// versionFlags make Kubernetes' programs say which version they are: a module build does not know, and clients warn of
// the skew, or refuse to work.
func versionFlags(version string) string {
	const variable = " -X k8s.io/component-base/version."
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return variable + "gitVersion=" + version + variable + "gitMajor=" + parts[0] + variable + "gitMinor=" + parts[1]
}

// Build returns the programs, which it builds if they are not there: once for each version of this module's
// dependencies and of Go, into the user's cache folder. That takes a quarter of an hour with cold caches, so it says
// what it does by log, which may be nil. Any number of processes may call it at a time.
func Build(ctx context.Context, log func(format string, args ...any)) (Programs, error) {
	module, err := moduleRoot(ctx)
	if err != nil {
		return Programs{}, err
	}
	dir, err := cacheFolder(module)
	if err != nil {
		return Programs{}, err
	}
	if isFolder(dir) {
		return Programs{dir: dir}, nil
	}
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return Programs{}, err
	}
	defer unlock()
	if isFolder(dir) { // another process has built it meanwhile
		return Programs{dir: dir}, nil
	}
	if log != nil {
		log("building a control plane into %s, once: with cold caches this takes a quarter of an hour", dir)
	}
	return Programs{dir: dir}, buildInto(ctx, module, dir)
}

// buildInto leaves nothing, or all of it.
func buildInto(ctx context.Context, module, dir string) error {
	unfinished := dir + ".unfinished" // by the holder of the lock only
	if err := errors.Join(os.RemoveAll(unfinished), os.MkdirAll(unfinished, 0o750)); err != nil {
		return fmt.Errorf("making room for the programs: %w", err)
	}
	kubernetes, err := output(ctx, module, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return err
	}
	for _, t := range targets(kubernetes) {
		args := []string{"build", "-ldflags", "-s -w" + t.ldflags, "-o", unfinished + "/" + t.output}
		if _, err := output(ctx, module, "go", append(args, t.packages...)...); err != nil {
			return err
		}
	}
	kwok, err := output(ctx, module, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
	if err != nil {
		return err
	}
	stages := os.DirFS(filepath.Join(kwok, "kustomize", "stage"))
	if err := os.CopyFS(filepath.Join(unfinished, "stages"), stages); err != nil {
		return fmt.Errorf("copying the stages of kwok: %w", err)
	}
	if err := os.Rename(unfinished, dir); err != nil {
		return fmt.Errorf("keeping the programs: %w", err)
	}
	return nil
}

// moduleRoot is the folder of this module, in which the caller must run.
func moduleRoot(ctx context.Context) (string, error) {
	file, err := output(ctx, "", "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	return filepath.Dir(file), nil
}

// moduleVersion is a module and its version, as go.mod names what it requires.
var moduleVersion = regexp.MustCompile(`[a-z0-9.-]+\.[a-z]+/\S+ v\d\S+`)

// cacheFolder is where the programs belong: named for the version of Kubernetes and all else that they are built from.
func cacheFolder(module string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the user's cache folder: %w", err)
	}
	mod, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("reading the versions of the programs: %w", err)
	}
	versions := moduleVersion.FindAllString(string(mod), -1)
	at := slices.IndexFunc(versions, func(v string) bool { return strings.HasPrefix(v, "k8s.io/kubernetes ") })
	if at < 0 {
		return "", fmt.Errorf("%s/go.mod does not require k8s.io/kubernetes", module)
	}
	_, kubernetes, _ := strings.Cut(versions[at], " ")
	slices.Sort(versions)
	sum := sha256.Sum256([]byte(strings.Join(append(versions, runtime.Version(), runtime.GOOS, runtime.GOARCH), "\n")))
	name := kubernetes + "-" + hex.EncodeToString(sum[:6])
	parent := filepath.Join(cache, "kubectl-reconcile", "realcluster")
	if err := os.MkdirAll(parent, 0o750); err != nil {
		return "", fmt.Errorf("making the cache folder: %w", err)
	}
	return filepath.Join(parent, name), nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// output runs a program and returns what it prints, without blanks around it. What it says of a failure is in the
// error.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("running %s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
