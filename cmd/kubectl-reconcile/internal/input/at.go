package input

import (
	"errors"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// Moment returns the moment that a user names in a recording, such as by --at; the end for no text. Its errors have
// hints.
func Moment(text string, info replay.Info) (replay.Moment, error) {
	if text == "" {
		return replay.Moment{}, nil
	}
	m, err := replay.ParseMoment(text, info)
	return m, MomentError(err)
}

// MomentError adds a hint to an error of replay.ParseMoment or of Seek, if it is about the moment.
func MomentError(err error) error {
	var (
		moment  *replay.MomentError
		outside *replay.OutsideError
	)
	switch {
	case errors.As(err, &outside) && outside.Records == 0:
		return cli.WithHint(err, "there is nothing to show of it")
	case errors.As(err, &outside) && outside.First.IsZero() && !outside.Moment.Time.IsZero():
		return cli.WithHint(err, "name a record by its number, as #1, or a resourceVersion, start or end")
	case errors.As(err, &outside):
		return cli.WithHint(err, "start and end name its first and its last moment")
	case errors.As(err, &moment):
		return cli.WithHint(err, "a moment is a time, as 10:04:05 or 2026-11-27T10:04:05Z, a time since the "+
			"beginning, as +90s, or before the end, as -2m, a record, as #120, a resourceVersion, start or end")
	}
	return err
}
