package main

import (
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

// writeDocument writes a document in the format json or yaml.
func writeDocument(w io.Writer, format string, document any) error {
	var text []byte
	var err error
	if format == "yaml" {
		text, err = yaml.Marshal(document)
	} else {
		text, err = json.MarshalIndent(document, "", "  ")
		text = append(text, '\n')
	}
	if err != nil {
		return fmt.Errorf("writing as %s: %w", strings.ToUpper(format), err)
	}
	_, err = w.Write(text)
	return err
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
