package playback

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// eventually waits until the server has a status.
func eventually(t testing.TB, s *Server, what string, holds func(Status) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return holds(s.Status()), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %+v", what, s.Status())
	}
}

// TestTime: records come when their time has come. Those of a rollout are a second apart.
func TestTime(t *testing.T) {
	r := recordRollout(t)
	clock := clocktesting.NewFakeClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	s := serve(t, &r.Memory, Options{At: number(r.created), Clock: clock})
	at := func(n int64, playing bool) func(Status) bool {
		return func(s Status) bool { return s.Number == n && s.Playing == playing }
	}
	// step moves the clock when the server waits for it.
	step := func(by time.Duration) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
			func(context.Context) (bool, error) { return clock.HasWaiters(), nil })
		if err != nil {
			t.Fatal("the server does not wait for the clock")
		}
		clock.Step(by)
	}
	first := r.created.Number
	if got := s.Status(); got.Number != first || got.Playing || !got.Time.Equal(r.created.Time) {
		t.Fatalf("it begins at %+v", got)
	}
	if err := s.Play(); err != nil {
		t.Fatal(err)
	}
	step(time.Second)
	eventually(t, s, "the next record is served after a second", at(first+1, true))
	step(time.Second / 2)
	s.Pause()
	if got := s.Status().Time.Sub(r.created.Time); got != 3*time.Second/2 {
		t.Errorf("paused %v after the beginning", got)
	}
	clock.Step(time.Hour)
	if got := s.Status(); got.Number != first+1 || got.Time.Sub(r.created.Time) != 3*time.Second/2 {
		t.Errorf("time goes on while it is paused: %+v", got)
	}
	if err := s.SetSpeed(10); err != nil {
		t.Fatal(err)
	}
	if err := s.Play(); err != nil {
		t.Fatal(err)
	}
	step(50 * time.Millisecond)
	eventually(t, s, "half a second is over at ten times the speed", at(first+2, true))
	if err := s.Seek(t.Context(), number(r.labelled)); err != nil {
		t.Fatal(err)
	}
	if got := s.Status(); got.Number != r.labelled.Number || !got.Playing || !got.Time.Equal(r.labelled.Time) {
		t.Errorf("after a seek: %+v", got)
	}
	if err := s.Seek(t.Context(), replay.Moment{Time: r.created.Time.Add(time.Second / 4)}); err != nil {
		t.Fatal(err)
	}
	if got := s.Status(); got.Number != first || got.Time.Sub(r.created.Time) != time.Second/4 {
		t.Errorf("after a seek to a time between records: %+v", got)
	}
	step(time.Hour)
	last := int64(len(r.Records))
	eventually(t, s, "the end is reached", func(s Status) bool { return s.Number == last && !s.Playing && s.Ended })
	if err := s.Play(); !errors.Is(err, ErrEnd) {
		t.Errorf("playing at the end: %v", err)
	}
	for _, speed := range []float64{0, -1, 1e9} {
		if s.SetSpeed(speed) == nil {
			t.Errorf("the speed %v is accepted", speed)
		}
	}
}

// TestTooFast: time does not run ahead of records that are due and not served yet.
func TestTooFast(t *testing.T) {
	e := newEndless(t, 1, 10*batchSize)
	clock := clocktesting.NewFakeClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	s := serve(t, e, Options{At: replay.Moment{Start: true}, Clock: clock})
	if err := s.Play(); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return clock.HasWaiters(), nil })
	if err != nil {
		t.Fatal("the server does not wait for the clock")
	}
	first := s.Status().Number
	clock.Step(time.Hour)
	eventually(t, s, "a batch is served", func(s Status) bool { return s.Number >= first+batchSize })
	got := s.Status()
	if want := e.record(got.Number).Time; got.Number != first+batchSize || !got.Time.Equal(want) {
		t.Errorf("after an hour of the clock it is %v at #%d, want #%d at %v", got.Time, got.Number, first+batchSize, want)
	}
	if err := s.Seek(t.Context(), number(e.record(e.total()-10))); err != nil {
		t.Fatal(err)
	}
	if err := s.Play(); err != nil {
		t.Fatal(err)
	}
	clock.Step(time.Hour)
	eventually(t, s, "the end is reached", func(s Status) bool { return s.Ended && !s.Playing })
	if got, want := s.Status().Time, e.record(e.total()).Time; !got.Equal(want) {
		t.Errorf("the end is at %v, want that of the last record, %v", got, want)
	}
}

