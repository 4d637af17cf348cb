package cli

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/yaml"
)

func TestNesting(t *testing.T) {
	for _, tt := range []struct {
		text   string
		want   int
		reason string
	}{
		{`1`, 0, "a value alone"},
		{`{}`, 1, "an empty object"},
		{`[{"a":[1]},{"a":{"b":2}}]`, 3, "arrays and objects, the deepest of several"},
		{`{"[{[{":"}]\"[[["}`, 1, "what is within quotes does not count, nor does a quote that is escaped"},
	} {
		if got := nesting([]byte(tt.text)); got != tt.want {
			t.Errorf("%s: %d, want %d: %s", tt.text, got, tt.want, tt.reason)
		}
	}
}

// chain is a tree of so many levels, as documents nest them.
type chain struct {
	Name     string   `json:"name"`
	Children []*chain `json:"children,omitempty"`
}

func chainOf(levels int) *chain {
	top := &chain{Name: "c"}
	for at := top; levels > 1; levels-- {
		at.Children = []*chain{{Name: "c"}}
		at = at.Children[0]
	}
	return top
}

// TestDeepDocuments: a document of a deep tree is not mostly blanks, and both formats can be read again.
func TestDeepDocuments(t *testing.T) {
	for _, tt := range []struct {
		levels     int
		format     string
		lines, top int // how many lines at least, how many bytes a level at most
		reason     string
	}{
		{10, "json", 40, 200, "a usual tree is indented"},
		{10, "yaml", 10, 200, "in YAML, too"},
		{3000, "json", 1, 40, "a deep one is not"},
		{3000, "yaml", 1, 40, "JSON is YAML"},
	} {
		var out bytes.Buffer
		if err := WriteDocument(&out, tt.format, chainOf(tt.levels)); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(out.String(), "\n"); lines < tt.lines || out.Len() > tt.top*tt.levels {
			t.Errorf("%d levels in %s are %d lines and %d bytes: %s", tt.levels, tt.format, lines, out.Len(), tt.reason)
		}
		var got chain
		read := json.Unmarshal
		if tt.format == "yaml" && tt.levels < maxIndentedDepth {
			read = func(text []byte, into any) error { return yaml.Unmarshal(text, into) }
		}
		if err := read(out.Bytes(), &got); err != nil {
			t.Fatalf("%d levels in %s: %v", tt.levels, tt.format, err)
		}
		if !reflect.DeepEqual(chainOf(tt.levels), &got) {
			t.Errorf("%d levels in %s are another tree", tt.levels, tt.format)
		}
	}
}

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
				if err := WriteDocument(&out, format, document); err != nil {
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
