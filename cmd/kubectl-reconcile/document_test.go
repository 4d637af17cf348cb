package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

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
		if err := writeDocument(&out, tt.format, chainOf(tt.levels)); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(out.String(), "\n"); lines < tt.lines || out.Len() > tt.top*tt.levels {
			t.Errorf("%d levels in %s are %d lines and %d bytes: %s", tt.levels, tt.format, lines, out.Len(), tt.reason)
		}
		var got chain
		read := json.Unmarshal
		if tt.format == "yaml" && tt.levels < mostIndented {
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
