package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/input"
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
	recording, closeFiles, err := input.Open(o.streams, o.files)
	if err != nil {
		return err
	}
	return errors.Join(o.show(ctx, recording), closeFiles())
}

func (o *Options) show(ctx context.Context, recording replay.Recording) error {
	options, err := o.timelineOptions(recording)
	if err != nil {
		return err
	}
	if o.follow {
		return o.play(ctx, recording, options)
	}
	paged := o.pagedOutput(ctx)
	t := timeline.New(recording, options)
	s := o.sink(paged, t)
	shown, err := copyEntries(ctx, t, s)
	err = errors.Join(err, paged.Close())
	if errors.Is(err, errPagerEnded) {
		return nil
	}
	return errors.Join(err, o.conclude(t, shown))
}

// isLive reports whether records may still be written while they are read: nothing may be read ahead then.
func (o *Options) isLive() bool { return slices.Contains(o.files, "-") }

// timelineOptions returns the options of the timeline, and moves the recording to where it begins.
func (o *Options) timelineOptions(recording replay.Recording) (timeline.Options, error) {
	out := timeline.Options{Filter: o.narrow.filter, Existing: o.existing, AllFields: o.allFields}
	if o.summary {
		out = timeline.NewSummarizer().Options(o.narrow.filter)
		out.AllFields = o.allFields
	}
	if len(o.narrow.trees) > 0 {
		out.Filter.Tree = timeline.NewTree(o.narrow.trees)
	}
	var day time.Time
	if !o.isLive() {
		info, err := recording.Info()
		if err != nil {
			return out, err
		}
		day = info.First
		if err := o.checkKinds(out.Filter, info.Streams); err != nil {
			return out, err
		}
		if out.Filter.Tree != nil {
			if err := out.Filter.Tree.Scan(recording); err != nil && !isTorn(err) {
				return out, err
			}
			if err := recording.Rewind(); err != nil {
				return out, err
			}
		}
	}
	var err error
	if out.Since, err = parseMoment("since", o.narrow.since, day); err != nil {
		return out, err
	}
	if out.Until, err = parseMoment("until", o.narrow.until, day); err != nil || o.isLive() {
		return out, err
	}
	return out, o.seek(recording, &out)
}

// seek moves to the moment before Since, where there are records before it.
func (o *Options) seek(recording replay.Recording, options *timeline.Options) error {
	info, err := recording.Info()
	if err != nil {
		return err
	}
	before := options.Since
	switch since := options.Since; {
	case since == replay.Moment{}:
		return nil
	case since.Number > 0:
		before.Number--
	case !since.Time.IsZero():
		before.Time = since.Time.Add(-time.Microsecond)
	}
	if before.Number == 0 && before.Time.IsZero() || !before.Time.IsZero() && before.Time.Before(info.First) {
		return nil // the timeline finds it itself
	}
	if !options.Since.Time.IsZero() && options.Since.Time.After(info.Last) {
		before = options.Since // the error is about what was asked for
	}
	state, err := recording.Seek(before)
	if err != nil {
		return fmt.Errorf("--since: %w", err)
	}
	options.State, options.Since = state, replay.Moment{}
	return nil
}

// checkKinds returns an error for kinds of the filter of which nothing was recorded.
func (o *Options) checkKinds(filter timeline.Filter, streams []replay.Stream) error {
	var unknown []string
	for _, name := range filter.KindNames() {
		if !timeline.HasKind(name, streams) {
			unknown = append(unknown, name)
		}
	}
	return errUnknownKinds(unknown, timeline.KindNames(streams))
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

// copyEntries gives all entries to a sink.
func copyEntries(ctx context.Context, t *timeline.Timeline, s sink) (shown, error) {
	var out shown
	for ctx.Err() == nil {
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
	return out, errors.Join(s.end(), cli.Interruption(ctx, "before the end of the recording"))
}

// conclude writes what there is to say after the timeline.
func (o *Options) conclude(t *timeline.Timeline, shown shown) error {
	if shown.torn != "" {
		fmt.Fprintln(o.streams.ErrOut, cli.Wrap(o.streams.ErrOut, "warning: "+cli.OneLine(shown.torn)))
	}
	if shown.changes > 0 {
		return nil
	}
	streams := t.Streams()
	if err := errUnknownKinds(t.UnknownKinds(), timeline.KindNames(streams)); err != nil && len(streams) > 0 {
		return err
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
