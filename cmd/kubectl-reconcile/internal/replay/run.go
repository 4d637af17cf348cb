package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/input"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
)

// sink takes the entries of a timeline.
type sink interface {
	add(*timeline.Entry) error
	// end is called after the last entry.
	end() error
}

// Run shows the recording.
func (o *Options) Run(ctx context.Context) error {
	recording, closeFiles, err := input.Open(ctx, o.streams, o.files)
	if err != nil {
		return err
	}
	if o.isLive() {
		recording = live{recording, ctx}
	}
	return errors.Join(o.show(ctx, recording), closeFiles())
}

func (o *Options) show(ctx context.Context, recording replay.Recording) error {
	options, err := o.timelineOptions(recording)
	if err != nil {
		return err
	}
	if o.output == "" {
		o.note(o.notes(recording))
	}
	switch {
	case o.isExport():
		return o.export(recording, options)
	case o.follow:
		return o.play(ctx, recording, options)
	case o.story:
		return o.tellStory(ctx, recording, options)
	}
	paged := o.pagedOutput(ctx)
	t := timeline.New(recording, options)
	sink := o.sink(paged, t)
	if o.summarizer != nil && !o.summary {
		sink = judged{sink, o, paged}
	}
	shown, err := copyEntries(ctx, t, sink, o.isLive())
	err = errors.Join(err, paged.Close())
	var found error
	if o.summarizer != nil {
		found = cli.WithExitCode(o.findings.Err(o.summarizer.Findings()), 1)
	}
	if errors.Is(err, errPagerEnded) {
		return found
	}
	if err != nil || ctx.Err() != nil {
		return errors.Join(err, found)
	}
	return errors.Join(o.conclude(recording, t, shown), found)
}

// judged is a sink of a timeline that shows findings after it.
type judged struct {
	sink
	o   *Options
	out io.Writer
}

// add implements sink.
func (j judged) add(e *timeline.Entry) error {
	j.o.summarizer.Detect(e)
	return j.sink.add(e)
}

// end implements sink.
func (j judged) end() error {
	if j.o.output != "" {
		j.out = j.o.streams.ErrOut
	}
	return errors.Join(j.sink.end(), render.Findings(j.out, j.o.summarizer.Findings(), j.o.findingsOptions()))
}

func (o *Options) findingsOptions() render.FindingsOptions {
	return render.FindingsOptions{Palette: o.palette, Width: o.width}
}

// isLive reports whether records may still be written while they are read: nothing may be read ahead then.
func (o *Options) isLive() bool { return slices.Contains(o.files, "-") }

// timelineOptions returns the options of the timeline, and moves the recording to where it begins.
func (o *Options) timelineOptions(recording replay.Recording) (timeline.Options, error) {
	filter := o.narrow.filter
	if len(o.narrow.trees) > 0 {
		filter.Tree = timeline.NewTree(o.narrow.trees)
	}
	var out timeline.Options
	if o.summarizer != nil {
		out = o.summarizer.Options(filter)
	}
	if !o.summary {
		out = timeline.Options{Filter: filter, Existing: o.existing, Trace: out.Trace}
	}
	out.AllFields = o.allFields
	var info replay.Info
	if !o.isLive() {
		var err error
		if info, err = recording.Info(); err != nil {
			return out, err
		}
		if err := checkKinds(recording, out.Filter, info.Streams); err != nil {
			return out, err
		}
		if err := o.checkNames(recording, out.Filter); err != nil {
			return out, err
		}
		if err := timeline.ReadAhead(recording, &out); err != nil {
			return out, err
		}
	}
	return out, o.setMoments(recording, info, &out)
}

// checkKinds returns an error for kinds of the filter of which nothing was recorded, and no Event is about one either.
func checkKinds(recording replay.Recording, filter timeline.Filter, streams []replay.Stream) error {
	recorded := func(name string) bool { return timeline.HasKind(name, streams) }
	unknown := slices.DeleteFunc(filter.KindNames(), recorded)
	if len(unknown) == 0 {
		return nil
	}
	events := timeline.New(recording, timeline.Options{
		Filter: timeline.Filter{Kinds: unknown, Types: []timeline.Type{timeline.Reported}}, Existing: true,
	})
	for {
		switch _, err := events.Next(); {
		case errors.Is(err, io.EOF) || isTorn(err):
			return errors.Join(errUnknownKinds(events.UnknownKinds(), streams), recording.Rewind())
		case err != nil:
			return err
		}
	}
}

