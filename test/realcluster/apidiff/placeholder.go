package apidiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

var (
	placeholder     = regexp.MustCompile(`\{\{([^{}]*)\}\}`)
	placeholderName = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)
)

// placeholders are the names in text.
func placeholders(text string) []string {
	var names []string
	for _, match := range placeholder.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

// values are what placeholders stand for: JSON values of one side.
type values map[string]any

// fill replaces the placeholders in text. A value that is no string is written as JSON.
func (v values) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(match string) string {
		value := v[strings.Trim(match, "{}")]
		if s, ok := value.(string); ok {
			return s
		}
		data, err := json.Marshal(value)
		if err != nil {
			return match // values come out of JSON
		}
		return string(data)
	})
}

// fillBody replaces the placeholders in the strings of a JSON document; a string that is one placeholder becomes its
// value.
func (v values) fillBody(body json.RawMessage) ([]byte, error) {
	tree, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("reading the body: %w", err)
	}
	return json.Marshal(v.fillTree(tree))
}

func (v values) fillTree(node any) any {
	switch node := node.(type) {
	case map[string]any:
		filled := make(map[string]any, len(node))
		for key, value := range node {
			filled[v.fill(key)] = v.fillTree(value)
		}
		return filled
	case []any:
		filled := make([]any, len(node))
		for i, value := range node {
			filled[i] = v.fillTree(value)
		}
		return filled
	case string:
		if match := placeholder.FindStringSubmatch(node); match != nil && match[0] == node {
			return v[match[1]]
		}
		return v.fill(node)
	}
	return node
}

// decode reads one JSON document and keeps numbers as they are written.
func decode(data []byte) (any, error) {
	var tree any
	err := unmarshal(data, &tree)
	return tree, err
}

func unmarshal(data []byte, into any) error { return newDecoder(bytes.NewReader(data)).Decode(into) }

func newDecoder(r io.Reader) *json.Decoder {
	decoder := json.NewDecoder(r)
	decoder.UseNumber()
	return decoder
}
