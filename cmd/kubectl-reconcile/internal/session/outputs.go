package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/interaction"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/serving"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// bufferedEvents is how many events an output may be behind before the controllers wait for it.
const bufferedEvents = 1 << 16

// simulated are the controllers of the simulated nodes and of their volumes: they are shown only on demand.
var simulated = []string{nodes.SchedulerName, nodes.KubeletName, nodes.ProvisionerName}

// perNamespace are the controllers that create what every namespace or cluster has, whatever runs in it.
var perNamespace = []string{"serviceaccount", "root-ca-cert-publisher",
	"kube-apiserver-serving-clustertrustbundle-publisher"}

// Outputs are where the trace of a run and remarks about it go. Remarks may be written concurrently.
type Outputs struct {
	o *Options

	// Sinks that the summary is made of.
	summary  *trace.Summary
	programs *trace.Programs
	created  *trace.CreatedResources
	writes   *trace.WriteCounts
	failing  *trace.FailingKeys
	found    *findings.Detector
	noted    map[findings.Type]int // how often noteFinding was called
	// interactions is nil unless they are shown.
	interactions *interaction.Recorder
	sinks        []trace.Sink // these and all others

	stdout   io.Writer // for people, or of NDJSON
	notes    io.Writer // for remarks and the summary for people: stdout, but stderr if stdout has NDJSON
	warnings io.Writer // for what is written also with -q
	buffers  []*trace.Buffer
	blocks   *render.Blocks     // nil unless each reconcile is shown
	story    *story             // nil unless the run is told
	fields   *render.FieldLines // nil unless fields are followed
	narrowed *narrowed          // nil unless a part is shown
	file     *traceFile         // nil without --trace-file
	// recording is nil without --record.
	recording *recording
	fail      context.CancelCauseFunc
	// copied is the copy that the session began with; nil if it began with none.
	copied *CopyDocument
}

// openOutputs opens all outputs. fail ends the run when one of them fails later.
func (o *Options) openOutputs(fail context.CancelCauseFunc) (*Outputs, error) {
	out := &Outputs{
		o: o, summary: trace.NewSummary(), programs: trace.NewPrograms(),
		created: trace.NewCreatedResources(perNamespace...), writes: trace.NewWriteCounts(),
		failing: trace.NewFailingKeys(),
		stdout:  o.Streams.Out, notes: o.Streams.Out, warnings: o.Streams.ErrOut, fail: fail,
	}
	out.sinks = append(out.sinks, out.summary, out.programs, out.created, out.failing)
	out.found = findings.NewDetector(o.Findings.Limits, out.noteFinding)
	if o.onCluster() {
		out.sinks = append(out.sinks, out.writes)
	}
	if o.TraceFile != "" {
		file, err := createTraceFile(o.TraceFile)
		if err != nil {
			return nil, err
		}
		out.file = file
		out.buffer(&failing{file.Writer, o.TraceFile, fail})
	}
	if o.Record != nil {
		recording, err := openRecording(o, fail)
		if err != nil {
			return nil, errors.Join(err, out.close(nil))
		}
		out.recording = recording
		out.buffer(recording)
	}
	out.buffer(out.found)
	if o.JSON || o.Graph != "" {
		out.interactions = interaction.NewRecorder()
		out.buffer(out.interactions)
	}
	out.openShown()
	return out, nil
}

// openShown opens what is shown while the run goes on: one of NDJSON, changes of fields, the story and blocks, or
// nothing before a graph.
func (out *Outputs) openShown() {
	o := out.o
	switch {
	case o.Graph != "" && o.Serve == nil:
		out.stdout, out.notes = o.Streams.ErrOut, o.Streams.ErrOut
		return
	case o.JSON:
		out.notes = o.Streams.ErrOut
		if !o.Quiet {
			out.buffer(&failing{trace.NewWriter(o.Streams.Out), "stdout", out.fail})
		}
		return
	case len(o.WatchFields) > 0:
		out.fields = o.newFieldLines()
		out.show(out.fields)
		return
	case o.Detail == render.Normal && !o.Blocks && !o.Events && !o.Writes.IsDryRun():
		out.story = newStory(o)
		out.show(out.story)
		return
	}
	out.blocks = render.NewBlocks(o.Streams.Out, render.BlocksOptions{
		Palette: o.Palette, Detail: o.Detail, Events: o.Events, Width: render.TerminalWidth(o.Streams.Out),
		VerboseOnly: simulated, NoisyLogMessages: noisyLogMessages(o.Target.Controllers()), FieldManager: o.author(),
		Starting: o.startingText(),
	})
	out.show(out.blocks)
}