func TestControl(t *testing.T) {
	r := recordRollout(t)
	s := serve(t, &r.Memory, Options{At: number(r.created)})
	for _, test := range []struct {
		method, path string
		code         int
		want, reason string
	}{
		{"GET", "", 200, `"playing": false`, "it begins paused"},
		{"POST", "/step", 200, `"number": `, "a step"},
		{"POST", "/speed?value=2", 200, `"speed": 2`, "twice as fast"},
		{"POST", "/speed?value=fast", 400, `"fast"`, "no number"},
		{"POST", "/speed?value=NaN", 400, "NaN", "a number that is none"},
		{"POST", "/seek?to=end", 200, `"records": `, "the end"},
		{"POST", "/seek?to=%231000", 400, "not in the recording", "a record that is not there"},
		{"POST", "/seek?to=x", 400, "parsing the moment", "no moment"},
		{"POST", "/step?n=0", 400, "1 or more", "no step"},
		{"POST", "/step", 409, "at its end", "nothing to step to"},
		{"POST", "/play", 409, "at its end", "nothing to play"},
		{"POST", "/seek?to=start", 200, `"number": `, "back"},
		{"POST", "/pause", 200, `"playing": false`, "a pause of what is paused"},
		{"POST", "/stop", 404, "", "no such command"},
		{"GET", "/play", 405, "", "a request that changes something must be one that does"},
	} {
		got := ask(t, s.Config(), test.method, ControlPath+test.path, asJSON)
		if got.Code != test.code || !strings.Contains(got.Body, test.want) {
			t.Errorf("%s %s: %d %s, want %d %q: %s", test.method, test.path, got.Code, got.Body, test.code, test.want,
				test.reason)
		}
	}
}

func TestUncontrolled(t *testing.T) {
	r := recordRollout(t)
	s := serve(t, &r.Memory, Options{At: number(r.created), Uncontrolled: "it is left alone"})
	before := s.Status()
	for _, test := range []struct {
		method, path string
		code         int
		want         string
	}{
		{"GET", "", 200, `"playing": false`},
		{"POST", "/play", 409, "left alone"},
		{"POST", "/seek?to=end", 409, "left alone"},
	} {
		got := ask(t, s.Config(), test.method, ControlPath+test.path, asJSON)
		if got.Code != test.code || !strings.Contains(got.Body, test.want) {
			t.Errorf("%s %s: %d %s, want %d %q", test.method, test.path, got.Code, got.Body, test.code, test.want)
		}
	}
	if after := s.Status(); after != before {
		t.Errorf("it was %+v, and is %+v", before, after)
	}
}

