package cli

import (
	"fmt"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// FieldPaths parses the values of a flag that names fields, and returns them as fields.Path.String does.
func FieldPaths(flag string, texts []string) ([]string, error) {
	var out []string
	for _, text := range texts {
		path, err := fields.ParsePath(text)
		if name, _, _ := strings.Cut(text, "["); err == nil && strings.ContainsAny(name, ", $") {
			err = fmt.Errorf("%q is not the path of one field", text)
		}
		if err != nil {
			return nil, WithHint(fmt.Errorf("--%s: %w", flag, err),
				"for example spec.replicas, spec.template.spec.containers[web].image or "+
					"metadata.labels[app.kubernetes.io/name]")
		}
		out = append(out, path.String())
	}
	return out, nil
}