// author is the field manager that is the user's: that of what is applied in the sandbox.
func (o *Options) author() string {
	if o.onCluster() {
		return ""
	}
	return runlocal.FieldManager
}

// startingText names what works before the objects of a run in the sandbox are applied; empty if there is no such time.
// Which controllers run in a copy is not known before that was read.
func (o *Options) startingText() string {
	if sandbox, ok := o.Target.(*Sandbox); ok && sandbox.Copy != nil && o.Serve == nil {
		return "the controllers"
	}
	if n := len(o.Target.Controllers()); !o.onCluster() && o.Serve == nil && n > 0 {
		return cli.Plural(n, "controller")
	}
	return ""
}

// noisyLogMessages returns render.BlocksOptions.NoisyLogMessages of the controllers.
func noisyLogMessages(of []controllers.Controller) map[string][]string {
	messages := map[string][]string{}
	for _, c := range of {
		if c.NoisyLogMessages != nil {
			messages[c.Short] = c.NoisyLogMessages
		}
	}
	return messages
}

// show adds a sink for people, who may have asked for a part of the run.
func (out *Outputs) show(sink trace.Sink) {
	if !out.o.Narrow.isZero() {
		out.narrowed = newNarrowed(out.o.Narrow, sink)
		sink = out.narrowed
	}
	out.buffer(sink)
}

func (out *Outputs) buffer(sink trace.Sink) {
	buffer := trace.NewBuffer(bufferedEvents, sink)
	out.buffers = append(out.buffers, buffer)
	out.sinks = append(out.sinks, buffer)
}

// startAt sets when the run began: the times that are shown are counted from then on.
func (out *Outputs) startAt(t time.Time) {
	if out.blocks != nil {
		out.blocks.StartAt(t)
	}
	if out.story != nil {
		out.story.StartAt(t)
	}
	if out.fields != nil {
		out.fields.StartAt(t)
	}
}

// begin lets outputs be written that follow the names of the objects that were applied.
func (out *Outputs) begin() {
	if out.story != nil {
		out.story.begins.Store(true)
	}
	if out.fields != nil {
		out.fields.Begin()
	}
}

// Notef writes a remark to stdout, or to stderr if stdout has NDJSON. With -q it does nothing.
func (out *Outputs) Notef(format string, args ...any) {
	if !out.o.Quiet {
		out.Summaryf(format, args...)
	}
}

// NoteLines calls Notef with each of the lines.
func (out *Outputs) NoteLines(lines []string) {
	for _, line := range lines {
		out.Notef("%s", line)
	}
}

// Summaryf writes a line, safe for a terminal, to where Notef does, also with -q.
func (out *Outputs) Summaryf(format string, args ...any) {
	_, _ = fmt.Fprintln(out.notes, cli.Wrap(out.notes, render.Escape(fmt.Sprintf(format, args...))))
}

// noteFinding writes a finding when it is first found, of each type up to maxFindings.
func (out *Outputs) noteFinding(f findings.Finding) {
	if out.noted == nil {
		out.noted = map[findings.Type]int{}
	}
	out.noted[f.Type]++
	switch n := out.noted[f.Type]; {
	case out.o.Quiet:
	case n <= maxFindings:
		// An error of writing is one of the next line, too.
		_ = render.Findings(out.notes, []findings.Finding{f}, out.findingsOptions(0))
	case n == maxFindings+1:
		out.Notef("%s: there are more; the summary has them", f.Type)
	}
}

func (out *Outputs) findingsOptions(limit int) render.FindingsOptions {
	return render.FindingsOptions{Palette: out.o.Palette, Width: render.TerminalWidth(out.notes), Limit: limit}
}

// Warnf writes a warning to stderr, also with -q.
func (out *Outputs) Warnf(format string, args ...any) {
	out.Stderrf("warning: "+format, args...)
}

