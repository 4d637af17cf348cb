package moment

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// atHint describes the values of --at.
const atHint = "--at takes a time, +90s after the beginning, -2m before the end, #n for record n, a resourceVersion, " +
	"start and end"

// Moment parses the value of --at; empty is the end.
func (i *Input) Moment(at string) (replay.Moment, error) {
	invalid := func() (replay.Moment, error) {
		return replay.Moment{}, cli.WithHint(fmt.Errorf("%q is not a moment", at), atHint)
	}
	switch at {
	case "", "end":
		return replay.Moment{}, nil
	case "start":
		return replay.Moment{Start: true}, nil
	}
	switch at[0] {
	case '#':
		n, err := strconv.ParseInt(at[1:], 10, 64)
		if err != nil || n < 1 {
			return invalid()
		}
		return replay.Moment{Number: n}, nil
	case '+', '-':
		d, err := time.ParseDuration(at[1:])
		if err != nil {
			return invalid()
		}
		return i.relative(at, d)
	}
	if strings.Trim(at, "0123456789") == "" {
		return replay.Moment{ResourceVersion: at}, nil
	}
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return invalid()
	}
	return replay.Moment{Time: t.UTC()}, nil
}

// relative returns the moment so long after the beginning or before the end.
func (i *Input) relative(at string, d time.Duration) (replay.Moment, error) {
	info, err := i.Info()
	if err != nil {
		return replay.Moment{}, fmt.Errorf("reading %s: %w", i.Name, err)
	}
	if info.First.IsZero() {
		return replay.Moment{}, cli.WithHint(errors.New(i.Name+" has no times"), "#n is record n")
	}
	if at[0] == '+' {
		return replay.Moment{Time: info.First.Add(d)}, nil
	}
	return replay.Moment{Time: info.Last.Add(-d)}, nil
}
