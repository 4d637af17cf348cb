package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
)

// Programs that are measured, or that measure.
const (
	plugin  = "kubectl-reconcile"
	kubectl = "kubectl"
	lineage = "kube-lineage"
	timed   = "timed"
)

// build returns the files of all programs by name. A peer that cannot be built is left out.
func build(ctx context.Context, notes io.Writer) (map[string]string, error) {
	log := func(format string, args ...any) { fmt.Fprintf(notes, format+"\n", args...) }
	controlPlane, err := realcluster.Build(ctx, log)
	if err != nil {
		return nil, err
	}
	programs := map[string]string{kubectl: controlPlane.Path(kubectl)}
	if programs[plugin], err = realcluster.BuildPlugin(ctx); err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("finding the user's cache folder: %w", err)
	}
	dir := filepath.Join(cache, "kubectl-reconcile", "benchtree")
	if programs[timed], err = goBuild(ctx, ".", dir, "./timed"); err != nil {
		return nil, err
	}
	programs[lineage], err = goBuild(ctx, "../peers", dir, "github.com/tohjustin/kube-lineage/cmd/kube-lineage")
	if err != nil {
		log("%s is left out: %v", lineage, err)
		delete(programs, lineage)
	}
	return programs, nil
}

// goBuild builds a program of the module in a folder, as releases are built, and returns its file in dir.
func goBuild(ctx context.Context, module, dir, program string) (string, error) {
	file := filepath.Join(dir, filepath.Base(program))
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", file, program)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w: %s", program, err, said)
	}
	return file, nil
}

// installed copies the programs to dir, as unpacking an archive does. How much of a file is mapped around a page that
// is used, and counts as resident, depends on how it was written: the linker's way it is 20 MB more, in one piece 50
// MB.
func installed(programs map[string]string, dir string) (map[string]string, error) {
	copies := map[string]string{}
	for name, file := range programs {
		copies[name] = filepath.Join(dir, name)
		if err := unpack(file, copies[name]); err != nil {
			return nil, fmt.Errorf("copying %s: %w", name, err)
		}
	}
	return copies, nil
}

func unpack(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()                                                      //nolint:errcheck // it is only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700) //nolint:gosec // G302: it is a program
	if err != nil {
		return err
	}
	// It is copied piece by piece: the files' own ways to copy are hidden.
	_, err = io.Copy(struct{ io.Writer }{out}, struct{ io.Reader }{in})
	return errors.Join(err, out.Close())
}
