package session

import (
	"context"
	"fmt"
	"strconv"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/telemetry"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Sandbox is the Target of an API server in this process. Start sets the Recorder and the Collector of its options, and
// with Copy what it begins with.
type Sandbox struct {
	Options runlocal.Options
	// Copy is the part of a cluster that the sandbox begins with a copy of; nil if it begins empty.
	Copy *CopySource

	copyVersion string // of the cluster
}

var _ Target = (*Sandbox)(nil)

// Controllers implements Target.
func (s *Sandbox) Controllers() []controllers.Controller { return s.Options.Controllers }

// Sinks implements Target.
func (s *Sandbox) Sinks(out *Outputs) []trace.Sink {
	return []trace.Sink{&annotationWarnings{warnf: out.Warnf, said: map[string]bool{}}}
}

// Checks implements Target: there are none.
func (s *Sandbox) Checks() []telemetry.Check { return nil }

// Close implements Target: it does nothing.
func (s *Sandbox) Close(context.Context) error { return nil }

// Start implements Target.
func (s *Sandbox) Start(ctx context.Context, o *Options, out *Outputs, recorder *trace.Recorder) (*runlocal.Session,
	error) {
	if s.Copy != nil {
		if err := s.readCopy(ctx, o, out); err != nil {
			return nil, err
		}
	}
	defer o.Progress.Show(ctx, cli.ProgressText("starting the sandbox"))()
	began := o.Clock.Now()
	s.Options.Recorder, s.Options.Collector = recorder, out.CollectorWarnings()
	session, err := StartUninterrupted(ctx, "the sandbox was starting",
		func(ctx context.Context) (*runlocal.Session, error) {
			return runlocal.Start(ctx, s.Options)
		})
	if err != nil {
		return nil, withStartHints(err)
	}
	if s.Copy != nil {
		s.copyStarted(session, o, out)
	}
	out.Notef("sandbox: %s; ready in %.2fs", s.description(session, o), o.Clock.Since(began).Seconds())
	if o.Serve == nil {
		out.NoteLines(UnhandledHints(s.Options.Controllers))
	}
	return session, nil
}

// description says in a few words what the session consists of.
func (s *Sandbox) description(session *runlocal.Session, o *Options) string {
	text := fmt.Sprintf("Kubernetes %s API ", api.KubernetesVersion())
	if url := session.Server().URL(); url != "" {
		text += "at " + url
	} else {
		text += "in memory"
	}
	if len(s.Options.Controllers) > 0 {
		text += "; " + o.ControllersText(s.Options.Controllers)
	}
	if s.Options.NoScheduling {
		return text
	}
	if s.Copy != nil && o.SimulatedNodes == 0 {
		return text
	}
	return text + "; simulated nodes: " + strconv.Itoa(o.SimulatedNodes)
}

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
