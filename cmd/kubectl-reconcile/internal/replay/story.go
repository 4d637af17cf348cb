package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/recent"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// story tells what the controllers of a session did, from cause to effect, by the trace in its recording. It is a sink:
// the entries have nothing for it.
type story struct {
	*trace.Story
	// watched are the last watch events, by Seq: the cause of a reconcile is one, and does not have its change in JSON.
	watched recent.Map[uint64, *trace.Watch]

	o     *Options
	out   io.Writer
	start time.Time // of the trace
	err   error     // the first of writing
}

var _ sink = (*story)(nil)

// event takes an event of the trace, and tells what happened before a pause.
func (s *story) event(e *trace.Event) {
	if s.start.IsZero() {
		s.start = e.Time
	}
	switch d := e.Detail.(type) {
	case *trace.Watch:
		s.watched.Put(e.Seq, d)
	case *trace.Start:
		for i := range d.Causes {
			if w, ok := s.watched.Get(d.Causes[i].Seq); ok && d.Causes[i].Type == trace.CauseWatch {
				d.Causes[i].Watch = w
			}
		}
	}
	if s.Due(e.Time) {
		s.tell()
	}
	s.Record(e)
}

func (s *story) tell() {
	err := render.Story(s.out, s.Take(), render.StoryOptions{
		Palette: s.o.palette, FieldManager: runlocal.FieldManager, StartAt: s.start, Width: s.o.width,
	})
	s.err = errors.Join(s.err, err)
}

// add implements sink.
func (s *story) add(*timeline.Entry) error { return s.err }

// end implements sink.
func (s *story) end() error {
	s.tell()
	if text := render.NotTold(s.NotTold()); text != "" && s.err == nil {
		_, s.err = fmt.Fprintf(s.out, "\n%s\n", render.Wrap(s.o.palette.Dim(text), s.o.width, ""))
	}
	return s.err
}

// tellStory shows the story of the session that was recorded.
func (o *Options) tellStory(ctx context.Context, recording replay.Recording, options timeline.Options) error {
	paged := o.pagedOutput(ctx)
	s := &story{Story: trace.NewStory(false), o: o, out: paged}
	options.Trace = s.event
	shown, err := copyEntries(ctx, timeline.New(recording, options), s, o.isLive())
	err = errors.Join(err, paged.Close())
	switch {
	case errors.Is(err, errPagerEnded):
		return nil
	case err != nil || ctx.Err() != nil:
		return err
	case s.start.IsZero():
		return cli.WithHint(errors.New("--story: the recording has no trace of controllers"),
			"`run --record FILE` and `sandbox --record FILE` record one")
	case shown.torn != "":
		o.warnTorn(shown.torn)
	}
	return nil
}
