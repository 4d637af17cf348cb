package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1/schematest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var at = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

func changed(path string) *Change {
	return ChangeFrom(func() []fields.Change { return []fields.Change{{Path: path, Old: int64(0), New: int64(3)}} })
}

// events is one of each type, with all that it can contain.
func events() []*Event {
	pod := Object{Version: "v1", Resource: "pods", Kind: "Pod", Namespace: "default", Name: "web-x", UID: "u"}
	watch := &Watch{Event: Modified, Object: pod, ResourceVersion: "7", WrittenBy: 2, Writer: "deployment",
		Change: changed("status.replicas")}
	outside := &Watch{Event: Added, Object: pod, ResourceVersion: "8",
		Manager: ManagerFrom(func() fields.Writer { return fields.Writer{Manager: "flux"} })}
	details := []Detail{
		watch, outside,
		&Enqueue{Operation: AddAfter, Queue: "nodeUpdateQueue", Handler: "addPod > enqueueRS", Watch: 1,
			Delay: Duration(5 * time.Millisecond), Retry: 2},
		&Start{Causes: []Cause{{Type: CauseWatch, Seq: 1, Watch: watch, Handler: "addPod"},
			{Type: CauseRetry, Reconcile: 1, Retry: 2}}, MoreCauses: 3, QueueWait: 9},
		&Log{Level: 2, Message: "Too few replicas", Error: "boom", Values: Values{{"need", "3"}, {"creating", "3"}}},
		&Request{
			Verb: "create", Object: pod, Subresource: "binding", Code: 409, Latency: Duration(511 * time.Microsecond), DryRun: true,
			Message: "no", Reason: "Conflict", ResourceVersion: "8", Change: changed("spec.replicas"),
			Recorded: &RecordedEvent{Type: "Normal", Reason: "Created", Message: "m", Regarding: pod},
		},
		&End{Queue: "q", Outcome: Failed, PutOff: "pods", Duration: 7, Error: "e", Writes: 2, Refused: 1,
			Next: &Next{After: Duration(time.Second), Retry: 1}},
		&Dropped{Retries: 15, Error: "e"},
	}
	var out []*Event
	for i, d := range details {
		out = append(out, &Event{Seq: uint64(i) + 1, Time: at, Controller: "replicaset", Reconcile: 2,
			Key: "default/web", Detail: d})
	}
	return out
}

// equal compares events by what they contain; a Change by its fields, a Manager by its name.
var equal = cmp.Options{
	cmp.Comparer(func(a, b *Change) bool { return cmp.Equal(a.Fields(), b.Fields(), numbers) }),
	cmp.Comparer(func(a, b *Manager) bool { return a.Name() == b.Name() }),
}

// numbers lets JSON turn integers into floats.
var numbers = cmp.FilterValues(func(a, b any) bool { return true }, cmp.Comparer(func(a, b fields.Change) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}))

