package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// CheckOutput returns an error if a value of -o is not among the known ones. usual describes the output without -o.
func CheckOutput(output string, known []string, usual string) error {
	if output == "" || slices.Contains(known, output) {
		return nil
	}
	last := len(known) - 1
	all := fmt.Sprintf("there are %s and %s; without -o the output is %s",
		strings.Join(known[:last], ", "), known[last], usual)
	return WithHint(UnknownError("output format", output), Suggestion(output, known, all))
}

// maxIndentedDepth bounds how deeply nested a document may be to be indented: most of a deeper one would be blanks. A
// level of an owner tree takes two.
const maxIndentedDepth = 100

// WriteDocument writes a document in the format json or yaml. One that is nested too deeply is written as JSON on one
// line, which is valid YAML too.
func WriteDocument(w io.Writer, format string, document any) error {
	text, err := json.Marshal(document)
	text = EscapeControls(text)
	if err == nil && nesting(text) <= maxIndentedDepth {
		text, err = indented(text, format)
	}
	if err != nil {
		return fmt.Errorf("writing as %s: %w", strings.ToUpper(format), err)
	}
	_, err = w.Write(append(bytes.TrimRight(text, "\n"), '\n'))
	return err
}

// indented returns a JSON text indented, or as YAML.
func indented(text []byte, format string) ([]byte, error) {
	if format == "yaml" {
		return yaml.JSONToYAML(text)
	}
	var out bytes.Buffer
	err := json.Indent(&out, text, "", "  ")
	return out.Bytes(), err
}

// nesting returns how many objects and arrays enclose the innermost values of a valid JSON text.
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

// EscapeControls escapes the characters of JSON that encoding/json leaves as they are and that YAML readers refuse or
// take for a line break: those that are not printable in YAML (https://yaml.org/spec/1.1/#nb-char), U+0085, which is,
// and the byte order mark. Terminals take some of them for the start of an escape sequence.
func EscapeControls(json []byte) []byte {
	escaped := func(r rune) bool {
		return r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff
	}
	if !bytes.ContainsFunc(json, escaped) {
		return json
	}
	var out []byte
	for _, r := range string(json) {
		if escaped(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

// WriteNames writes a line with the name of each object, as `kubectl get -o name` does.
func WriteNames[T any](w io.Writer, objects []T, name func(T) string) error {
	var text strings.Builder
	for _, o := range objects {
		text.WriteString(render.Escape(name(o)) + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}
