package record

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/recorder"
)

// The reasons for which a recording ends in order, besides an interrupt.
var (
	errTimeOver = errors.New("the time of --for is over")
	errFull     = errors.New("--max-size is reached")
)

// Run records until it is interrupted, or as long as flags say.
func (o *Options) Run(ctx context.Context) error {
	served, err := o.connection.Open(ctx, o.connection.Config)
	if err != nil {
		return err
	}
	selections, err := o.what.selections(served.Kinds)
	if err != nil {
		return o.connection.Explain(err)
	}
	if err := o.checkRules(selections); err != nil {
		return err
	}
	head, err := o.header(ctx, served)
	if err != nil {
		return err
	}
	absent := served.CheckNamespace(ctx, o.what.namespace)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	out, err := openOutput(o.output, head, func() { end(errFull) })
	if err != nil {
		return err
	}
	r := &recording{Options: o, served: served, selections: selections, out: out, began: o.clock.Now(), absent: absent}
	return r.run(ctx, end)
}

// checkRules returns an error if a rule of --redact is for no kind that is recorded: what it should hide would be
// written.
func (o *Options) checkRules(selections []recorder.Selection) error {
	if rule := o.redaction.Unused(selections); rule != "" {
		return cli.WithHint(fmt.Errorf("--redact %q is for no kind that is recorded", rule),
			"TYPE is a name of a kind as kubectl takes it, or * for all")
	}
	return nil
}

// header reads what a recording begins with. The function returns it with the time of its call.
func (o *Options) header(ctx context.Context, served *connect.Cluster) (func() replay.Header, error) {
	version, err := o.connection.ServerVersion(ctx)
	if err != nil {
		return nil, o.connection.Explain(err)
	}
	return func() replay.Header {
		return replay.Header{
			Tool: "kubectl-reconcile " + cli.Version(), Server: version, Cluster: clusterID(ctx, served),
			Context: o.connection.Context, Start: o.clock.Now().UTC(), Redacted: o.redaction.Redactor != nil,
			Options: o.given,
		}
	}, nil
}