func TestStreamRoundTrip(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, e := range events() {
		w.Record(e)
	}
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	r := NewReader(&out)
	for _, want := range events() {
		got, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := want.Detail.(*Start); ok { // the watch event itself tells what changed
			watch := *start.Causes[0].Watch
			watch.Change = nil
			start.Causes[0].Watch = &watch
		}
		if diff := cmp.Diff(want, got, equal); diff != "" {
			t.Errorf("event %d (-written +read):\n%s", want.Seq, diff)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last event: %v, want EOF", err)
	}
}

// TestRequestLine pins the documented form of a line: it is a promise to users.
func TestRequestLine(t *testing.T) {
	e := &Event{Seq: 41, Time: at, Controller: "replicaset", Reconcile: 2, Key: "default/web-5f", Detail: &Request{
		Verb: "create", Object: Object{Version: "v1", Resource: "pods", Namespace: "default",
			Name: "web-5f-x"}, Code: 201, Latency: Duration(511 * time.Microsecond),
	}}
	got, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"kubectl-reconcile.github.io/v1alpha1","kind":"TraceEvent","seq":41,"time":"2026-01-02T03:04:05.000006Z","type":"request",` +
		`"controller":"replicaset","reconcile":2,"key":"default/web-5f","verb":"create","version":"v1","resource":"pods","namespace":"default","name":"web-5f-x","code":201,"latency":"511µs"}`
	if string(got) != want {
		t.Errorf("line\n got %s\nwant %s", got, want)
	}
}

// TestNamesDoNotClash: the header and the detail of an event share one JSON object.
func TestNamesDoNotClash(t *testing.T) {
	head := jsonNames(reflect.TypeFor[header]())
	for _, e := range events() {
		for name := range jsonNames(reflect.TypeOf(e.Detail).Elem()) {
			if head[name] {
				t.Errorf("%s: the field %q is in the header too", e.Type(), name)
			}
		}
	}
}

func jsonNames(t reflect.Type) map[string]bool {
	out := map[string]bool{}
	for f := range t.Fields() {
		if f.Anonymous {
			for name := range jsonNames(f.Type) {
				out[name] = true
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out[name] = true
	}
	return out
}

func TestReaderErrors(t *testing.T) {
	tests := []struct{ reason, input, want string }{
		{"not JSON at all", "{}\nnonsense", "line 1: not a TraceEvent"},
		{"cut off in the middle", `{"apiVersion":`, "line 1: unexpected end of JSON input"},
		{"another version, which may mean other things",
			`{"apiVersion":"kubectl-reconcile.github.io/v9","kind":"TraceEvent","type":"log"}`, "v9"},
		{"a type that is not known", `{"apiVersion":"kubectl-reconcile.github.io/v1alpha1","kind":"TraceEvent","type":"dance"}`, `unknown type of trace event "dance"`},
		{"values that are no object", `{"apiVersion":"kubectl-reconcile.github.io/v1alpha1","kind":"TraceEvent","type":"log","values":[1]}`, "not an object"},
		{"a value that is no text", `{"apiVersion":"kubectl-reconcile.github.io/v1alpha1","kind":"TraceEvent","type":"log","values":{"a":1}}`, `logged value "a"`},
		{"a duration that is none", `{"apiVersion":"kubectl-reconcile.github.io/v1alpha1","kind":"TraceEvent","type":"end","duration":"soon"}`, "soon"},
		{"a line that never ends", strings.Repeat("x", maxLine+1), "line 1: longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			_, err := NewReader(strings.NewReader(tt.input)).Next()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestReaderGoesOnAfterBadLine(t *testing.T) {
	good, err := json.Marshal(events()[4])
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(io.MultiReader(strings.NewReader("bad\n\n"), bytes.NewReader(good)))
	if _, err := r.Next(); err == nil {
		t.Error("a bad line gave no error")
	}
	if e, err := r.Next(); err != nil || e.Type() != TypeLog {
		t.Errorf("after a bad line: %v, %v", e, err)
	}
}

func FuzzReader(f *testing.F) {
	for _, e := range events() {
		line, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte("{\"type\":\"log\"}\n\n["))
	f.Fuzz(func(t *testing.T, input []byte) {
		r := NewReader(bytes.NewReader(input))
		for {
			e, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil && e.Detail == nil {
				t.Fatal("an event without detail was read")
			}
			if err != nil && r.lines.Err() != nil {
				return
			}
		}
	})
}

func TestRecorderOrdersAndNumbers(t *testing.T) {
	seen := &kept{}
	r := NewRecorder(clocktesting.NewFakePassiveClock(at), seen)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				r.Emit("c", r.NextReconcile(), "k", &Log{})
			}
		})
	}
	wg.Wait()
	ids := map[ReconcileID]bool{}
	for i, e := range seen.events {
		if e.Seq != uint64(i)+1 {
			t.Fatalf("event %d has seq %d", i, e.Seq)
		}
		if e.Reconcile == 0 || ids[e.Reconcile] {
			t.Fatalf("reconcile id %d is 0 or not unique", e.Reconcile)
		}
		ids[e.Reconcile] = true
	}
	if len(seen.events) != 800 {
		t.Errorf("%d events, want 800", len(seen.events))
	}
}

// TestNilRecorder: tracing that is off must need no conditions in its callers.
func TestNilRecorder(t *testing.T) {
	var r *Recorder
	if seq, id := r.Emit("c", 0, "k", &Log{}), r.NextReconcile(); seq != 0 || id != 0 {
		t.Errorf("a nil recorder gave seq %d and id %d", seq, id)
	}
}

// kept is a sink that keeps events; it relies on the recorder to call it one at a time.
type kept struct{ events []*Event }

func (k *kept) Record(e *Event) { k.events = append(k.events, e) }

// slow is a sink that waits until it is released.
type slow struct {
	kept
	release chan struct{}
}

func (s *slow) Record(e *Event) {
	<-s.release
	s.kept.Record(e)
}

func TestBufferLosesNothing(t *testing.T) {
	next := &slow{release: make(chan struct{})}
	b := NewBuffer(1, next)
	r := NewRecorder(clock.RealClock{}, b)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 100 {
			r.Emit("c", 0, "", &Log{})
		}
	})
	close(next.release)
	wg.Wait()
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(next.events) != 100 {
		t.Errorf("%d events arrived of 100", len(next.events))
	}
	r.Emit("c", 0, "", &Log{}) // a late event must neither panic nor block
	if err := b.Close(t.Context()); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func TestBufferCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &slow{release: make(chan struct{})}
		b := NewBuffer(4, next)
		for range 3 {
			b.Record(&Event{Detail: &Log{}})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closing a stuck buffer: %v", err)
		}
		close(next.release) // the sink returns: the goroutine must end
		synctest.Wait()
	})
}

// TestBufferDropsWhenFull: a session must be able to end although no one reads its output.
func TestBufferDropsWhenFull(t *testing.T) {
	next := &slow{release: make(chan struct{})}
	b := NewBuffer(1, next)
	r := NewRecorder(clock.RealClock{}, b)
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for range 5 {
				r.Emit("c", 0, "", &Log{})
			}
		})
	}
	b.DropWhenFull()
	workers.Wait() // hangs if somebody still waits for room
	close(next.release)
	err := b.Close(t.Context())
	lost := 15 - len(next.events)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d events were lost", lost)) {
		t.Errorf("%d events were lost, and the error is %v", lost, err)
	}
}

func TestWriterStopsAfterError(t *testing.T) {
	full := &fullDisk{room: 1}
	w := NewWriter(full)
	for _, e := range events() {
		w.Record(e)
	}
	if !errors.Is(w.Err(), errFull) {
		t.Errorf("error %v, want %v", w.Err(), errFull)
	}
	if full.writes != 2 {
		t.Errorf("%d writes, want 2: nothing is written after an error", full.writes)
	}
}

var errFull = errors.New("no space left on device")

type fullDisk struct{ room, writes int }

func (d *fullDisk) Write(p []byte) (int, error) {
	d.writes++
	if d.writes > d.room {
		return 0, errFull
	}
	return len(p), nil
}

// TestChangeIsComparedOnce: most changes are never looked at, and none twice.
func TestChangeIsComparedOnce(t *testing.T) {
	n := 0
	c := ChangeFrom(func() []fields.Change { n++; return nil })
	if n != 0 {
		t.Error("compared before the fields were read")
	}
	c.Fields()
	c.Fields()
	if n != 1 {
		t.Errorf("compared %d times", n)
	}
	if fields := (*Change)(nil).Fields(); fields != nil {
		t.Errorf("a nil change has fields %v", fields)
	}
}

// TestUnknownManager: of an event whose writer is not known, JSON has no manager.
// TestFollowsItsSchema checks events of all types, and one of a write that changed nothing, against
// docs/trace.schema.json.
func TestFollowsItsSchema(t *testing.T) {
	unchanged := &Request{Verb: "patch", Code: 200, Change: ChangeFrom(func() []fields.Change { return nil })}
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, e := range append(events(), &Event{Seq: 100, Time: at, Controller: "job", Detail: unchanged}) {
		w.Record(e)
	}
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"changed":[]`) {
		t.Errorf("a change of nothing is not an empty list:\n%s", &out)
	}
	if err := schematest.CheckLines("../../../docs/trace.schema.json", &out); err != nil {
		t.Error(err)
	}
}

func TestUnknownManager(t *testing.T) {
	found := 0
	unknown := ManagerFrom(func() fields.Writer { found++; return fields.Writer{} })
	for _, w := range []*Watch{{Event: Added}, {Event: Added, Manager: unknown}, {Event: Added, Manager: unknown}} {
		got, err := json.Marshal(w)
		if want := `{"event":"ADDED"}`; err != nil || string(got) != want {
			t.Errorf("%s (%v), want %s", got, err, want)
		}
	}
	if found != 1 {
		t.Errorf("it was looked for %d times", found)
	}
}
