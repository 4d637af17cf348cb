package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"

	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/recordfile"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/recorder"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Recording is a recording to write.
type Recording struct {
	// Namespaces are those that are recorded; none is all.
	Namespaces []string

	path      string
	force     bool // an existing file is replaced
	redaction recordfile.Redaction
	settings  []string // flags that set what single controllers do
}

// recording is the file of --record: what the API of the session says about objects, and the trace.
type recording struct {
	o        *Options
	fail     context.CancelCauseFunc
	file     *os.File
	writer   *replay.Writer
	recorder *recorder.Recorder

	// choose returns what to record of the kinds that are served at the time; set by start.
	choose func(context.Context) ([]recorder.Selection, error)
	cancel context.CancelFunc // ends Run; nil before start
	done   chan struct{}      // closed when Run has returned
	err    error              // of Run
}

// openRecording creates the file. fail ends the run when it cannot be written any more.
func openRecording(o *Options, fail context.CancelCauseFunc) (*recording, error) {
	redactor := o.Record.redaction.Redactor
	file, err := recordfile.Create(o.Record.path, o.Record.force, forceFlag)
	if err != nil {
		return nil, err
	}
	r := &recording{o: o, fail: fail, file: file, done: make(chan struct{})}
	header := replay.Header{
		Tool: "kubectl-reconcile " + cli.Version(), Start: o.Clock.Now().UTC(), Redacted: redactor != nil,
		Options: append(o.Record.redaction.Options(), o.Record.settings...),
	}
	if !o.onCluster() {
		header.Server = api.KubernetesVersion()
	}
	r.writer, err = replay.NewWriter(file, header, replay.WriterOptions{})
	if err != nil {
		return nil, errors.Join(r.incomplete(err), file.Close())
	}
	options := recorder.Options{
		Sink: r.writer, Clock: clock.RealClock{},
		Rediscover: func(ctx context.Context) ([]recorder.Selection, error) { return r.choose(ctx) },
		Random:     rand.Float64,
	}
	if redactor != nil {
		options.Redactor = redactor
	}
	if r.recorder, err = recorder.New(options); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return r, nil
}

// incomplete names the file in an error of writing.
func (r *recording) incomplete(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("writing the recording to %s, which is cut off: %w", r.o.Record.path, err)
}

// Record implements trace.Sink.
func (r *recording) Record(e *trace.Event) {
	line, err := e.MarshalJSON()
	if redactor := r.o.Record.redaction.Redactor; err == nil && redactor != nil {
		line, err = redactor.RedactTrace(line)
	}
	if err == nil {
		err = r.recorder.Trace(line)
	}
	if err != nil {
		r.fail(r.incomplete(err))
	}
}

// start records the API of a session from now on. It returns when all that exists is recorded, so that what follows is
// recorded as changes.
func (r *recording) start(ctx context.Context, session *runlocal.Session, out *Outputs) error {
	config := session.Config()
	r.choose = func(ctx context.Context) ([]recorder.Selection, error) {
		kinds, err := cluster.Discover(ctx, config)
		if err != nil {
			return nil, err
		}
		choice := recorder.Choice{Namespaces: r.o.Record.Namespaces}
		for _, c := range r.o.Target.Controllers() { // to be replayed with all that they see
			choice.Also = append(choice.Also, c.Reads...)
		}
		return recorder.Choose(kinds, choice), nil
	}
	selections, err := r.choose(ctx)
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	if rule := r.o.Record.redaction.Unused(selections); rule != "" { // the session may define such a kind later
		out.Warnf("--redact %q is for no kind that is recorded so far", rule)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx)) // to the last event of the session, see stop
	r.cancel = cancel
	go func() {
		defer close(r.done)
		r.err = r.recorder.Run(running, config, selections)
		if r.err != nil && !errors.Is(r.err, recorder.ErrNothingRecorded) {
			r.fail(r.incomplete(r.err))
		}
	}()
	select {
	case <-r.recorder.Started():
	case <-r.done:
		return nil // stop returns the error
	case <-ctx.Done():
		return nil
	}
	out.Notef("recording to %s; %s", r.o.Record.path, r.o.Record.redaction.Text())
	var missing []cluster.Incomplete
	for _, t := range r.recorder.Troubles() {
		missing = append(missing, t.Incomplete)
	}
	for _, m := range cluster.SortIncomplete(missing) {
		out.Warnf("%s are not recorded: %s", m.Resource, m.Message)
	}
	return nil
}

// stop ends the streams when they have all that the server has sent. The trace may go on.
func (r *recording) stop(ctx context.Context, session *runlocal.Session) error {
	if r == nil || r.cancel == nil {
		return nil
	}
	if server := session.Server(); server != nil {
		ctx, cancel := extended(ctx, outputGrace)
		r.recorder.Await(ctx, server.LastEvent)
		cancel()
	}
	r.cancel()
	<-r.done
	if errors.Is(r.err, recorder.ErrNothingRecorded) {
		return errors.New("recording: the API does not permit to list anything")
	}
	return nil // another error has ended the run
}

// close completes the file. One of a session that has not started is deleted.
func (r *recording) close(cause error) error {
	if r == nil {
		return nil
	}
	stats := r.recorder.Stats()
	if stats.Streams == 0 {
		return errors.Join(r.file.Close(), os.Remove(r.file.Name()))
	}
	why := "the session has ended"
	if errors.Is(cause, context.Canceled) {
		why = "interrupted"
	}
	err := r.recorder.End(why)
	if err == nil {
		err = r.writer.Close()
	}
	lost := recordfile.CheckPath(r.o.Record.path, r.file)
	if closed := r.file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return r.incomplete(err)
	}
	return lost
}
