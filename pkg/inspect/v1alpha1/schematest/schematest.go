// Package schematest makes the JSON schemas in docs/ of the types of documents, and checks documents against them, for
// tests: the schemas are what other programs rely on. schematest.go checks, generate.go makes.
package schematest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Check returns why the JSON document is not as the schema in a file describes it, formats such as date-time included;
// nil if it is.
func Check(schemaFile string, document io.Reader) error {
	schema, err := load(schemaFile)
	if err != nil {
		return err
	}
	return check(schema, document)
}

// CheckLines is Check for each line of a text, which is a document.
func CheckLines(schemaFile string, text io.Reader) error {
	schema, err := load(schemaFile)
	if err != nil {
		return err
	}
	lines := bufio.NewReader(text)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := check(schema, bytes.NewReader(line)); err != nil {
				return fmt.Errorf("line %d: %w: %s", n, err, line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func load(schemaFile string) (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(schemaFile)
	if err != nil {
		return nil, fmt.Errorf("reading schema %q: %w", schemaFile, err)
	}
	return schema, nil
}

func check(schema *jsonschema.Schema, document io.Reader) error {
	value, err := jsonschema.UnmarshalJSON(document)
	if err != nil {
		return fmt.Errorf("reading the document: %w", err)
	}
	return schema.Validate(value)
}
