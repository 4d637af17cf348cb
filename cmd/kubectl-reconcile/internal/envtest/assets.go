package envtest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

const assetsExample = `  # Run the tests of a kubebuilder project without downloading binaries
  KUBEBUILDER_ASSETS=$(kubectl reconcile envtest-assets) go test ./...

  # The same with garbage collection, namespaces that go away, and Deployments that become ready
  export KUBECTL_RECONCILE_CONTROLLERS='*' KUBECTL_RECONCILE_NODES=3
  KUBEBUILDER_ASSETS=$(kubectl reconcile envtest-assets) go test ./...`

// marker is a file in a folder that envtest-assets has made.
const marker = ".kubectl-reconcile"

const markerText = "This folder was made by `kubectl reconcile envtest-assets`, for KUBEBUILDER_ASSETS. " +
	"It may be deleted.\n"

// assetsFlags are the flags of `envtest-assets`.
type assetsFlags struct{ dir string }

// NewCommand returns the command `envtest-assets`.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	f := &assetsFlags{}
	cmd := &cobra.Command{
		Use:   "envtest-assets [--dir DIR]",
		Short: "Make a folder for KUBEBUILDER_ASSETS: an envtest that has controllers",
		Long: `Make a folder for KUBEBUILDER_ASSETS, and print its path. It has kube-apiserver, etcd and kubectl:
links to this program, which answers under these names, so that envtest starts an API server in
memory. kubectl is a link to that on PATH.

The API server is alone, as envtest's is, unless the environment of the tests has
  KUBECTL_RECONCILE_CONTROLLERS  controllers to run, as --controller of sandbox: '*' is all
  KUBECTL_RECONCILE_NODES        how many nodes to simulate, on which pods become ready
  KUBECTL_RECONCILE_TRACE        a file for the trace of the controllers; %p is the process`,
		Example: assetsExample,
		Args:    cli.NoArguments,
		RunE:    cli.RunE(streams, f.toOptions),
	}
	cmd.Flags().StringVar(&f.dir, "dir", "", "folder to make; by default one in your cache folder")
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

// assetsOptions are what the folder is made of.
type assetsOptions struct {
	dir     string // absolute
	inCache bool   // dir is the default
	program string // to link to
	kubectl string // that on PATH; empty if there is none
	streams genericiooptions.IOStreams
}

func (f *assetsFlags) toOptions(streams genericiooptions.IOStreams, _ []string) (*assetsOptions, error) {
	if _, err := readAdditions(os.Getenv); err != nil {
		return nil, err // tests would show no more than that the API server does not start
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	o := &assetsOptions{dir: f.dir, program: stablePath(self, os.Args[0]), streams: streams}
	o.kubectl = findKubectl(os.Getenv("PATH"), self)
	if o.inCache = o.dir == ""; o.inCache {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, cli.WithHint(fmt.Errorf("finding your cache folder: %w", err), "--dir DIR makes another folder")
		}
		o.dir = filepath.Join(cache, "kubectl-reconcile", "envtest", folderName(o.program))
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return nil, fmt.Errorf("naming the folder: %w", err)
	}
	return o, nil
}

// folderName names a folder for a program, so that programs of several versions do not replace the links of each other.
func folderName(program string) string {
	sum := fnv.New32a()
	_, _ = io.WriteString(sum, program)
	return fmt.Sprintf("%s-%08x", strings.TrimPrefix(api.KubernetesVersion(), "v"), sum.Sum32())
}

// stablePath returns the path by which this program was found on PATH, if it is a link to it: krew replaces what the
// link leads to when it upgrades a plugin.
func stablePath(self, argv0 string) string {
	found, err := exec.LookPath(argv0)
	if err != nil || !sameFile(found, self) {
		return self
	}
	if found, err = filepath.Abs(found); err != nil {
		return self
	}
	return found
}

// sameFile reports whether two paths lead to the same file.
func sameFile(a, b string) bool {
	one, err := os.Stat(a) //nolint:gosec // G703: paths of this program and of PATH
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// findKubectl returns the first kubectl of a PATH that is not a link to this program; empty if there is none.
func findKubectl(path, self string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found, err := exec.LookPath(filepath.Join(dir, kubectlName))
		if err == nil && !sameFile(found, self) {
			return found
		}
	}
	return ""
}

// Run makes the folder, or mends it, and prints its path.
func (o *assetsOptions) Run(context.Context) error {
	if err := o.make(); err != nil {
		return cli.WithHint(err, "--dir DIR makes another folder")
	}
	if o.inCache {
		prune(filepath.Dir(o.dir), o.dir)
	}
	if _, err := fmt.Fprintln(o.streams.Out, o.dir); err != nil {
		return err
	}
	if render.IsTerminal(o.streams.Out) {
		cli.PrintHint(o.streams.ErrOut, "KUBEBUILDER_ASSETS=$(kubectl reconcile envtest-assets) go test ./... uses it")
	}
	return nil
}

// make makes the folder. What is right already is not written again, so that it may be read-only.
func (o *assetsOptions) make() error {
	kubectl := o.kubectl
	if kubectl == "" {
		kubectl = o.program
	}
	links := []struct{ name, target string }{{apiServerName, o.program}, {etcdName, o.program}, {kubectlName, kubectl}}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	if _, err := os.Lstat(filepath.Join(o.dir, marker)); errors.Is(err, fs.ErrNotExist) {
		for _, l := range links {
			path := filepath.Join(o.dir, fileName(l.name))
			if _, err := os.Lstat(path); err == nil {
				return fmt.Errorf("not replacing %s, which `envtest-assets` has not made", path)
			}
		}
		if err := os.WriteFile(filepath.Join(o.dir, marker), []byte(markerText), 0o600); err != nil {
			return fmt.Errorf("making the folder: %w", err)
		}
	}
	for _, l := range links {
		if err := link(l.target, filepath.Join(o.dir, fileName(l.name))); err != nil {
			return fmt.Errorf("linking %s: %w", l.name, err)
		}
	}
	return nil
}

// fileName returns the name of a program's file.
func fileName(program string) string {
	if runtime.GOOS == "windows" {
		return program + ".exe"
	}
	return program
}

// link makes path a link to target in one step: a process that starts it meanwhile finds the old or the new one.
func link(target, path string) error {
	hard := runtime.GOOS == "windows" // symbolic links need a privilege there
	if have, _ := os.Readlink(path); have == target || hard && sameFile(path, target) {
		return nil
	}
	temporary := path + "." + strconv.Itoa(os.Getpid()) + ".tmp"
	create := os.Symlink
	if hard {
		create = os.Link
	}
	if err := create(target, temporary); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return nil
}

// prune removes folders of programs that do not exist any more. It is no error if that fails.
func prune(parent, except string) {
	folders, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, f := range folders {
		dir := filepath.Join(parent, f.Name())
		if _, err := os.Lstat(filepath.Join(dir, marker)); err != nil || dir == except {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, fileName(apiServerName))); errors.Is(err, fs.ErrNotExist) {
			_ = os.RemoveAll(dir)
		}
	}
}
