package exports

import (
	"encoding/json"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// watchWriter writes watch events as kubectl does. It mirrors JSONPrinter.PrintObj of
// k8s.io/cli-runtime/pkg/printers/json.go.
type watchWriter struct{ w io.Writer }

func (w *watchWriter) add(r *replay.Record, stream *replay.Stream) error {
	e := metav1.WatchEvent{Type: r.Type.String()}
	switch r.Type {
	case replay.TypeListItem:
		e.Type = replay.TypeAdded.String()
	case replay.TypeAdded, replay.TypeModified, replay.TypeDeleted:
	case replay.TypeError:
		if len(r.Object) == 0 {
			return nil
		}
		e.Object = runtime.RawExtension{Raw: r.Object}
		return w.write(r, &e)
	default:
		return nil // kubectl asks for no bookmarks
	}
	object, err := objectOf(r, stream)
	if err != nil {
		return err
	}
	if e.Object.Raw, err = json.Marshal(object); err != nil {
		return fmt.Errorf("writing record %d: %w", r.Number, err)
	}
	return w.write(r, &e)
}

func (w *watchWriter) write(r *replay.Record, e *metav1.WatchEvent) error {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing record %d: %w", r.Number, err)
	}
	_, err = w.w.Write(append(text, '\n'))
	return err
}
