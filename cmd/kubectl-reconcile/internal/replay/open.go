package replay

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/imports"
)

// open opens files as one recording.
func open(streams genericiooptions.IOStreams, files []string) (replay.Recording, func() error, error) {
	if files[0] == "-" {
		source, err := imports.Open(streams.In)
		if err != nil {
			return nil, nil, err
		}
		return &live{Source: source}, func() error { return nil }, nil
	}
	file, err := replay.OpenFile(files[0], replay.ReaderOptions{})
	if err != nil {
		return nil, nil, err
	}
	return file, file.Close, nil
}

type live struct{ replay.Source }

func (l *live) Info() (replay.Info, error) { return replay.Info{}, nil }
func (l *live) Seek(m replay.Moment) (*replay.State, error) {
	return nil, &replay.OutsideError{Moment: m}
}
func (l *live) Rewind() error { return nil }

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
