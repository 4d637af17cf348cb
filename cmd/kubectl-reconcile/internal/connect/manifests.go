package connect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
)

// Manifest is an object that a command line names by a file.
type Manifest struct {
	// Source is a file, a URL or "stdin".
	Source string
	Object *unstructured.Unstructured
}

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
func ReadFiles(stdin io.Reader, names []string) ([]Manifest, error) {
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
func (f *ManifestFlags) Read(stdin io.Reader) ([]Manifest, error) {
	if !f.Given() {
		return nil, nil
	}
	options := f.flags.ToOptions()
	builder := resource.NewLocalBuilder().Unstructured().ContinueOnError()
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
	manifests, err := collect(builder.FilenameParam(false, &options), &piped)
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

// collect returns the objects that can be read, with an error that joins those of the others. piped has what was read
// from stdin.
func collect(builder *resource.Builder, piped *bytes.Buffer) ([]Manifest, error) {
	var manifests []Manifest
	var errs []error
	err := builder.Flatten().Do().Visit(func(info *resource.Info, err error) error {
		if err != nil {
			errs = append(errs, err)
			return nil // continue with the others
		}
		obj, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			errs = append(errs, fmt.Errorf("%s: not an object but a %T", info.Source, info.Object))
			return nil
		}
		manifests = append(manifests, Manifest{Source: info.Source, Object: obj})
		return nil
	})
	if err != nil {
		errs = append(errs, cli.FlattenErrors(err)...)
	}
	for i := range errs {
		errs[i] = noManifest(errs[i], piped)
	}
	return manifests, errors.Join(errs...)
}

// noManifest returns the error of a document that cannot be decoded as one that names its file and line, and does not
// have its content: what was no manifest may be a file of passwords. It returns other errors as they are.
func noManifest(err error, piped *bytes.Buffer) error {
	rest, ok := strings.CutPrefix(err.Error(), "unable to decode ") // infoForData of k8s.io/cli-runtime/pkg/resource
	quoted, unquotable := strconv.QuotedPrefix(rest)
	if !ok || unquotable != nil {
		return err
	}
	source, unquotable := strconv.Unquote(quoted)
	if unquotable != nil {
		return err
	}
	reason := strings.TrimPrefix(strings.TrimPrefix(rest, quoted), ": ")
	line := 0
	if missing, content, found := strings.Cut(reason, " is missing in '"); found {
		reason = strings.ToLower(strings.Trim(strings.TrimPrefix(missing, "Object "), "'")) + " is missing"
		line = lineOf(source, piped, strings.TrimSuffix(content, "'"))
	} else if strings.Contains(reason, "cannot unmarshal") {
		reason = "it is no object"
	}
	if line > 0 {
		source = fmt.Sprintf("%s: line %d", source, line)
	}
	return fmt.Errorf("%s: a manifest with apiVersion, kind and metadata is expected: %s", source, reason)
}

// lineOf returns the line at which a document, as JSON, begins in a file or in what was read from stdin; 0 if it is not
// found there.
func lineOf(source string, piped *bytes.Buffer, document string) int {
	content := piped.Bytes()
	if source != stdinSource {
		var err error
		if content, err = os.ReadFile(source); err != nil { //nolint:gosec // G304: the user names the file
			return 0 // such as a URL
		}
	}
	lines := strings.SplitAfter(string(content), "\n")
	for from := 0; from < len(lines); {
		end := from
		for end < len(lines) && (end == from || !strings.HasPrefix(lines[end], "---")) {
			end++
		}
		text := strings.TrimPrefix(strings.Join(lines[from:end], ""), "---")
		data, err := yaml.YAMLToJSON([]byte(text))
		if err == nil && string(data) == document || strings.TrimSpace(text) == document {
			for from < end-1 && !isContent(lines[from]) {
				from++
			}
			return from + 1
		}
		from = end
	}
	return 0
}

// isContent reports whether a line of YAML has more than a separator or a comment.
func isContent(line string) bool {
	line = strings.TrimSpace(strings.TrimPrefix(line, "---"))
	return line != "" && !strings.HasPrefix(line, "#")
}
