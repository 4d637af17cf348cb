package replay

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/input"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
)

// setMoments sets the part of the recording that the flags name.
func (o *Options) setMoments(recording replay.Recording, info replay.Info, out *timeline.Options) error {
	if o.isLive() {
		// The end of a stream is not known: whether it has the moments turns out when they come.
		info = replay.Info{Records: math.MaxInt64, First: recording.Header().Start}
		if !info.First.IsZero() {
			info.Last = info.First.AddDate(100, 0, 0)
		}
	}
	var err error
	if out.Until, err = o.until(recording, info); err != nil {
		return input.MomentError(fmt.Errorf("%s: %w", o.narrow.untilFlag, err))
	}
	if out.Since, err = o.since(info); err != nil {
		return input.MomentError(fmt.Errorf("--since: %w", err))
	}
	if o.isLive() {
		return nil
	}
	if err := o.seekSince(recording, info, out); err != nil {
		return input.MomentError(fmt.Errorf("--since: %w", err))
	}
	return nil
}

// since returns the first moment; zero for the beginning. A time before the recording is its beginning.
func (o *Options) since(info replay.Info) (replay.Moment, error) {
	if o.narrow.since == "" {
		return replay.Moment{}, nil
	}
	m, err := replay.ParseSince(o.narrow.since, info)
	outside := (*replay.OutsideError)(nil)
	switch {
	case errors.As(err, &outside) && !info.First.IsZero() && outside.Moment.Time.Before(info.First) &&
		!outside.Moment.Time.IsZero():
		return replay.Moment{}, nil
	case err == nil && m == replay.Moment{}: // the end
		return replay.Moment{Number: math.MaxInt64}, nil
	}
	return m, err
}

// until returns the last moment; zero for the end. A time after the recording is its end.
func (o *Options) until(recording replay.Recording, info replay.Info) (replay.Moment, error) {
	if o.narrow.until == "" {
		return replay.Moment{}, nil
	}
	m, err := replay.ParseMoment(o.narrow.until, info)
	if outside := (*replay.OutsideError)(nil); errors.As(err, &outside) && outside.Moment.Time.After(info.Last) {
		return replay.Moment{}, nil
	}
	if err != nil || o.isLive() || m.ResourceVersion == "" && !m.Start {
		return m, err
	}
	state, err := recording.Seek(m) // which number it is
	if err != nil {
		return m, err
	}
	return replay.Moment{Number: state.Number}, recording.Rewind()
}

// seekSince moves the recording to just before Since, so that the timeline need not read what is before.
func (o *Options) seekSince(recording replay.Recording, info replay.Info, out *timeline.Options) error {
	before := out.Since
	switch {
	case before == replay.Moment{}:
		return nil
	case before.Number == math.MaxInt64:
		before = replay.Moment{}
	case before.Number == 1, !before.Time.IsZero() && !before.Time.After(info.First):
		out.Since = replay.Moment{}
		return nil
	case before.Number > 1:
		before.Number--
	case !before.Time.IsZero():
		before.Time = before.Time.Add(-time.Microsecond)
	}
	state, err := recording.Seek(before)
	if err != nil {
		return err
	}
	if before.ResourceVersion != "" { // the record of that version is the first that is shown
		out.Since = replay.Moment{Number: state.Number}
		return o.seekSince(recording, info, out)
	}
	out.State, out.Since = state, replay.Moment{}
	return nil
}

// notes returns what the form of the input does not have, and what was left out of it.
func (o *Options) notes(recording replay.Recording) []string {
	var out []string
	if note := input.FormNote(recording.Header()); note != "" {
		out = append(out, note)
	}
	return out
}

// note writes notes on stderr.
func (o *Options) note(notes []string) {
	for _, text := range notes {
		fmt.Fprintln(o.streams.ErrOut, cli.Wrap(o.streams.ErrOut, "note: "+cli.OneLine(text)))
	}
}
