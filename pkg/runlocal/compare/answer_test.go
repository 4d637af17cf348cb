package compare

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TestOutside: a volume is compared if the namespace of its claim was recorded.
func TestOutside(t *testing.T) {
	claims := replay.Stream{Version: "v1", Resource: "persistentvolumeclaims", Kind: "PersistentVolumeClaim"}
	for _, tt := range []struct {
		recorded, claim string
		want            bool
	}{
		{"", "shop", false},
		{"shop", "shop", false},
		{"shop", "other", true},
		{"shop", "", false},
	} {
		stream := &replay.StreamState{Stream: claims}
		stream.Namespace = tt.recorded
		r := &run{loaded: &recorded{streams: []*replay.StreamState{stream}}, objects: map[objectID]*objectState{}}
		w := &write{object: trace.Object{Version: "v1", Resource: "persistentvolumes", Name: "pv"}}
		r.object(w.objectID()).current = untyped.Map{"spec": map[string]any{"claimRef": map[string]any{"namespace": tt.claim}}}
		if got := r.isOutside(w); got != tt.want {
			t.Errorf("recorded %q, claim in %q: %v, want %v", tt.recorded, tt.claim, got, tt.want)
		}
	}
}

// TestEndOf: a deletion ends with the write that takes the last finalizer, unless something else comes before.
func TestEndOf(t *testing.T) {
	stream := &replay.Stream{Version: "v1", Resource: "configmaps"}
	end := &event{record: &replay.Record{Type: replay.TypeDeleted, Name: "a"}, stream: stream}
	other := &event{record: &replay.Record{Type: replay.TypeModified, Name: "a"}, stream: stream, verb: VerbUpdateStatus}
	for _, tt := range []struct {
		reason string
		coming []*event
		want   *event
		later  bool
	}{
		{"it is next", []*event{end}, end, false},
		{"something else is next", []*event{other, end}, nil, true},
		{"it was not recorded", []*event{other}, nil, false},
	} {
		r := &run{objects: map[objectID]*objectState{}}
		w := &write{verb: VerbUpdate, object: trace.Object{Version: "v1", Resource: "configmaps", Name: "a"}, content: untyped.Map{}}
		object := r.object(w.objectID())
		object.current, object.coming = untyped.Map{"metadata": map[string]any{"deletionTimestamp": "t"}}, tt.coming
		if got, later := r.endOf(w); got != tt.want || later != tt.later {
			t.Errorf("%s: %v, later %v", tt.reason, got, later)
		}
	}
	if a := tooEarly(&write{object: trace.Object{Resource: "namespaces"}}); a.code != http.StatusForbidden {
		t.Errorf("the controller of namespaces tries again without end after %d", a.code)
	}
}

// TestBehind: a controller that decides otherwise long after the time at which it was to decide may do so because of
// that, whether an event follows or not.
func TestBehind(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, late := range []time.Duration{0, 3 * time.Second} {
		clock := clocktesting.NewFakeClock(start)
		r := &run{clock: clock, result: &Result{}, keys: map[keyID]*keyState{}}
		ev := &event{
			record: &replay.Record{Type: replay.TypeDeleted, Time: start}, effect: &effect{}, verb: VerbDelete,
			stream: &replay.Stream{Version: "v1", Resource: "pods"},
		}
		r.due = start
		clock.Step(late)
		r.judge(ev, false)
		if got := time.Duration(r.result.Behind); got != late {
			t.Errorf("%s late: behind by %s", late, got)
		}
	}
}

// TestStatusInstead: a status that was recorded seconds before another one is missing if the controller makes that
// other one in its place, unless something recorded between them has been played before. Where pauses are skipped, it may
// be a timer that has ended, which is found out by a run that does not.
func TestStatusInstead(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for isPlayed, missing := range map[bool]int{false: 1, true: 0} {
		id := keyID{"deployment", "shop/web"}
		status := func(position, replicas int) *event {
			return &event{
				record: &replay.Record{
					Type: replay.TypeModified, Namespace: "shop", Name: "web", Time: start.Add(time.Duration(position) * 2 * time.Second),
					Object: fmt.Appendf(nil, `{"status":{"replicas":%d}}`, replicas),
				},
				stream: &replay.Stream{Group: "apps", Version: "v1", Resource: "deployments"}, position: position,
				verb: VerbUpdateStatus, effect: &effect{controller: id.controller, key: id.key},
				content: untyped.Map{"status": map[string]any{"replicas": int64(replicas)}},
			}
		}
		first, second := status(0, 1), status(2, 2)
		r := &run{
			clock: clocktesting.NewFakeClock(start), result: &Result{}, timeline: newTimeline(start, start),
			hiding: newHiding(replay.Header{}, nil), objects: map[objectID]*objectState{},
			keys:    map[keyID]*keyState{id: {effects: []*event{first, second}, ahead: map[string]int{}}},
			deliver: func(*event, []byte) error { return nil }, session: &runlocal.Session{},
			loaded: &recorded{events: []*event{first, {position: 1, played: isPlayed}, second}},
		}
		r.object(first.objectID()).coming = []*event{first, second}
		r.accept(&write{keyID: id, verb: VerbUpdateStatus, content: second.content}, second, false)
		got := r.keys[id].result
		if begins := errors.Is(r.err, errTimed); len(got.Missing) != missing || begins != (missing > 0) {
			t.Errorf("the event between is played %t: %d missing, begins again %t; want %d missing, and to begin again if any is",
				isPlayed, len(got.Missing), begins, missing)
		}
	}
}
