package connect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

// ManifestFlags are -f, -R and -k, as kubectl has them.
type ManifestFlags struct {
	flags genericclioptions.FileNameFlags
}

// NewManifestFlags returns ManifestFlags without files. usage describes -f.
func NewManifestFlags(usage string) *ManifestFlags {
	return &ManifestFlags{genericclioptions.FileNameFlags{
		Usage:     usage,
		Filenames: &[]string{},
		Recursive: new(bool),
		Kustomize: new(string),
	}}
}

// AddTo adds the flags to a set.
func (f *ManifestFlags) AddTo(flags *pflag.FlagSet) {
	f.flags.AddFlags(flags)
	cli.RefuseEmpty(flags, "filename", "kustomize")
	flags.Lookup("recursive").Usage = "read the directories of -f with all that is below them"
	_ = flags.SetAnnotation("kustomize", cobra.BashCompSubdirsInDir, []string{}) // it is there
	flags.Lookup("kustomize").Usage = "build this kustomization and use what comes out; not together with -f or -R"
}

// ReadFiles returns the objects of files, directories and URLs as Read does; the file "-" is stdin.
func ReadFiles(stdin io.Reader, names []string) ([]runlocal.Manifest, error) {
	f := NewManifestFlags("")
	f.flags.Filenames = &names
	return f.Read(stdin)
}

// Given reports whether any of -f and -k was given.
func (f *ManifestFlags) Given() bool {
	return len(*f.flags.Filenames) > 0 || *f.flags.Kustomize != ""
}

// Read returns the objects of all files that can be read, with an error that joins those of the files and documents
// that cannot. The file "-" is stdin.
func (f *ManifestFlags) Read(stdin io.Reader) ([]runlocal.Manifest, error) {
	if !f.Given() {
		return nil, nil
	}
	options := f.flags.ToOptions()
	builder := resource.NewLocalBuilder().Unstructured()
	var errs []error
	var piped bytes.Buffer
	found := options.Kustomize != ""
	options.Filenames = slices.DeleteFunc(slices.Clone(options.Filenames), func(name string) bool {
		if name == "-" {
			builder.Stream(io.TeeReader(stdin, &piped), stdinSource)
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
	manifests, err := runlocal.ReadManifests(builder.FilenameParam(false, &options), func(source string) []byte {
		if source == stdinSource {
			return piped.Bytes()
		}
		content, _ := os.ReadFile(source) //nolint:gosec // G304: the user names the file
		return content                    // nil for what is no file, such as a URL
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return manifests, err
	}
	if len(manifests) == 0 {
		return nil, errors.New("the files given hold no objects")
	}
	return manifests, nil
}

// readable returns a short error if a file cannot be read, where that of the resource builder would be long. URLs and
// patterns are left to the builder.
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

// stdinSource is the source of what is read from stdin.
const stdinSource = "stdin"
