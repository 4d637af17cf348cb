package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/serving"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// room is how many events an output may be behind before the controllers wait for it.
const room = 1 << 16

// simulated are the controllers of the simulated nodes and of their volumes: they are shown only on demand.
var simulated = []string{nodes.SchedulerName, nodes.KubeletName, nodes.ProvisionerName}

// perNamespace are the controllers that create what every namespace or cluster has, whatever runs in it.
var perNamespace = []string{"serviceaccount", "root-ca-cert-publisher", "kube-apiserver-serving-clustertrustbundle-publisher"}

// outputs are where the trace of a run goes.
type outputs struct {
	summary  *trace.Summary
	made     *trace.CreatedResources
	written  *trace.WriteCounts
	troubles *trace.FailingKeys
	sinks    []trace.Sink

	out   io.Writer // of people, or of NDJSON
	notes io.Writer // of remarks on the way; not part of the NDJSON
	// warnings are told also when quiet.
	warnings io.Writer
	quiet    bool
	buffers  []*trace.Buffer
	blocks   *render.Blocks
	file     *traceFile
	// fail ends the run.
	fail context.CancelCauseFunc
}

// openOutputs opens all outputs. fail ends the run when one of them fails later.
func (o *Options) openOutputs(fail context.CancelCauseFunc) (*outputs, error) {
	out := &outputs{
		summary: trace.NewSummary(), made: trace.NewCreatedResources(perNamespace...), written: trace.NewWriteCounts(), troubles: trace.NewFailingKeys(),
		out: o.Streams.Out, notes: o.Streams.Out, warnings: o.Streams.ErrOut, quiet: o.quiet, fail: fail,
	}
	out.sinks = append(out.sinks, out.summary, out.made, out.troubles)
	if o.cluster != nil {
		out.sinks = append(out.sinks, out.written)
	}
	if o.TraceFile != "" {
		file, err := createTraceFile(o.TraceFile)
		if err != nil {
			return nil, err
		}
		out.file = file
		out.buffer(&failing{file.Writer, o.TraceFile, fail})
	}
	if o.json {
		out.notes = o.Streams.ErrOut
		if !o.quiet {
			out.buffer(&failing{trace.NewWriter(o.Streams.Out), "stdout", fail})
		}
		return out, nil
	}
	out.blocks = render.NewBlocks(o.Streams.Out, render.BlocksOptions{
		Palette: o.Palette, Detail: o.Detail, Events: o.Events, Width: render.TerminalWidth(o.Streams.Out),
		Aside: simulated, Routine: routine(o.controllers()), Author: o.author(), Starting: o.starting(),
	})
	out.buffer(out.blocks)
	return out, nil
}

// starting names what does its own part before the objects of a run in the sandbox are there; empty for what is told of.
func (o *Options) starting() string {
	if o.cluster != nil || o.Serve != nil || len(o.Session.Controllers) == 0 {
		return ""
	}
	return cli.Plural(len(o.Session.Controllers), "controller")
}

// author is the field manager of the objects of -f; empty on a cluster, where there are none.
func (o *Options) author() string {
	if o.cluster != nil {
		return ""
	}
	return runlocal.FieldManager
}

// routine is render.BlocksOptions.Routine of the controllers.
func routine(of []controllers.Controller) map[string][]string {
	messages := map[string][]string{}
	for _, c := range of {
		if c.NoisyLogMessages != nil {
			messages[c.Short] = c.NoisyLogMessages
		}
	}
	return messages
}

func (out *outputs) buffer(sink trace.Sink) {
	buffer := trace.NewBuffer(room, sink)
	out.buffers = append(out.buffers, buffer)
	out.sinks = append(out.sinks, buffer)
}

// startAt says when the run began: lines are timed from then on.
func (out *outputs) startAt(t time.Time) {
	if out.blocks != nil {
		out.blocks.StartAt(t)
	}
}

// note writes a remark on the way, safe for a terminal.
func (out *outputs) note(format string, args ...any) {
	if out.quiet {
		return
	}
	out.say(format, args...)
}

// noteEach is note for each of the lines.
func (out *outputs) noteEach(lines []string) {
	for _, line := range lines {
		out.note("%s", line)
	}
}

// warn writes a remark that must not be missed, also by who looks at the summary only.
func (out *outputs) warn(text string) {
	out.tell("warning: " + text)
}

// tell writes to where warnings go what belongs to one.
func (out *outputs) tell(text string) {
	_, _ = fmt.Fprintln(out.warnings, cli.Wrap(out.warnings, render.Escape(text)))
}

// say writes a line of the summary, safe for a terminal.
func (out *outputs) say(format string, args ...any) {
	_, _ = fmt.Fprintln(out.notes, cli.Wrap(out.notes, render.Escape(fmt.Sprintf(format, args...))))
}

// parting bounds what is still done after an interrupt, the reading of the final state and the last lines each: the API
// may be slow, and whoever reads the lines may have stopped to.
const parting = 500 * time.Millisecond

// outliving returns a context for what is still to be done when ctx ends: it ends by parting later, or when cancelled.
func outliving(ctx context.Context) (context.Context, context.CancelFunc) {
	kept, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		select {
		case <-kept.Done():
		case <-time.After(parting):
			cancel()
		}
	})
	return kept, cancel
}

// cut lets nobody wait for an output any more.
func (out *outputs) cut() {
	for _, b := range out.buffers {
		b.Cut()
	}
}

// flush waits until all events so far are written.
func (out *outputs) flush(ctx context.Context) error {
	ctx, cancel := outliving(ctx)
	defer cancel()
	var errs []error
	for _, b := range out.buffers {
		errs = append(errs, b.Close(ctx))
	}
	if out.blocks != nil && errors.Join(errs...) == nil {
		errs = append(errs, out.blocks.Close())
	}
	return errors.Join(errs...)
}

// close ends the trace file and reports whether all of it was written.
func (out *outputs) close() error {
	if out.file == nil {
		return nil
	}
	return out.file.close()
}

// TraceFile is the file of --trace-file.
type traceFile struct {
	*trace.Writer
	file *os.File
}

func createTraceFile(path string) (*traceFile, error) {
	file, err := serving.CreatePrivate(path)
	if err != nil {
		return nil, fmt.Errorf("creating the trace file: %w", err)
	}
	return &traceFile{trace.NewWriter(file), file}, nil
}

func (f *traceFile) close() error {
	if err := f.Err(); err != nil {
		return errors.Join(incomplete(f.file.Name(), err), f.file.Close())
	}
	if err := f.file.Close(); err != nil {
		return incomplete(f.file.Name(), err)
	}
	return nil
}

// failing ends the run at the first error of a writer: a trace that is not kept is not worth going on for.
type failing struct {
	*trace.Writer
	name string
	fail context.CancelCauseFunc
}

// Record implements trace.Sink.
func (f *failing) Record(e *trace.Event) {
	f.Writer.Record(e)
	if err := f.Err(); err != nil {
		f.fail(incomplete(f.name, err))
	}
}

func incomplete(name string, err error) error {
	return fmt.Errorf("writing the trace to %s, which is not complete: %w", name, err)
}