// clusterID returns the uid of the namespace kube-system; empty if it cannot be read.
func clusterID(ctx context.Context, served *connect.Cluster) string {
	kind, ok, err := served.Kinds.Lookup(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if err != nil || !ok {
		return ""
	}
	namespace, err := served.Reader.Metadata(ctx, kind, "", metav1.NamespaceSystem)
	if err != nil {
		return ""
	}
	return string(namespace.UID)
}

// recording is a recording that runs.
type recording struct {
	*Options
	served     *connect.Cluster
	selections []recorder.Selection
	out        *output
	recorder   *recorder.Recorder
	notes      *notes
	began      time.Time
	absent     error // that the namespace does not exist; nil if it may
}

// run records until ctx ends. end ends it.
func (r *recording) run(ctx context.Context, end context.CancelCauseFunc) error {
	r.notes = newNotes(r.connection.Progress.Writer(r.streams.ErrOut))
	var err error
	if r.recorder, err = recorder.New(r.recorderOptions()); err != nil {
		return errors.Join(err, r.out.discard())
	}
	if len(r.what.named) > 0 && !r.what.all() { // that a kind is deprecated concerns a user who has named it
		r.connection.Config.WarningHandler = connect.NewWarnings(r.notes.out)
	}
	r.notes.line("%s", r.startLine())
	if r.absent != nil {
		r.notes.line("warning: %v yet: nothing of it is recorded until it is created", r.absent)
		cli.EachHint(r.absent, func(hint *string) { r.notes.line("hint: %s", *hint) })
	}
	shown := r.connection.Progress.Show(ctx, r.progressLine())
	runCtx, stop := context.WithCancel(ctx)
	defer stop()
	noted := make(chan struct{})
	go func() {
		defer close(noted)
		select {
		case <-r.recorder.Started():
			r.started()
			r.endAfter(runCtx, end)
		case <-runCtx.Done():
		}
	}()
	err = r.recorder.Run(ctx, r.connection.Config, r.selections)
	stop()
	<-noted
	shown()
	if errors.Is(err, recorder.ErrNothingRecorded) {
		return errors.Join(r.nothingRecorded(), r.out.discard())
	}
	if r.recorder.Stats().Streams == 0 && err == nil {
		return errors.Join(cli.Interruption(ctx, "before anything was recorded"), r.out.discard())
	}
	if err == nil {
		err = r.recorder.End(endText(context.Cause(ctx)))
	}
	if closed := r.out.close(); err == nil {
		err = closed
	}
	r.summary(context.Cause(ctx))
	return errors.Join(err, r.unrecorded())
}

// unrecorded returns an error for each kind of which no list, or no change, could be recorded all the time. What is not
// permitted was said at the start: it is an error only of a kind that was named.
func (r *recording) unrecorded() error {
	named := len(r.what.named) > 0 && !r.what.all()
	var errs []error
	for _, t := range r.recorder.Troubles() {
		switch name := connect.IncompleteName(t.Incomplete); {
		case t.Watched || t.Ended && !named:
		case t.Listed:
			errs = append(errs, fmt.Errorf("no change of %s was recorded: no watch has worked: %s", name, t.Message))
		default:
			errs = append(errs, fmt.Errorf("nothing of %s was recorded: %s", name, t.Message))
		}
	}
	return errors.Join(errs...)
}

// endAfter ends the recording after the time of --for.
func (r *recording) endAfter(ctx context.Context, end context.CancelCauseFunc) {
	if r.duration == 0 {
		return
	}
	timer := r.clock.NewTimer(r.duration)
	defer timer.Stop()
	select {
	case <-timer.C():
		end(errTimeOver)
	case <-ctx.Done():
	}
}

func (r *recording) recorderOptions() recorder.Options {
	out := recorder.Options{
		Sink: r.out, Clock: r.clock, Trouble: r.notes.trouble,
		Random: rand.Float64,
	}
	if r.redaction.Redactor != nil {
		out.Redactor = r.redaction.Redactor
	}
	if len(r.what.named) == 0 || r.what.all() {
		out.Rediscover = func(ctx context.Context) ([]recorder.Selection, error) {
			kinds, err := cluster.Discover(ctx, r.connection.Config)
			if err != nil {
				return nil, err
			}
			return r.what.selections(kinds)
		}
	}
	return out
}

// started says what is recorded, once all first lists were tried.
func (r *recording) started() {
	stats := r.recorder.Stats()
	if stats.Streams == 0 {
		return // the error says it
	}
	ends := "Ctrl-C ends it"
	if r.duration > 0 {
		ends = "for " + r.duration.String()
	}
	r.notes.line("%s of %s; %s", cli.Plural(stats.Objects, "object"), cli.Plural(stats.Streams, "kind"), ends)
	missing := r.served.Kinds.Incomplete()
	for _, t := range r.recorder.Troubles() {
		missing = append(missing, t.Incomplete)
	}
	for _, line := range connect.DescribeIncomplete(cluster.SortIncomplete(missing)) {
		r.notes.line("%s", line)
	}
	r.notes.begin()
}

// nothingRecorded returns the error of a recording that has nothing in it.
func (r *recording) nothingRecorded() error {
	var forbidden []connect.Target
	for _, t := range r.recorder.Troubles() {
		if t.Reason != cluster.ReasonForbidden {
			continue
		}
		kind, err := r.served.Kinds.Resolve(connect.IncompleteName(t.Incomplete))
		if err != nil {
			continue
		}
		forbidden = append(forbidden, connect.NewTarget(kind, r.what.namespace, ""))
	}
	if len(forbidden) > 0 {
		return r.connection.ForbiddenError(forbidden, r.what.namespace == "")
	}
	var errs []error
	for _, t := range r.recorder.Troubles() {
		errs = append(errs, fmt.Errorf("listing %s: %s", connect.IncompleteName(t.Incomplete), t.Message))
	}
	if len(errs) == 0 {
		errs = append(errs, errors.New("the server has no kinds that can be recorded"))
	}
	return errors.Join(errs...)
}

// endText is what the last record says of why the recording has ended.
func endText(cause error) string {
	switch {
	case errors.Is(cause, errTimeOver), errors.Is(cause, errFull):
		return cause.Error()
	}
	return "interrupted"
}
