package replay

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/input"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/moment"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/telemetry"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// isStream reports whether an input has objects alone, as kubectl prints them: it does not tell who wrote, and so with
// what a controller writes could be compared.
func isStream(h replay.Header) bool {
	switch h.Imported {
	case replay.ImportedWatchEvents, replay.ImportedObjects, replay.ImportedManifests:
		return true
	case replay.ImportedAudit, "":
	}
	return false
}

// streamTarget is the session.Target of controllers that see a recorded stream, in dry run: what they would write is
// tried on the API that serves the stream, and not kept. So the stream goes on as it was recorded.
type streamTarget struct {
	recording   replay.Recording
	controllers []controllers.Controller
	at          replay.Moment

	server *playback.Server // set by Start
}

var _ session.Target = (*streamTarget)(nil)

// Controllers implements session.Target.
func (t *streamTarget) Controllers() []controllers.Controller { return t.controllers }

// Sinks implements session.Target: there are none.
func (t *streamTarget) Sinks(*session.Outputs) []trace.Sink { return nil }

// Checks implements session.Target: there are none.
func (t *streamTarget) Checks() []telemetry.Check { return nil }

// Close implements session.Target.
func (t *streamTarget) Close(context.Context) error {
	if t.server == nil {
		return nil
	}
	return t.server.Stop()
}

// Start implements session.Target. It serves the stream at the moment, and starts the controllers on it.
func (t *streamTarget) Start(
	ctx context.Context, o *session.Options, out *session.Outputs, recorder *trace.Recorder,
) (*runlocal.Session, error) {
	move, err := t.move(o.Clock)
	if err != nil {
		return nil, err
	}
	options := playback.Options{At: t.at, Writable: true, Move: move, Clock: clock.RealClock{}, Empty: t.reads()}
	if t.server, err = playback.Start(ctx, t.recording, options); err != nil {
		return nil, input.MomentError(err)
	}
	status := t.server.Status()
	out.Notef("input: record #%d of %d, on the API of Kubernetes v%s; %s", status.Number, status.Records,
		api.KubernetesVersion()[1:], o.ControllersText(t.controllers))
	out.Notef("dry run: the input goes on as it is; each write is tried on it, and not kept")
	if note := input.FormNote(t.recording.Header()); note != "" {
		out.Notef("note: %s", note)
	}
	if missing := t.missing(); len(missing) > 0 {
		out.Warnf("the input has no %s, which the controllers read: for them there are none", cli.Enumerate(missing))
	}
	for _, n := range t.server.NotServed() {
		out.Warnf("not served: %s: %s", schema.GroupResource{Group: n.Kind.Group, Resource: n.Resource},
			cli.OneLine(n.Err.Error()))
	}
	return session.StartUninterrupted(ctx, "the controllers were starting",
		func(ctx context.Context) (*runlocal.Session, error) {
			return runlocal.StartCluster(ctx, runlocal.ClusterOptions{Config: t.server.Config()}, runlocal.Options{
				Controllers: t.controllers, Recorder: recorder, Verbosity: o.Detail.LogLevel(),
			})
		})
}

// move returns what makes objects such that controllers can act on them: their times are moved, so that the newest is
// now, or each deadline would have passed.
func (t *streamTarget) move(c clock.PassiveClock) (func([]byte) []byte, error) {
	state, err := t.recording.Seek(replay.Moment{})
	if err != nil {
		return nil, err
	}
	newest, _ := moment.TimeOf(state, replay.Moment{})
	if newest.IsZero() {
		return withUID, nil
	}
	by := c.Now().Sub(newest).Truncate(time.Second)
	return func(object []byte) []byte {
		return withUID(snapshot.Retime(object, snapshot.NamedTimes, snapshot.Later(by)))
	}, nil
}

