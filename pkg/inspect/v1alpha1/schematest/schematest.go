// Package schematest checks documents against their JSON schemas in docs/, for tests: the schemas are what other
// programs rely on.
package schematest

import (
	"fmt"
	"io"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Check returns why the JSON document is not as the schema in a file describes it, formats such as date-time included;
// nil if it is.
func Check(schemaFile string, document io.Reader) error {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(schemaFile)
	if err != nil {
		return fmt.Errorf("reading schema %q: %w", schemaFile, err)
	}
	value, err := jsonschema.UnmarshalJSON(document)
	if err != nil {
		return fmt.Errorf("reading the document: %w", err)
	}
	return schema.Validate(value)
}