// Hint writes advice on a warning to stderr; an empty text writes nothing.
func (out *Outputs) Hint(text string) {
	if text != "" {
		out.Stderrf("hint: %s", text)
	}
}

// Stderrf writes a line, safe for a terminal, to stderr, also with -q.
func (out *Outputs) Stderrf(format string, args ...any) {
	_, _ = fmt.Fprintln(out.warnings, cli.Wrap(out.warnings, render.Escape(fmt.Sprintf(format, args...))))
}

// Fail ends the run with an error, as an interrupt would.
func (out *Outputs) Fail(err error) { out.fail(err) }

// Manifests prints objects in the form of `kubectl apply`, and reports whether it did: on a terminal, which they would
// fill, it does not.
func (out *Outputs) Manifests(objects []runtime.Object) (printed bool, err error) {
	if render.IsTerminal(out.notes) {
		return false, nil
	}
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return false, fmt.Errorf("encoding a manifest: %w", err)
		}
		if _, err := fmt.Fprintf(out.notes, "---\n%s", text); err != nil {
			return false, fmt.Errorf("printing a manifest: %w", err)
		}
	}
	return true, nil
}

// cut keeps controllers from waiting for an output any more: events that it has no room for are lost.
func (out *Outputs) cut() {
	for _, b := range out.buffers {
		b.DropWhenFull()
	}
}

// flush waits until all events so far are written, after an interrupt for no longer than outputGrace.
func (out *Outputs) flush(ctx context.Context) error {
	ctx, cancel := extended(ctx, outputGrace)
	defer cancel()
	var errs []error
	for _, b := range out.buffers {
		errs = append(errs, b.Close(ctx))
	}
	if out.blocks != nil && errors.Join(errs...) == nil {
		errs = append(errs, out.blocks.Close())
	}
	if out.fields != nil && errors.Join(errs...) == nil {
		errs = append(errs, out.fields.Close())
	}
	if out.story != nil {
		told := make(chan error, 1) // buffered: a write that hangs ends with the process
		go func() { told <- out.story.Close() }()
		select {
		case err := <-told:
			errs = append(errs, err)
		case <-ctx.Done():
			errs = append(errs, errors.New("telling the run: the output does not accept it"))
		}
	}
	return errors.Join(errs...)
}

// recorded returns what the sinks have recorded for the summary.
func (out *Outputs) recorded() recorded {
	r := recorded{controllers: out.summary.Controllers(), programs: out.programs.Programs(),
		failing: out.failing.Failing(), unverified: out.failing.Unverified()}
	r.written, r.refused = out.writes.Counts()
	return r
}

// finish writes the last events, and the summary.
func (out *Outputs) finish(ctx context.Context, r *result) error {
	err := out.flush(ctx)
	r.trace.findings = out.found.Findings()
	if err != nil {
		return err
	}
	written := make(chan error, 1) // buffered: a write that hangs ends with the process
	go func() { written <- out.writeSummary(r) }()
	ctx, cancel := extended(ctx, outputGrace)
	defer cancel()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return errors.New("writing the summary: the output does not accept it")
	}
}

// writeSummary writes the summary, as the last line of the NDJSON or for people.
func (out *Outputs) writeSummary(r *result) error {
	if !out.o.JSON {
		err := out.printSummary(r)
		if err == nil && out.o.Graph != "" {
			err = out.writeGraph(r)
		}
		return err
	}
	enc := json.NewEncoder(out.stdout)
	enc.SetEscapeHTML(false)
	doc := r.document(out.o.Writes.IsDryRun())
	doc.Copy = out.copied
	graph := out.interactions.Graph(r.watches)
	doc.Interactions = &graph
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}

// close closes the trace file and the recording, and returns an error unless all of them was written. cause is why the
// session has ended; nil if its goal was reached.
func (out *Outputs) close(cause error) error {
	err := out.recording.close(cause)
	if out.file == nil {
		return err
	}
	return errors.Join(err, out.file.close())
}

// traceFile is the file of --trace-file.
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

// failing is a trace.Sink that ends the run at the first error of its writer: a run whose trace is lost is of no use.
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