// withUID returns an object with a uid, if it has none, as manifests that were never applied: what controllers create
// for it must name one.
func withUID(object []byte) []byte {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(object); err != nil || u.GetUID() != "" {
		return object // what cannot be read is not served
	}
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s %s/%s", u.GroupVersionKind(), u.GetNamespace(), u.GetName())
	const digits = 1<<48 - 1
	u.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", sum.Sum64()&digits)))
	out, err := u.MarshalJSON()
	if err != nil {
		return object
	}
	return out
}

// reads returns the kinds that the controllers read.
func (t *streamTarget) reads() []schema.GroupResource {
	var out []schema.GroupResource
	for _, c := range t.controllers {
		for _, gr := range c.Reads {
			if gr.Resource != "*" && !slices.Contains(out, gr) {
				out = append(out, gr)
			}
		}
	}
	return out
}

// missing returns the names of the kinds that the controllers read and the input does not have.
func (t *streamTarget) missing() []string {
	var out []string
	info, err := t.recording.Info()
	for _, gr := range t.reads() {
		has := slices.ContainsFunc(info.Streams, func(s replay.Stream) bool { return s.GroupResource() == gr })
		if err == nil && !has {
			out = append(out, gr.String())
		}
	}
	slices.Sort(out)
	return out
}

// slowest is how long the controllers may be at work on what a record has led to before the next one follows.
const slowest = 5 * time.Second

// play gives the session the rest of the stream, one record after the other, each when the controllers are done with
// the one before: so they see each version.
func (t *streamTarget) play(ctx context.Context, s *runlocal.Session) error {
	for ctx.Err() == nil {
		r, err := t.server.Next()
		switch {
		case errors.Is(err, io.EOF) || isTorn(err):
			return nil
		case err != nil:
			return err
		}
		if err := t.server.Deliver(ctx, r); err != nil {
			return err
		}
		if r.Type.HasObject() || r.Type == replay.TypeListEnd {
			awaitWork(ctx, s, t.server.API())
		}
	}
	return nil
}

// awaitWork returns when the controllers have seen all that the API has sent, and have done what it led to.
func awaitWork(ctx context.Context, s *runlocal.Session, server *api.Server) {
	ctx, cancel := context.WithTimeout(ctx, slowest)
	defer cancel()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		state := s.State()
		seen := state.Idle()
		for gr, handled := range state.Handled {
			seen = seen && handled >= server.LastEvent(gr)
		}
		if seen {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// settleTimeout bounds the wait for the controllers after the last record.
const settleTimeout = 30 * time.Second

// runOnStream runs controllers on a stream, and prints what they do as `run` does.
func (f *Flags) runOnStream(ctx context.Context, streams genericiooptions.IOStreams, recording replay.Recording) error {
	if f.output == "yaml" {
		return cli.WithHint(errors.New("a trace is not written as YAML"), "-o json writes a line for each event")
	}
	selected, err := session.SelectControllers(f.compare.Controllers)
	if err == nil && len(selected) == 0 {
		err = cli.WithHint(fmt.Errorf("--controller %s names no controller", f.compare.Controllers),
			"`run --list` lists those that there are")
	}
	if err != nil {
		return err
	}
	view, err := f.view(streams, recording)
	if err != nil {
		return err
	}
	if view.At == (replay.Moment{}) {
		view.At = replay.Moment{Start: true}
	}
	target := &streamTarget{recording: recording, controllers: selected, at: view.At}
	progress, streams := cli.WithProgress(streams, f.output == "")
	o := &session.Options{
		Target: target, Writes: session.DryRunServer, Feed: target.play,
		Goal:   runlocal.Goal{Type: runlocal.GoalSettled, Timeout: settleTimeout},
		Detail: min(render.Normal+render.Detail(f.verbosity), render.Everything), JSON: f.output == "json",
		Streams: streams, Progress: progress, Palette: render.NewPalette(streams.Out, f.color, os.Getenv),
		Clock: clock.RealClock{},
	}
	return o.Run(ctx)
}
