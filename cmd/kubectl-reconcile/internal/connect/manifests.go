package connect

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

// ManifestFlags are -f, -R and -k, as kubectl has them.
type ManifestFlags struct {
	flags genericclioptions.FileNameFlags
}

func NewManifestFlags(usage string) *ManifestFlags {
	return &ManifestFlags{genericclioptions.FileNameFlags{
		Usage:     usage,
		Filenames: &[]string{},
		Recursive: new(bool),
		Kustomize: new(string),
	}}
}

func (f *ManifestFlags) AddTo(flags *pflag.FlagSet) {
	f.flags.AddFlags(flags)
	flags.Lookup("recursive").Usage = "read the directories of -f with all that is below them"
	flags.Lookup("kustomize").Usage = "build this kustomization and use what comes out; not together with -f or -R"
}

// Given reports whether there is anything to read.
func (f *ManifestFlags) Given() bool {
	return len(*f.flags.Filenames) > 0 || *f.flags.Kustomize != ""
}

// Read returns the objects of all files, and beside them the errors of the files and documents that have one. "-" is
// stdin.
func (f *ManifestFlags) Read(stdin io.Reader) ([]runlocal.Manifest, error) {
	if !f.Given() {
		return nil, nil
	}
	options := f.flags.ToOptions()
	builder := resource.NewLocalBuilder().Unstructured().ContinueOnError()
	var errs []error
	found := options.Kustomize != ""
	options.Filenames = slices.DeleteFunc(slices.Clone(options.Filenames), func(name string) bool {
		if name == "-" {
			builder.Stream(stdin, "stdin")
			found = true
			return true
		}
		err := readable(name)
		errs = append(errs, err)
		found = found || err == nil
		return err != nil
	})
	if !found {
		return nil, errors.Join(errs...)
	}
	manifests, err := visit(builder.FilenameParam(false, &options))
	if err := errors.Join(append(errs, err)...); err != nil {
		return manifests, err
	}
	if len(manifests) == 0 {
		return nil, errors.New("the files given hold no objects")
	}
	return manifests, nil
}

// readable says in few words why a file cannot be read, where the builder would say it in many. Names that are not
// paths are for the builder to judge.
func readable(name string) error {
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") || strings.ContainsAny(name, "*?[") {
		return nil
	}
	_, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: no such file or directory", name)
	}
	return err
}

// visit reads everything that can be read; what can not is in the error.
func visit(builder *resource.Builder) ([]runlocal.Manifest, error) {
	var manifests []runlocal.Manifest
	var errs []error
	err := builder.Flatten().Do().Visit(func(info *resource.Info, err error) error {
		if err != nil {
			errs = append(errs, err)
			return nil // the others are read all the same
		}
		obj, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			errs = append(errs, fmt.Errorf("%s: not an object but a %T", info.Source, info.Object))
			return nil
		}
		manifests = append(manifests, runlocal.Manifest{Source: info.Source, Object: obj})
		return nil
	})
	return manifests, errors.Join(append(errs, err)...)
}
