package serve

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/keys"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
)

// steering notes how a server is steered.
type steering struct {
	status playback.Status
	did    string
}

func (s *steering) Status() playback.Status      { return s.status }
func (s *steering) Play() error                  { s.did = "play"; return nil }
func (s *steering) Pause()                       { s.did = "pause" }
func (s *steering) SetSpeed(speed float64) error { s.did = fmt.Sprintf("speed %g", speed); return nil }

func (s *steering) Step(_ context.Context, n int) error {
	s.did = fmt.Sprintf("step %d", n)
	return nil
}

func (s *steering) Seek(_ context.Context, m replay.Moment) error {
	s.did = "seek " + m.String()
	return nil
}

func TestKeys(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 10, 0, second, 0, time.UTC) }
	timed := playback.Status{Number: 5, Records: 9, First: at(0), Last: at(30), Time: at(15), Speed: 2}
	playing, untimed := timed, playback.Status{Number: 1, Records: 9, Speed: 1}
	playing.Playing = true
	for _, row := range []struct {
		reason string
		status playback.Status
		key    keys.Press
		want   string
	}{
		{"it stands still", timed, keys.Press{Name: keys.Pause}, "play"},
		{"it plays", playing, keys.Press{Name: keys.Pause}, "pause"},
		{"faster", playing, keys.Press{Name: keys.Faster}, "speed 4"},
		{"slower", playing, keys.Press{Name: keys.Slower}, "speed 1"},
		{"on", timed, keys.Press{Name: keys.Move, By: 10 * time.Second}, "seek " + replay.Moment{Time: at(25)}.String()},
		{"back", timed, keys.Press{Name: keys.Move, By: -10 * time.Second}, "seek " + replay.Moment{Time: at(5)}.String()},
		{"past the end", timed, keys.Press{Name: keys.Move, By: time.Minute}, "seek " + replay.Moment{Time: at(30)}.String()},
		{"before the beginning", timed, keys.Press{Name: keys.Move, By: -time.Minute}, "seek " + replay.Moment{Time: at(0)}.String()},
		{"no times", untimed, keys.Press{Name: keys.Move, By: time.Minute}, "there are no times to move by: . and , move by a record"},
		{"a step", untimed, keys.Press{Name: keys.Step, Number: 1}, "step 1"},
		{"a step back", timed, keys.Press{Name: keys.Step, Number: -1}, "seek #4"},
		{"a step back from the first record", untimed, keys.Press{Name: keys.Step, Number: -1}, "seek #1"},
		{"a record", timed, keys.Press{Name: keys.Number, Number: 7}, "seek #7"},
		{"a record that there is not", timed, keys.Press{Name: keys.Number, Number: 70}, "seek #9"},
	} {
		s := &steering{status: row.status}
		if err := press(t.Context(), s, row.key); err != nil {
			s.did = err.Error()
		}
		if diff := cmp.Diff(row.want, s.did); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}
