package main

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

// knownOutput refuses a value of -o that is not among the known ones; usual is what comes without -o.
func knownOutput(output string, known []string, usual string) error {
	if output == "" || slices.Contains(known, output) {
		return nil
	}
	last := len(known) - 1
	all := fmt.Sprintf("there are %s and %s; without -o the output is %s", strings.Join(known[:last], ", "), known[last], usual)
	return withHint(unknownError("output format", output), suggestion(output, known, all))
}

// writeDocument writes a document in the format json or yaml.
func writeDocument(w io.Writer, format string, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	text = append(escapeControls(text), '\n')
	if format == "yaml" && err == nil {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return fmt.Errorf("writing as %s: %w", strings.ToUpper(format), err)
	}
	_, err = w.Write(text)
	return err
}

// escapeControls escapes the characters of JSON that encoding/json leaves as they are and that YAML readers refuse or
// take for a line break: those that YAML does not call printable (https://yaml.org/spec/1.1/#nb-char), U+0085, which it
// does, and the byte order mark. Terminals take some of them for the begin of an escape sequence.
func escapeControls(json []byte) []byte {
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

// writeNames writes what each object is called, as `kubectl get -o name` does.
func writeNames[T any](w io.Writer, objects []T, name func(T) string) error {
	var text strings.Builder
	for _, o := range objects {
		text.WriteString(render.Escape(name(o)) + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}
