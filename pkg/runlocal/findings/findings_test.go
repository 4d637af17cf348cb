package findings

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

var start = time.Date(2026, 1, 31, 14, 0, 0, 0, time.UTC)

// texts are the findings in short.
func texts(found []Finding) []string {
	var out []string
	for _, f := range found {
		text := fmt.Sprintf("%s %d", f.Type, f.Count)
		if f.Object != nil {
			text += " " + f.Object.Kind + "/" + f.Object.Name
		}
		if len(f.Keys) > 0 {
			text += fmt.Sprintf(" %s %v", f.Controller, f.Keys)
			if f.MoreKeys > 0 {
				text += fmt.Sprintf(" and %d", f.MoreKeys)
			}
		}
		for _, a := range f.Fields {
			text += " " + a.Field
		}
		for _, add := range []string{string(f.Only), strings.Join(f.Changed, ","), f.Resource, strings.Join(f.Writers, "+")} {
			if add != "" {
				text += " " + add
			}
		}
		out = append(out, text)
	}
	return out
}

// TestChanges: what is found in changes of one object, as a recording has them.
func TestChanges(t *testing.T) {
	type write struct {
		path, value, writer string
	}
	turn := func(n int, writes ...write) (out []write) {
		for i := range n {
			out = append(out, writes[i%len(writes)])
		}
		return out
	}
	count := func(n int, path, format, writer string) (out []write) {
		for i := range n {
			out = append(out, write{path, fmt.Sprintf(format, i), writer})
		}
		return out
	}
	for _, row := range []struct {
		reason string
		kind   string
		every  time.Duration
		writes []write
		want   []string
	}{
		{"two appliers", "Deployment", time.Minute, turn(5, write{"spec.replicas", "3", "flux"}, write{"spec.replicas", "5", "hpa"}), []string{"fight 3 Deployment/web spec.replicas flux+hpa"}},
		{
			"spellings of a quantity", "Deployment", time.Minute, turn(5, write{"spec.template.cpu", "500m", "a"}, write{"spec.template.cpu", "0.5", "b"}),
			[]string{"fight 3 Deployment/web spec.template.cpu a+b"},
		},
		{
			"one who once wrote what another now turns", "Deployment", time.Minute,
			append([]write{{"spec.replicas", "3", "kubectl"}}, turn(9, write{"spec.replicas", "5", "hpa"}, write{"spec.replicas", "3", "hpa"})...), nil,
		},
		{"two who take turns, once a day", "Deployment", 24 * time.Hour, turn(40, write{"spec.replicas", "3", "flux"}, write{"spec.replicas", "5", "hpa"}), nil},
		{"two who write times", "Widget", time.Second, turn(40, write{"status.at", "2026-01-31T14:00:01Z", "a"}, write{"status.at", "2026-01-31T14:00:02Z", "b"}), []string{"fight 38 Widget/web status.at a+b"}},
		{"the Ready of a Node that two set", "Node", time.Second, turn(9, write{"status.conditions[type=Ready].status", "True", "kubelet"}, write{"status.conditions[type=Ready].status", "Unknown", "kcm"}), nil},
		{"an address in a status", "Widget", time.Second, turn(12, write{"status.ip", "10.0.0.1", "op"}, write{"status.ip", "10.0.0.2", "op"}), []string{"loop 10 Widget/web status.ip op"}},
		{"a quantity in a status", "Widget", time.Second, turn(40, write{"status.used", "500m", "op"}, write{"status.used", "1.5Gi", "op"}), nil},
		{"once there and back", "Deployment", time.Second, turn(3, write{"spec.replicas", "3", "flux"}, write{"spec.replicas", "5", "hpa"}), nil},
		{"each another value, by two", "Deployment", time.Second, append(count(8, "spec.x", "a%d", "a"), count(8, "spec.x", "b%d", "b")...), nil},
		{
			"numbers in a status that two count", "ResourceQuota", time.Second, turn(40, write{"status.used.pods", "3", "quota"}, write{"status.used.pods", "4", "admission"}), nil,
		},
		{
			"one writer, at once", "Widget", 100 * time.Millisecond, turn(12, write{"status.phase", "A", "op"}, write{"status.phase", "B", "op"}),
			[]string{"loop 10 Widget/web status.phase op"},
		},
		{
			"a condition", "Widget", time.Second, turn(12, write{"status.conditions[type=Ready].status", "True", "op"}, write{"status.conditions[type=Ready].status", "False", "op"}),
			[]string{"loop 10 Widget/web status.conditions[type=Ready] op"},
		},
		{"one writer, as a back-off does", "Pod", 20 * time.Second, turn(40, write{"status.phase", "A", "kubelet"}, write{"status.phase", "B", "kubelet"}), nil},
		{
			"times alone", "Widget", time.Second, count(12, "status.checked", "2026-01-31T14:00:%02dZ", "op"), []string{"loop 11 Widget/web Times status.checked op"},
		},
		{"times alone, now and then", "Widget", time.Minute, count(30, "status.checked", "2026-01-31T14:00:%02dZ", "op"), nil},
		{"the heartbeats of a Node", "Node", time.Second, count(30, "status.lastHeartbeatTime", "2026-01-31T14:00:%02dZ", "kubelet"), nil},
		{
			"the writers are not known", "Widget", time.Second, turn(12, write{"spec.x", "A", ""}, write{"spec.x", "B", ""}), []string{"loop 10 Widget/web spec.x"},
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			var told int
			d := NewDetector(nil, func(Finding) { told++ })
			values := map[string]string{}
			for i, w := range row.writes {
				changes := []fields.Change{fields.Mask{}.Change(w.path, values[w.path], w.value)}
				values[w.path] = w.value
				api := map[string]string{"Pod": "v1", "Node": "v1", "ResourceQuota": "v1"}[row.kind]
				d.Change(Object{APIVersion: api, Kind: row.kind, Name: "web"}, changes, OnlyOf(changes), w.writer, 0, start.Add(time.Duration(i)*row.every))
			}
			found := d.Findings()
			if diff := cmp.Diff(row.want, texts(found)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if told != len(found) {
				t.Errorf("%d findings were told when they were found, of %d", told, len(found))
			}
		})
	}
}

