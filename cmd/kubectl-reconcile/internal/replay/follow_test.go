package replay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/keys"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
)

// paced has a change now, after 1s, after 3s and after 63s.
func paced(t *testing.T) *recording {
	t.Helper()
	r := newRecording(t, "configmaps/v1 ConfigMap")
	for i, wait := range []int{0, 1000, 2000, 60_000} {
		r.wait(wait)
		r.object(replay.TypeAdded, "ConfigMap", string(rune('a'+i)), "", "")
	}
	return r
}

// played are the times at which entries and what is said are shown, since the beginning.
type played struct {
	began time.Time
	lines []string
}

func (p *played) show(text string) {
	p.lines = append(p.lines, time.Since(p.began).String()+" "+text)
}

// add implements sink.
func (p *played) add(e *timeline.Entry) error {
	if e.Object != nil {
		p.show(e.Object.Name)
	}
	return nil
}

// end implements sink.
func (p *played) end() error { return nil }

// playWith plays a recording with keys that are pressed at times since the beginning.
func playWith(t *testing.T, recording replay.Recording, speed float64, canSeek bool, press map[time.Duration]keys.Press) ([]string, error) {
	t.Helper()
	keys := make(chan keys.Press)
	shown := &played{began: time.Now()}
	p := &player{
		recording: recording, canSeek: canSeek, speed: speed, clock: clock.RealClock{}, keys: keys, say: shown.show,
		newSink: func(*timeline.Timeline) sink { return shown },
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for at, key := range press {
		time.AfterFunc(at, func() {
			select {
			case keys <- key:
			case <-ctx.Done():
			}
		})
	}
	p.begin(timeline.Options{})
	_, err := p.run(ctx)
	return shown.lines, err
}

func TestFollow(t *testing.T) {
	numbered := paced(t)
	for _, r := range numbered.Records {
		r.Time = time.Time{}
	}
	for _, row := range []struct {
		reason    string
		recording *replay.Memory
		speed     float64
		live      bool
		press     map[time.Duration]keys.Press
		want      string
		err       error
	}{
		{"as fast as it happened, but long pauses", nil, 1, false, nil, "0s a, 1s b, 3s c, 13s d", nil},
		{"faster", nil, 10, false, nil, "0s a, 100ms b, 300ms c, 6.3s d", nil},
		{"without times, one a second", &numbered.Memory, 2, false, nil, "500ms a, 1s b, 1.5s c, 2s d", nil},
		{"a pause in between", nil, 1, false, map[time.Duration]keys.Press{2 * time.Second: {Name: keys.Pause}, 7 * time.Second: {Name: keys.Pause}},
			"0s a, 1s b, 2s paused; space goes on, 8s c, 18s d", nil},
		{"ended", nil, 1, false, map[time.Duration]keys.Press{2 * time.Second: {Name: keys.Quit}}, "0s a, 1s b", errQuit},
		{"back", nil, 1, false, map[time.Duration]keys.Press{4 * time.Second: {Name: keys.Move, By: -2 * time.Second}},
			"0s a, 1s b, 3s c, 4s at 2026-01-31 23:59:59.000 UTC, 6s c, 16s d", nil},
		{"before the beginning", nil, 1, false, map[time.Duration]keys.Press{4 * time.Second: {Name: keys.Move, By: -time.Minute}},
			"0s a, 1s b, 3s c, 4s at 2026-01-31 23:59:58.000 UTC, 5s b, 7s c, 17s d", nil},
		{"past the end", nil, 1, false, map[time.Duration]keys.Press{4 * time.Second: {Name: keys.Move, By: time.Hour}},
			"0s a, 1s b, 3s c, 4s at 2026-02-01 00:01:01.000 UTC", nil},
		{"to a number", nil, 1, false, map[time.Duration]keys.Press{2 * time.Second: {Name: keys.Number, Number: 4}},
			"0s a, 1s b, 2s at 2026-02-01 00:00:01.000 UTC, 12s d", nil},
		{"faster from here on", nil, 1, false, map[time.Duration]keys.Press{2 * time.Second: {Name: keys.Faster}}, "0s a, 1s b, 2s speed 2, 3s c, 13s d", nil},
		{"a stream that comes cannot be moved", nil, 1, true, map[time.Duration]keys.Press{2 * time.Second: {Name: keys.Move, By: -time.Second}},
			"0s a, 1s b, 2s a stream that is read as it comes cannot be moved, 3s c, 13s d", nil},
		{"without times there is nothing to move by", &numbered.Memory, 1, false, map[time.Duration]keys.Press{1500 * time.Millisecond: {Name: keys.Move, By: -time.Second}},
			"1s a, 1.5s there are no times to move by: type a number and Enter, 2s b, 3s c, 4s d", nil},
	} {
		t.Run(row.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				recording := row.recording
				if recording == nil {
					recording = &paced(t).Memory
				}
				recording.Head.Start = recording.Records[0].Time
				if err := recording.Rewind(); err != nil {
					t.Fatal(err)
				}
				got, err := playWith(t, recording, row.speed, !row.live, row.press)
				if !errors.Is(err, row.err) {
					t.Errorf("error %v", err)
				}
				if diff := cmp.Diff(row.want, strings.Join(got, ", ")); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestFollowIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		shown := &played{began: time.Now()}
		p := &player{
			recording: &paced(t).Memory, speed: 1, clock: clock.RealClock{}, say: shown.show,
			newSink: func(*timeline.Timeline) sink { return shown },
		}
		p.begin(timeline.Options{})
		time.AfterFunc(2*time.Second, cancel)
		if _, err := p.run(ctx); err == nil || err.Error() != "interrupted before the end of the recording" {
			t.Errorf("error %v", err)
		}
	})
}
