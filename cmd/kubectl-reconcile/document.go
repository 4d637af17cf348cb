package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// knownOutput refuses a value of -o that is not among the known ones; usual is what comes without -o.
func knownOutput(output string, known []string, usual string) error {
	if output == "" || slices.Contains(known, output) {
		return nil
	}
	last := len(known) - 1
	all := fmt.Sprintf("there are %s and %s; without -o the output is %s", strings.Join(known[:last], ", "), known[last], usual)
	return withHint(unknownError("output format", output), suggestion(output, known, all))
}

// mostIndented is how deeply nested a document may be to be indented: beyond, most of it would be blanks. Two levels
// are one of a tree.
const mostIndented = 100

// writeDocument writes a document in the format json or yaml. One that is nested too deeply is written as JSON on one
// line, which is YAML, too.
func writeDocument(w io.Writer, format string, document any) error {
	text, err := json.Marshal(document)
	if err == nil && nesting(text) <= mostIndented {
		text, err = indented(text, format)
	}
	if err != nil {
		return fmt.Errorf("writing as %s: %w", strings.ToUpper(format), err)
	}
	_, err = w.Write(append(bytes.TrimRight(text, "\n"), '\n'))
	return err
}

func indented(text []byte, format string) ([]byte, error) {
	if format == "yaml" {
		return yaml.JSONToYAML(text)
	}
	var out bytes.Buffer
	err := json.Indent(&out, text, "", "  ")
	return out.Bytes(), err
}

// nesting is how many objects and arrays of a valid JSON text are around its innermost values.
func nesting(text []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// writeNames writes what each object is called, as `kubectl get -o name` does.
func writeNames[T any](w io.Writer, objects []T, name func(T) string) error {
	var text strings.Builder
	for _, o := range objects {
		text.WriteString(render.Escape(name(o)) + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}