// tracer makes the trace of a session.
type tracer struct {
	d   *Detector
	now time.Time
	id  trace.ReconcileID
	uid string // of what clients write
}

func (r *tracer) record(controller, key string, id trace.ReconcileID, detail trace.Detail) {
	r.d.Record(&trace.Event{Time: r.now, Controller: controller, Key: key, Reconcile: id, Detail: detail})
}

// reconcile is one of a controller, which lasts a millisecond.
func (r *tracer) reconcile(controller, key string, causes []trace.Cause, end trace.End, requests ...*trace.Request) trace.ReconcileID {
	r.id++
	r.record(controller, key, r.id, &trace.Start{Causes: causes})
	for _, request := range requests {
		r.record(controller, key, r.id, request)
	}
	r.now = r.now.Add(time.Millisecond)
	if end.Outcome == "" {
		end.Outcome = trace.Done
	}
	r.record(controller, key, r.id, &end)
	return r.id
}

var widget = trace.Object{Group: "example.com", Version: "v1", Resource: "widgets", Kind: "Widget", Namespace: "shop", Name: "w"}

func written(by trace.ReconcileID, writer string) []trace.Cause {
	return []trace.Cause{{Type: trace.CauseWatch, Watch: &trace.Watch{Event: trace.Modified, Object: widget, WrittenBy: by, Writer: writer}}}
}

func update(version int, paths ...string) *trace.Request {
	return &trace.Request{
		Verb: "update", Object: widget, Subresource: "status", Code: 200, ResourceVersion: fmt.Sprint(version),
		Change: trace.ChangeFrom(func() (out []fields.Change) {
			for _, path := range paths {
				out = append(out, fields.Mask{}.Change(path, version-1, version))
			}
			return out
		}),
	}
}

// changed is the watch event of a change of a field.
func changed(by trace.ReconcileID, writer string, version int, path string, old, updated any) *trace.Watch {
	return &trace.Watch{
		Event: trace.Modified, Object: widget, ResourceVersion: fmt.Sprint(version), WrittenBy: by, Writer: writer,
		Change: trace.ChangeFrom(func() []fields.Change { return []fields.Change{fields.Mask{}.Change(path, old, updated)} }),
	}
}

// client is a write of a program outside.
func (r *tracer) client(program string, version int, path string, old, updated any) {
	request := *update(version)
	request.Change, request.UID = changed(0, "", version, path, old, updated).Change, r.uid
	r.record("", "", 0, &trace.ClientRequest{Program: "agent", FieldManager: program, Request: request})
}

