package replay

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// parseMoment parses the moment of a flag. day is one of which a time without a date is.
func parseMoment(flag, text string, day time.Time) (replay.Moment, error) {
	if text == "" {
		return replay.Moment{}, nil
	}
	if number, ok := strings.CutPrefix(text, "#"); ok {
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n > 0 {
			return replay.Moment{Number: n}, nil
		}
	}
	if _, err := strconv.ParseUint(text, 10, 64); err == nil {
		return replay.Moment{ResourceVersion: text}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return replay.Moment{Time: t}, nil
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil && !day.IsZero() {
			y, m, d := day.UTC().Date()
			return replay.Moment{Time: time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)}, nil
		}
	}
	return replay.Moment{}, cli.WithHint(fmt.Errorf("--%s %q is not a moment", flag, text), "a time, #N or a resource version")
}