// TestRelistedChanges: changes that a list has found have no order, and deletions no version. They do not make the
// versions of later events others than those recorded.
func TestRelistedChanges(t *testing.T) {
	r := recordRollout(t)
	var gone *replay.Record
	for _, record := range r.Records {
		if record.Stream == r.pods && record.Type == replay.TypeListItem {
			gone = record.Clone()
		}
	}
	gone.Type, gone.Relisted, gone.ResourceVersion = replay.TypeDeleted, true, ""
	relisted := func(record *replay.Record) *replay.Record {
		out := record.Clone()
		out.Relisted = true
		return out
	}
	p := &tape{TB: t, began: r.began}
	for _, record := range r.Records {
		if record.Number <= r.created.Number {
			p.add(record.Clone())
		}
	}
	begin := p.add(&replay.Record{Type: replay.TypeListBegin, Stream: r.pods})
	p.add(relisted(r.ready))
	p.add(gone)
	p.add(&replay.Record{Type: replay.TypeListEnd, Stream: r.pods, ResourceVersion: r.ready.ResourceVersion})
	p.add(r.deleting.Clone())
	p.add(r.removed.Clone())

	s := serve(t, &p.Memory, Options{At: number(begin)})
	pods := watchRaw(t, s.Config(), "/api/v1/pods?watch=1&resourceVersion=0")
	pods.next() // the one that is gone
	if err := s.Seek(t.Context(), replay.Moment{}); err != nil {
		t.Fatal(err)
	}
	if got, _ := pods.next(); got.Type != "DELETED" || got.Name != "old" {
		t.Errorf("a deletion that was found: %v", got)
	}
	for _, want := range []event{
		{"ADDED", "web-1", r.ready.ResourceVersion},
		{"MODIFIED", "web-1", r.deleting.ResourceVersion},
		{"DELETED", "web-1", r.removed.ResourceVersion},
	} {
		if got, _ := pods.next(); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// TestStreamsOfNamespaces: the events of one kind come from several streams, each in its order.
func TestStreamsOfNamespaces(t *testing.T) {
	object := func(stream int, typ replay.Type, namespace, name, version string) *replay.Record {
		return &replay.Record{
			Type: typ, Stream: stream, Namespace: namespace, Name: name, ResourceVersion: version,
			Object: []byte(`{"metadata":{"name":"` + name + `","namespace":"` + namespace + `","uid":"u-` + name +
				`","resourceVersion":"` + version + `"}}`),
		}
	}
	p := &tape{TB: t, began: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for i, namespace := range []string{"a", "b"} {
		s := stream("", "v1", "ConfigMap", "configmaps")
		s.Number, s.Namespace = i+1, namespace
		p.add(&replay.Record{Type: replay.TypeStream, Stream: s.Number, NewStream: &s})
		p.add(&replay.Record{Type: replay.TypeListBegin, Stream: s.Number})
		p.add(&replay.Record{Type: replay.TypeListEnd, Stream: s.Number, ResourceVersion: "10"})
	}
	p.add(object(2, replay.TypeAdded, "b", "late", "14"))
	p.add(object(1, replay.TypeAdded, "a", "early", "12"))
	p.add(object(1, replay.TypeAdded, "a", "later", "20"))
	s := serve(t, &p.Memory, Options{At: replay.Moment{Start: true}})
	maps := watchRaw(t, s.Config(), "/api/v1/configmaps?watch=1&resourceVersion=10")
	if err := s.Seek(t.Context(), replay.Moment{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []event{
		{"ADDED", "late", "14"},
		{"ADDED", "early", "15"}, // a client that continues at 14 must not miss it
		{"ADDED", "later", "20"},
	} {
		if got, _ := maps.next(); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	again := watchRaw(t, s.Config(), "/api/v1/configmaps?watch=1&resourceVersion=14")
	if got, _ := again.next(); got.Name != "early" {
		t.Errorf("a watch that continues gets %v", got)
	}
}

// TestBookmarks: a client learns the version of a bookmark that was recorded, without an event.
func TestBookmarks(t *testing.T) {
	r := recordRollout(t)
	bookmark := r.add(&replay.Record{Type: replay.TypeBookmark, Stream: r.pods, ResourceVersion: "5000"})
	s := serve(t, &r.Memory, Options{At: number(r.removed)})
	pods := watchRaw(t, s.Config(), "/api/v1/pods?watch=1&allowWatchBookmarks=true&resourceVersion="+
		r.removed.ResourceVersion)
	if err := s.Seek(t.Context(), number(bookmark)); err != nil {
		t.Fatal(err)
	}
	if got, _ := pods.next(); got != (event{"BOOKMARK", "", "5000"}) {
		t.Errorf("got %v", got)
	}
}

// TestTorn: what was cut off is served up to there, and that is said.
func TestTorn(t *testing.T) {
	r := recordRollout(t)
	r.Torn = &replay.TornError{Records: int64(len(r.Records)), Err: io.ErrUnexpectedEOF}
	s := serve(t, &r.Memory, Options{At: number(r.ready)})
	if err := s.Play(); err != nil {
		t.Fatal(err)
	}
	if err := s.SetSpeed(maxSpeed); err != nil {
		t.Fatal(err)
	}
	eventually(t, s, "the end is reached", func(s Status) bool { return s.Ended })
	if got := s.Status().Problem; !strings.Contains(got, "cut off") {
		t.Errorf("problem: %q", got)
	}
	if got := ask(t, s.Config(), http.MethodGet, "/api/v1/namespaces/default/pods/web-1", asJSON); got.Code != 404 {
		t.Errorf("what was deleted is there: %v", got)
	}
}