// TestTrace: what is found in the trace of a session.
func TestTrace(t *testing.T) {
	const stale = "read version: 1 is not as new as written version: 2 for group resource pods"
	fails := trace.End{Outcome: trace.Failed, Error: "no", Next: &trace.Next{Retry: 1}}
	retry := func(of trace.ReconcileID) []trace.Cause {
		return []trace.Cause{{Type: trace.CauseRetry, Reconcile: of}}
	}
	for _, row := range []struct {
		reason string
		play   func(r *tracer)
		want   []string
	}{
		{"its own writes, whatever their values are", func(r *tracer) {
			id := r.reconcile("op", "shop/w", written(0, ""), trace.End{}, update(1, "status.n"))
			for i := range 12 {
				id = r.reconcile("op", "shop/w", written(id, "op"), trace.End{}, update(i+2, "status.n"))
			}
		}, []string{"loop 13 Widget/w op [shop/w] status.n op"}},
		{"its own writes, each of another object", func(r *tracer) {
			id := trace.ReconcileID(0)
			for i := range 30 {
				request := update(i+1, "status.n")
				request.Name = fmt.Sprint("child-", i)
				id = r.reconcile("op", "shop/w", written(id, "op"), trace.End{}, request)
			}
		}, nil},
		{"its own creations", func(r *tracer) {
			id := trace.ReconcileID(0)
			for i := range 30 {
				request := update(i+1, "status.n")
				request.Verb = "create"
				id = r.reconcile("op", "shop/w", written(id, "op"), trace.End{}, request)
			}
		}, nil},
		{"a loop that begins long after a change", func(r *tracer) {
			r.record("", "", 0, changed(0, "op", 1, "status.phase", "B", "A"))
			r.now = r.now.Add(8 * time.Hour)
			for i := range 13 {
				values := []any{"A", "B", "A"}[i%2:]
				r.now = r.now.Add(3 * time.Second)
				r.record("", "", 0, changed(0, "op", i+2, "status.phase", values[0], values[1]))
			}
		}, []string{"loop 13 Widget/w status.phase"}},
		{"a loop of one writer, in the field of which another wrote before", func(r *tracer) {
			for i := range 20 {
				values, writer := []any{"A", "B", "A"}[i%2:], "op"
				if i == 2 {
					writer = "other"
				}
				if i == 4 {
					r.now = r.now.Add(time.Minute)
				}
				r.now = r.now.Add(time.Second)
				r.id++
				r.d.Change(ObjectOf(&widget), changed(0, "", i, "status.phase", values[0], values[1]).Change.Fields(), "", writer, 0, r.now)
			}
		}, []string{"loop 16 Widget/w status.phase op+other"}},
		{"what follows from a fight in its namespace, and what does not", func(r *tracer) {
			for i := range 30 {
				values := []any{"A", "B", "A"}[i%2:]
				r.now = r.now.Add(time.Second)
				changes := changed(0, "", i, "spec.x", values[0], values[1]).Change.Fields()
				r.d.Change(ObjectOf(&widget), changes, "", []string{"a", "b"}[i%2], 0, r.now)
				for _, namespace := range []string{"shop", "other"} {
					r.d.Change(Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "c"}, changes, "", "op", 0, r.now)
				}
			}
		}, []string{"loop 29 ConfigMap/c spec.x op", "fight 29 Widget/w spec.x a+b"}},
		{"its own writes, with what comes from outside between", func(r *tracer) {
			for i := range 40 {
				r.reconcile("op", "shop/w", written(0, ""), trace.End{}, update(i+2, "status.n"))
			}
		}, nil},
		{"a reconcile after its own write that writes nothing", func(r *tracer) {
			for i := range 40 {
				id := r.reconcile("op", "shop/w", written(0, ""), trace.End{}, update(i+2, "status.n"))
				r.reconcile("op", "shop/w", written(id, "op"), trace.End{})
			}
		}, nil},
		{"two controllers, each in reaction to the other", func(r *tracer) {
			id := trace.ReconcileID(0)
			for i := range 30 {
				name, old, updated := "a", "B", "A"
				if i%2 == 1 {
					name, old, updated = "b", "A", "B"
				}
				before := "b"
				if name == "b" {
					before = "a"
				}
				id = r.reconcile(name, "shop/w", written(id, before), trace.End{}, update(i+1, "status.phase"))
				r.record("", "", 0, changed(id, name, i+1, "status.phase", old, updated))
			}
		}, []string{"fight 29 Widget/w status.phase a+b"}},
		{"one that repeats what somebody outside does", func(r *tracer) {
			for i := range 60 {
				values := []any{"A", "B", "A"}[i%2:]
				id := r.reconcile("op", "shop/w", written(0, ""), trace.End{}, update(i+1, "status.phase"))
				r.record("", "", 0, changed(id, "op", i+1, "status.phase", values[0], values[1]))
			}
		}, nil},
		{"one that repeats what it did itself", func(r *tracer) {
			id := trace.ReconcileID(0)
			for i := range 30 {
				values := []any{"A", "B", "A"}[i%2:]
				id = r.reconcile("op", "shop/w", written(id, "op"), trace.End{}, update(i+1, "status.phase"))
				r.record("", "", 0, changed(id, "op", i+1, "status.phase", values[0], values[1]))
				id = r.reconcile("op", "shop/w", written(id, "op"), trace.End{}) // a reconcile without a write between
			}
		}, []string{"loop 29 Widget/w status.phase op"}},
		{"an event that two informers show", func(r *tracer) {
			for i := range 9 {
				for range 20 {
					r.record("", "", 0, changed(0, "", i+1, "status.phase", i, i+1))
				}
			}
		}, nil},
		{"a program outside, which no informer shows", func(r *tracer) {
			for i := range 14 {
				values := []any{"A", "B", "A"}[i%2:]
				r.now = r.now.Add(time.Second)
				r.client("op", i+1, "status.phase", values[0], values[1])
			}
		}, []string{"loop 13 Widget/w status.phase op"}},
		{"a program outside, which informers show, one of metadata first", func(r *tracer) {
			for i := range 14 {
				values := []any{"A", "B", "A"}[i%2:]
				r.now = r.now.Add(time.Second)
				r.record("", "", 0, changed(0, "", i+1, "metadata.generation", i, i+1))
				shown := changed(0, "", i+1, "spec.x", values[0], values[1])
				shown.Manager = trace.ManagerFrom(func() fields.Writer { return fields.Writer{Manager: "op"} })
				shows := func() { r.record("", "", 0, shown) }
				writes := func() { r.client("op", i+1, "spec.x", values[0], values[1]) }
				if i%4 < 2 { // the answer may come before the watch event
					writes, shows = shows, writes
				}
				writes()
				shows()
			}
		}, []string{"loop 13 Widget/w spec.x op"}},
		{"objects of one name, which a program makes and deletes", func(r *tracer) {
			for i := range 30 {
				r.now = r.now.Add(time.Second)
				r.uid = fmt.Sprint("life-", i/2)
				values := []any{nil, "Pending", "Ready"}[i%2:]
				r.client("op", i+1, "status.phase", values[0], values[1])
			}
		}, nil},
		{"two programs outside", func(r *tracer) {
			for i := range 9 {
				values := []any{"A", "B", "A"}[i%2:]
				r.now = r.now.Add(time.Minute)
				r.client([]string{"flux", "op"}[i%2], i+1, "spec.x", values[0], values[1])
			}
		}, []string{"fight 8 Widget/w spec.x flux+op"}},
		{"writes that change nothing", func(r *tracer) {
			r.record("", "", 0, changed(0, "", 7, "spec.x", 1, 2))
			for range 6 {
				r.now = r.now.Add(time.Second)
				r.reconcile("op", "shop/w", written(0, ""), trace.End{}, update(7))
			}
		}, []string{"no-op-write 6 Widget/w widgets.example.com/status"}},
		{"the event of a write before its answer", func(r *tracer) {
			for i := range 9 {
				request := update(i+1, "status.n")
				request.Latency = trace.Duration(time.Second)
				r.record("", "", 0, changed(r.id+1, "op", i+1, "status.n", i, i+1))
				r.now = r.now.Add(time.Millisecond)
				r.reconcile("op", "shop/w", written(0, ""), trace.End{}, request)
				r.now = r.now.Add(time.Minute)
			}
		}, nil},
		{"the last finalizer, with which an object is gone", func(r *tracer) {
			for range 9 {
				r.record("", "", 0, changed(0, "", 7, "spec.x", 1, 2))
				r.now = r.now.Add(time.Second)
				r.reconcile("op", "shop/w", written(0, ""), trace.End{}, update(7, "metadata.finalizers"))
			}
		}, nil},
		{"dry runs", func(r *tracer) {
			for range 9 {
				request := update(7)
				request.DryRun = true
				r.reconcile("op", "shop/w", written(0, ""), trace.End{}, request)
			}
		}, nil},
		{"two keys that fail again and again", func(r *tracer) {
			for range 11 {
				r.reconcile("op", "shop/w", retry(r.id), fails)
				r.reconcile("op", "shop/x", retry(r.id), fails)
			}
		}, []string{"retries 22 op [shop/w shop/x]"}},
		{"a key that fails, and is put off in between", func(r *tracer) {
			for range 6 {
				r.reconcile("op", "shop/w", retry(r.id), fails)
				r.reconcile("op", "shop/w", retry(r.id), fails)
				r.reconcile("op", "shop/w", retry(r.id), trace.End{Outcome: trace.Failed, Error: stale, PutOff: "pods"})
			}
		}, []string{"retries 12 op [shop/w]"}},
		{"six keys that fail, heal and fail again", func(r *tracer) {
			for range 2 {
				for i := range 6 {
					for range 10 {
						r.reconcile("op", fmt.Sprintf("shop/%d", i), nil, fails)
					}
					r.reconcile("op", fmt.Sprintf("shop/%d", i), nil, trace.End{})
				}
			}
		}, []string{"retries 120 op [shop/0 shop/1 shop/2 shop/3 shop/4] and 1"}},
		{"a key that heals", func(r *tracer) {
			for range 4 {
				for range 9 {
					r.reconcile("op", "shop/w", retry(r.id), fails)
				}
				r.reconcile("op", "shop/w", retry(r.id), trace.End{})
			}
		}, nil},
		{"a key that is put off by a cache that does not change", func(r *tracer) {
			for range 7 {
				r.now = r.now.Add(2 * time.Second)
				r.reconcile("op", "shop/w", retry(r.id), trace.End{Outcome: trace.Failed, Error: stale})
			}
		}, []string{"put-off 7 op [shop/w]"}},
		{"a key that is put off while its cache changes", func(r *tracer) {
			for range 70 {
				r.now = r.now.Add(2 * time.Second)
				r.reconcile("op", "shop/w", retry(r.id), trace.End{Outcome: trace.Failed, Error: stale, PutOff: "pods"})
			}
		}, nil},
		{"a key that looks again and again", func(r *tracer) {
			for range 25 {
				r.now = r.now.Add(time.Second / 2)
				r.reconcile("op", "shop/w", []trace.Cause{{Type: trace.CauseTimer, Reconcile: r.id, Delay: trace.Duration(time.Second / 2)}}, trace.End{})
			}
		}, []string{"requeue 24 op [shop/w]"}},
		{"a key that looks again every minute", func(r *tracer) {
			for range 99 {
				r.now = r.now.Add(time.Minute)
				r.reconcile("op", "shop/w", []trace.Cause{{Type: trace.CauseTimer, Reconcile: r.id, Delay: trace.Duration(time.Minute)}}, trace.End{})
			}
		}, nil},
		{"keys that wait for a worker", func(r *tracer) {
			for i := range 7 {
				r.id++
				wait := &trace.Start{Causes: written(0, ""), QueueWait: trace.Duration(40 * time.Second)}
				r.record("op", fmt.Sprintf("shop/%d", i%6), r.id, wait)
			}
		}, []string{"starving 7 op [shop/0 shop/1 shop/2 shop/3 shop/4] and 1"}},
		{"keys of the start", func(r *tracer) {
			causes := written(0, "")
			causes[0].Watch.Initial = true
			r.record("op", "shop/w", 1, &trace.Start{Causes: causes, QueueWait: trace.Duration(time.Hour)})
		}, nil},
	} {
		t.Run(row.reason, func(t *testing.T) {
			d := NewDetector(nil, nil)
			row.play(&tracer{d: d, now: start})
			if diff := cmp.Diff(row.want, texts(d.Findings())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"loop=20,fight=2": "map[fight:2 loop:20] <nil>",
		"loop":            `map[] "loop" is not a limit: want TYPE=NUMBER, such as loop=10, or seconds, such as starving=30`,
		"loop=0":          `map[] "loop=0" is not a limit: want TYPE=NUMBER, such as loop=10, or seconds, such as starving=30`,
		"x=1":             `map[] "x" is not a type of findings: there are loop, fight, retries, put-off, no-op-write, requeue, starving`,
	} {
		limits, err := ParseLimits(text)
		if got := fmt.Sprint(limits, " ", err); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"fight, loop": "[fight loop] <nil>",
		"any":         fmt.Sprint(Types(), " ", nil),
		"loops":       `[] "loops" is not a type of findings: there are loop, fight, retries, put-off, no-op-write, requeue, starving, and any`,
	} {
		got, err := ParseTypes(text)
		if text := fmt.Sprint(got, " ", err); text != want {
			t.Errorf("got %s, want %s", text, want)
		}
	}
	if Limits(nil).of(Loop) != defaults[Loop] || (Limits{Loop: 3}).of(Loop) != 3 {
		t.Error("a limit is not that which was given, or its default")
	}
}
