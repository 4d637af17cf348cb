package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/yaml"
)

// TestDocumentsHoldAnyText: what a controller wrote in a condition reads back as it was, and cannot steer a terminal.
func TestDocumentsHoldAnyText(t *testing.T) {
	tests := []struct{ reason, text string }{
		{"YAML readers refuse DEL", "a\x7fb"},
		{"and the control characters above it, of which this begins an escape sequence", "\u009b31mred"},
		{"and what is no character", "\ufffe and \uffff"},
		{"a next line is taken for a blank where it is not escaped", "a\u0085b"},
		{"and for an indent in text of several lines", "a\n\u0085b"},
		{"a byte order mark within a text", "a\ufeffb"},
		{"other separators of lines", "a\u2028b\u2029c"},
		{"control characters that JSON escapes", "a\x00\x1b[31m\tb"},
		{"letters and pictures stay", "é 漢字 🙂"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			document := map[string]any{"message": tt.text, tt.text: []string{tt.text}}
			for format, decode := range map[string]func([]byte, any) error{
				"json": json.Unmarshal, "yaml": func(b []byte, v any) error { return yaml.Unmarshal(b, v) },
			} {
				var out bytes.Buffer
				if err := writeDocument(&out, format, document); err != nil {
					t.Fatalf("-o %s: %v", format, err)
				}
				if i := strings.IndexFunc(out.String(), steers); i >= 0 {
					t.Errorf("-o %s has a control character as it is: %q", format, out.String())
				}
				var back map[string]any
				if err := decode(out.Bytes(), &back); err != nil {
					t.Fatalf("-o %s cannot be read back: %v", format, err)
				}
				if back["message"] != tt.text || back[tt.text] == nil {
					t.Errorf("-o %s: %q was read back as %q", format, tt.text, back)
				}
			}
		})
	}
}

func steers(r rune) bool { return unicode.IsControl(r) && r != '\n' }