// checkNames returns an error for objects and a namespace of the filter that the recording does not have.
func (o *Options) checkNames(recording replay.Recording, filter timeline.Filter) error {
	if len(filter.Objects) == 0 && filter.Tree == nil && filter.Namespace == "" {
		return nil
	}
	absent, err := timeline.FindAbsent(recording, filter)
	if err != nil && !isTorn(err) {
		return err
	}
	var errs []error
	for _, object := range absent.Objects {
		errs = append(errs, cli.WithHint(fmt.Errorf("the recording has no %q", object.Kind+"/"+object.Name.Name),
			cli.Suggestion(object.Name.Name, object.Known, "")))
	}
	if absent.Namespace != "" {
		known := "it has " + cli.Enumerate(absent.Namespaces)
		if len(absent.Namespaces) == 0 {
			known = "its objects are in none"
		}
		errs = []error{cli.WithHint(fmt.Errorf("the recording has nothing of the namespace %q", absent.Namespace),
			cli.Suggestion(absent.Namespace, absent.Namespaces, known))}
	}
	return errors.Join(append(errs, recording.Rewind())...)
}

func isTorn(err error) bool {
	torn := (*replay.TornError)(nil)
	return errors.As(err, &torn)
}

// shown is what was shown of a timeline.
type shown struct {
	changes int    // entries about objects
	torn    string // how the recording was cut off; empty if it was not
}

// copyEntries gives all entries to a sink. That the user ends a live timeline is no error.
func copyEntries(ctx context.Context, t *timeline.Timeline, s sink, live bool) (shown, error) {
	var out shown
	for {
		if ctx.Err() != nil && !live {
			return out, errors.Join(s.end(), cli.Interruption(ctx, "before the end of the recording"))
		}
		e, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return out, s.end()
		case isTorn(err):
			out.torn = err.Error()
			return out, s.end()
		case err != nil:
			return out, errors.Join(s.end(), err)
		}
		if e.Object != nil || e.Reconcile != nil {
			out.changes++
		}
		if err := s.add(e); err != nil {
			return out, err
		}
	}
}

// conclude writes what there is to say after the timeline.
func (o *Options) conclude(recording replay.Recording, t *timeline.Timeline, shown shown) error {
	if shown.torn != "" {
		o.warnTorn(shown.torn)
	}
	if info, err := recording.Info(); err == nil && o.output == "" {
		o.note(input.Notes(&info))
	}
	if shown.changes > 0 || shown.torn != "" && len(t.Streams()) == 0 {
		return nil
	}
	if o.isLive() && !t.SinceReached() {
		return fmt.Errorf("--since: the input ended before %s", o.narrow.since)
	}
	streams := t.Streams()
	if err := errUnknownKinds(t.UnknownKinds(), streams); err != nil && len(streams) > 0 {
		return err
	}
	if o.isLive() && len(streams) > 0 {
		filter := o.narrow.filter
		if len(o.narrow.trees) > 0 {
			filter.Tree = timeline.NewTree(o.narrow.trees)
		}
		if err := errors.Join(recording.Rewind(), o.checkNames(recording, filter)); err != nil {
			return err
		}
	}
	if o.output == "" && !o.summary {
		fmt.Fprintln(o.streams.ErrOut, o.emptyText(t))
	}
	if writers := t.Writers(); len(o.narrow.filter.Writers) > 0 && len(writers) > 0 {
		hint := cli.Suggestion(o.narrow.filter.Writers[0], writers, "there are "+cli.Enumerate(writers))
		cli.PrintHint(o.streams.ErrOut, hint)
	}
	return nil
}

// warnTorn says how a recording was cut off.
func (o *Options) warnTorn(text string) {
	fmt.Fprintln(o.streams.ErrOut, cli.Wrap(o.streams.ErrOut, "warning: "+cli.OneLine(text)))
}

// emptyText is what is written if there is nothing to show.
func (o *Options) emptyText(t *timeline.Timeline) string {
	switch {
	case o.narrow.filter.Narrow() || len(o.narrow.trees)+len(o.narrow.filter.Types) > 0:
		return "No changes found that are selected."
	case o.narrow.since != "" || o.narrow.until != "":
		return "No changes found in that time."
	case len(t.Streams()) == 0:
		return "The recording is empty."
	}
	return "No changes found."
}
