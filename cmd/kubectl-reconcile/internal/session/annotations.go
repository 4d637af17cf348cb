package session

import (
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// annotationWarnings is a sink that warns of annotations whose values have no effect on what is simulated, of each text
// once: a run in which a pod did not fail as it was to would seem to be well.
type annotationWarnings struct {
	warnf func(format string, args ...any)
	said  map[string]bool
}

// maxAnnotationWarnings bounds the warnings of a run.
const maxAnnotationWarnings = 5

var _ trace.Sink = (*annotationWarnings)(nil)

// Record implements trace.Sink.
func (w *annotationWarnings) Record(e *trace.Event) {
	r, ok := e.Detail.(*trace.Request)
	if !ok || r.Recorded == nil || r.Recorded.Reason != nodes.InvalidAnnotation {
		return
	}
	about := r.Recorded
	if w.said[about.Message] || len(w.said) == maxAnnotationWarnings {
		return
	}
	w.said[about.Message] = true
	w.warnf("%s %s: %s", about.Regarding.Kind, about.Regarding.Name, about.Message)
}
