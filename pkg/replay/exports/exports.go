package exports

import (
	"errors"
	"fmt"
	"io"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// Format is a format of other tools.
type Format string

// The formats.
const (
	// Watch is what `kubectl get -w --output-watch-events -o json` prints: a watch event a line. What a list had is
	// ADDED.
	Watch Format = "watch"
	// Audit is an audit log of the level RequestResponse: JSON lines of audit.k8s.io/v1. Requests are inferred from the
	// changes: see the package's documentation for what they do not have.
	Audit Format = "audit"
	// Manifests are the objects at a moment as one List, as `kubectl get -o yaml` prints it.
	Manifests Format = "manifests"
)

// Formats returns all formats.
func Formats() []Format { return []Format{Audit, Manifests, Watch} }

// Options are the options of exports. The zero value has the defaults.
type Options struct {
	// Clean makes Manifests leave out what only the API server or a controller may write, so that they can be applied.
	Clean bool
}

// Write writes the records of a source, from the next one to the last, in a format; for Manifests the state after the
// last. If the source ends with an error, all before is written, and it is returned: a *replay.TornError if the
// recording was cut off.
func Write(w io.Writer, format Format, source replay.Source, o Options) error {
	var add func(*replay.Record, *replay.Stream) error
	state := &replay.State{}
	switch format {
	case Watch:
		add = (&watchWriter{w: w}).add
	case Audit:
		add = newAuditWriter(w, state).add
	case Manifests:
		add = func(*replay.Record, *replay.Stream) error { return nil }
	default:
		return fmt.Errorf("writing a recording: unknown format %q", format)
	}
	ended := each(source, state, format != Watch, add)
	if ended != nil {
		var torn *replay.TornError
		if format != Manifests || !errors.As(ended, &torn) {
			return ended
		}
	}
	if format == Manifests {
		return errors.Join(WriteManifests(w, state, o), ended)
	}
	return nil
}

// each calls add with all records that belong to a stream, and with the stream, and applies them to the state after it.
// Objects are not applied if keep is not set.
func each(
	source replay.Source, state *replay.State, keep bool, add func(*replay.Record, *replay.Stream) error,
) error {
	for {
		r, err := source.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		var stream *replay.Stream
		if s := state.Stream(r.Stream); s != nil {
			stream = &s.Stream
		}
		if stream != nil || r.Type == replay.TypeError {
			if err := add(r, stream); err != nil {
				return err
			}
		}
		if keep || r.Type == replay.TypeStream {
			state.Apply(r.Clone())
		}
	}
}

// objectOf returns the object of a record, with apiVersion and kind.
func objectOf(r *replay.Record, stream *replay.Stream) (map[string]any, error) {
	var object map[string]any
	if err := utiljson.Unmarshal(r.Object, &object); err != nil || object == nil {
		return nil, fmt.Errorf("parsing the object %q of record %d: %w", r.Name, r.Number, err)
	}
	object["apiVersion"], object["kind"] = stream.GVK().GroupVersion().String(), stream.Kind
	return object, nil
}
