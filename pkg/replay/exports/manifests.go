package exports

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// WriteManifests writes the objects of a state as a List in YAML, as `kubectl get -o yaml` does: without managed
// fields.
func WriteManifests(w io.Writer, state *replay.State, o Options) error {
	records := make([]*replay.Record, 0, state.Len())
	for _, r := range state.Objects() {
		records = append(records, r)
	}
	if o.Clean {
		slices.SortStableFunc(records, func(a, b *replay.Record) int {
			return cmp.Compare(rank(state.Stream(a.Stream).Kind), rank(state.Stream(b.Stream).Kind))
		})
	}
	out := &manifestWriter{w: w}
	out.print("apiVersion: v1\n")
	for _, r := range records {
		stream := &state.Stream(r.Stream).Stream
		object, err := objectOf(r, stream)
		if err != nil {
			return err
		}
		if o.Clean && !clean(object) {
			continue
		}
		removeAt(object, "metadata", "managedFields")
		if err := out.item(object); err != nil {
			return fmt.Errorf("writing %s %q: %w", stream.Kind, r.Name, err)
		}
	}
	if out.items == 0 {
		out.print("items: []\n")
	}
	out.print("kind: List\nmetadata:\n  resourceVersion: \"\"\n")
	return out.err
}

// manifestWriter writes a List item by item: the objects of a cluster take much memory as YAML.
type manifestWriter struct {
	w     io.Writer
	items int
	err   error
}

func (m *manifestWriter) print(text string) {
	if m.err == nil {
		_, m.err = io.WriteString(m.w, text)
	}
}

func (m *manifestWriter) item(object map[string]any) error {
	text, err := json.Marshal(object)
	if err == nil {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return err
	}
	if m.items++; m.items == 1 {
		m.print("items:\n")
	}
	prefix := "- "
	for line := range bytes.Lines(text) {
		if len(line) == 1 {
			prefix = "" // an empty line of a text
		}
		m.print(prefix + string(line))
		prefix = "  "
	}
	return m.err
}
