package runlocal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"
)

// Manifest is an object to be applied, and where it was read.
type Manifest struct {
	// Source is a file, a URL or "stdin".
	Source string
	Object *unstructured.Unstructured
}

// String names the manifest by its source and object: "web.yaml: deployment.apps/web".
func (m Manifest) String() string {
	return m.Source + ": " + objectText(m.Object.GroupVersionKind(), m.Object.GetName())
}

// ParseManifests returns the objects of YAML documents or of JSON, in their order; those of a List one by one. Their
// Source, and that of errors, is the name of r if that has one, as an *os.File has, and else "manifests". The error
// joins one for each document that is no object, with its line; the others are returned all the same. That there are
// none is no error.
func ParseManifests(r io.Reader) ([]Manifest, error) {
	source := "manifests"
	if named, ok := r.(interface{ Name() string }); ok {
		source = named.Name()
	}
	var content bytes.Buffer
	builder := resource.NewLocalBuilder().Unstructured().Stream(io.TeeReader(r, &content), source)
	return ReadManifests(builder, func(string) []byte { return content.Bytes() })
}

// ReadManifests is ParseManifests for what a builder reads that is local and unstructured, such as files, directories
// and URLs. content returns what was read of a source, for errors to name lines; nil if that is not known.
func ReadManifests(builder *resource.Builder, content func(source string) []byte) ([]Manifest, error) {
	var manifests []Manifest
	var errs []error
	err := builder.ContinueOnError().Flatten().Do().Visit(func(info *resource.Info, err error) error {
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
		errs = append(errs, utilerrors.Flatten(utilerrors.NewAggregate([]error{err})).Errors()...)
	}
	for i := range errs {
		errs[i] = noManifest(errs[i], content)
	}
	return manifests, errors.Join(errs...)
}

// noManifest returns the error of a document that cannot be decoded as one that names its file and line, and does not
// have its content: what was no manifest may be a file of passwords. It returns other errors as they are.
func noManifest(err error, content func(source string) []byte) error {
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
	if missing, document, found := strings.Cut(reason, " is missing in '"); found {
		reason = strings.ToLower(strings.Trim(strings.TrimPrefix(missing, "Object "), "'")) + " is missing"
		line = lineOf(content(source), strings.TrimSuffix(document, "'"))
	} else if strings.Contains(reason, "cannot unmarshal") {
		reason = "it is no object"
	}
	if line > 0 {
		source = fmt.Sprintf("%s: line %d", source, line)
	}
	return fmt.Errorf("%s: a manifest with apiVersion, kind and metadata is expected: %s", source, reason)
}

// lineOf returns the line at which a document, as JSON, begins in what it was read from; 0 if it is not found there.
func lineOf(content []byte, document string) int {
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
