package timeline

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
)

// pod is a Pod with more members of metadata and of the object.
func pod(metadata, rest string) string {
	return fmt.Sprintf(`{"metadata":{"name":"a","namespace":"shop","uid":"u1"%s}%s}`, metadata, rest)
}

func TestChanges(t *testing.T) {
	const ready = `,"status":{"conditions":[{"type":"Ready","status":"%s","reason":"%s","message":"m","lastHeartbeatTime":"%s"}]}`
	for _, row := range []struct {
		reason, kind, before, after string
		all                         bool
		want                        *ObjectChange // nil for no entry
	}{
		{
			"a field of the spec", "Pod", pod("", `,"spec":{"nodeName":"x","a":[1,2]}`), pod("", `,"spec":{"nodeName":"y","a":[1,2]}`),
			false, &ObjectChange{Fields: []fields.Change{{Path: "spec.nodeName", Old: "x", New: "y"}}},
		},
		{
			"what every write changes", "Pod", pod(`,"resourceVersion":"1","managedFields":[{"manager":"a"}]`, ""),
			pod(`,"resourceVersion":"2","managedFields":[{"manager":"b"}]`, ""), false, nil,
		},
		{
			"what every write changes, asked for", "Pod", pod(`,"resourceVersion":"1"`, ""), pod(`,"resourceVersion":"2"`, ""), true,
			&ObjectChange{ResourceVersion: "2", Fields: []fields.Change{{Path: "metadata.resourceVersion", Old: "1", New: "2"}}},
		},
		{
			"a heartbeat", "Node", pod("", fmt.Sprintf(ready, "True", "R", "1")), pod("", fmt.Sprintf(ready, "True", "R", "2")), false, nil,
		},
		{
			"a heartbeat of a Lease", "Lease", pod("", `,"spec":{"renewTime":"1"}`), pod("", `,"spec":{"renewTime":"2"}`), false, nil,
		},
		{
			"a condition flips", "Pod", pod("", fmt.Sprintf(ready, "True", "R", "1")), pod("", fmt.Sprintf(ready, "False", "S", "1")), false,
			&ObjectChange{
				Fields: []fields.Change{
					{Path: "status.conditions[type=Ready].reason", Old: "R", New: "S"},
					{Path: "status.conditions[type=Ready].status", Old: "True", New: "False"},
				},
				Conditions: []ConditionChange{{Type: "Ready", From: "True", To: "False", Reason: "S", Message: "m"}},
			},
		},
		{
			"a condition is gone", "Pod", pod("", `,"status":{"conditions":[{"type":"A","status":"True"}]}`), pod("", `,"status":{"conditions":[]}`),
			false,
			&ObjectChange{
				Fields: []fields.Change{
					{Path: "status.conditions[type=A].status", Old: "True"}, {Path: "status.conditions[type=A].type", Old: "A"},
				},
				Conditions: []ConditionChange{{Type: "A", From: "True"}},
			},
		},
		{
			"deletion is requested", "Pod", pod(`,"finalizers":["x","y"]`, ""), pod(`,"deletionTimestamp":"2026-01-31T14:20:00Z","finalizers":["y"]`, ""),
			false,
			&ObjectChange{
				Fields: []fields.Change{
					{Path: "metadata.deletionTimestamp", New: "2026-01-31T14:20:00Z"},
					{Path: "metadata.finalizers", Old: []any{"x", "y"}, New: []any{"y"}},
				},
				FinalizersRemoved: []string{"x"}, DeletionRequested: true,
			},
		},
		{
			"an owner is set free", "Pod", pod(`,"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"o","controller":true}]`, ""), pod("", ""),
			false,
			&ObjectChange{
				Fields: []fields.Change{
					{Path: "metadata.ownerReferences[name=n].apiVersion", Old: "v1"}, {Path: "metadata.ownerReferences[name=n].controller", Old: true},
					{Path: "metadata.ownerReferences[name=n].kind", Old: "K"}, {Path: "metadata.ownerReferences[name=n].name", Old: "n"},
					{Path: "metadata.ownerReferences[name=n].uid", Old: "o"},
				},
				OwnersRemoved: []Owner{{APIVersion: "v1", Kind: "K", Name: "n", UID: "o", Controller: true}},
			},
		},
		{
			"numbers after the change", "Deployment",
			pod(`,"generation":1`, `,"spec":{"replicas":2},"status":{"observedGeneration":1,"replicas":2,"readyReplicas":2}`),
			pod(`,"generation":2`, `,"spec":{"replicas":3},"status":{"observedGeneration":1,"replicas":2,"readyReplicas":2}`),
			false,
			&ObjectChange{
				Fields: []fields.Change{
					{Path: "metadata.generation", Old: int64(1), New: int64(2)}, {Path: "spec.replicas", Old: int64(2), New: int64(3)},
				},
				Generation: new(int64(2)), ObservedGeneration: new(int64(1)), Replicas: &Replicas{Wanted: new(int64(3)), Current: new(int64(2)), Ready: new(int64(2))},
			},
		},
		{
			"values of Secrets are hidden, that they changed is not", "Secret", pod("", `,"data":{"a":"eA==","b":"x"}`), pod("", `,"data":{"a":"eQ==","b":"x"}`),
			false, &ObjectChange{Fields: []fields.Change{{Path: "data.a", Old: fields.HiddenValue, New: fields.HiddenValue}}},
		},
		{
			"the order of conditions alone", "Pod", pod("", `,"status":{"conditions":[{"type":"A"},{"type":"B"}]}`), pod("", `,"status":{"conditions":[{"type":"B"},{"type":"A"}]}`),
			false, &ObjectChange{Only: findings.OnlyOrder, Fields: []fields.Change{{Path: "status.conditions", Old: []any{"A", "B"}, New: []any{"B", "A"}}}},
		},
		{
			"the order of conditions, of which one changes", "Pod", pod("", `,"status":{"n":1,"conditions":[{"type":"A"},{"type":"B"}]}`),
			pod("", `,"status":{"n":2,"conditions":[{"type":"B"},{"type":"A"}]}`), false,
			&ObjectChange{Fields: []fields.Change{{Path: "status.n", Old: int64(1), New: int64(2)}}},
		},
		{
			"other white space is no change", "Pod", pod("", `,"spec":{"a":1}`), pod("", `,"spec": {"a" : 1 }`), false, nil,
		},
		{
			"members in another order are no change", "Pod", pod("", `,"spec":{"a":1,"b":2}`), pod("", `,"spec":{"b":2,"a":1}`), false, nil,
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			r := newRecording(t)
			r.object(replay.TypeListItem, row.kind, row.before)
			r.object(replay.TypeModified, row.kind, row.after)
			entries := r.entries(Options{AllFields: row.all})
			if row.want == nil {
				if len(entries) > 0 {
					t.Errorf("there is an entry: %+v", entries[0].Change)
				}
				return
			}
			if len(entries) != 1 {
				t.Fatalf("there are %d entries", len(entries))
			}
			if diff := cmp.Diff(row.want, entries[0].Change); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTypes(t *testing.T) {
	named := func(uid string) string { return strings.Replace(pod("", `,"spec":{"x":`+`"`+uid+`"}`), "u1", uid, 1) }
	for _, row := range []struct {
		reason string
		before []replay.Type // of an object with UID u1
		typ    replay.Type
		uid    string
		want   Type // empty for no entry
		change ObjectChange
	}{
		{"the first", nil, replay.TypeAdded, "u1", Added, ObjectChange{}},
		{"a list that is not asked for", nil, replay.TypeListItem, "u1", "", ObjectChange{}},
		{"added although it is known, as kubectl prints it after a list", []replay.Type{replay.TypeListItem}, replay.TypeAdded, "u1", "", ObjectChange{}},
		{"added with another UID: its deletion was not seen", []replay.Type{replay.TypeListItem}, replay.TypeAdded, "u2", Added, ObjectChange{Replaced: true}},
		{"modified, and never seen before", nil, replay.TypeModified, "u1", Modified, ObjectChange{Unknown: true}},
		{"modified to another UID, where events have no types", []replay.Type{replay.TypeAdded}, replay.TypeModified, "u2", Modified, ObjectChange{Replaced: true}},
		{"gone", []replay.Type{replay.TypeAdded}, replay.TypeDeleted, "u1", Deleted, ObjectChange{}},
		{"added again after it is gone", []replay.Type{replay.TypeAdded, replay.TypeDeleted}, replay.TypeAdded, "u2", Added, ObjectChange{}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			r := newRecording(t)
			for _, typ := range row.before {
				r.object(typ, "Pod", named("u1"))
			}
			before := len(r.entries(Options{}))
			r.object(row.typ, "Pod", named(row.uid))
			entries := r.entries(Options{})[before:]
			if row.want == "" {
				if len(entries) > 0 {
					t.Errorf("there is an entry of the type %s", entries[0].Type)
				}
				return
			}
			if len(entries) != 1 || entries[0].Type != row.want {
				t.Fatalf("entries are %+v", entries)
			}
			if diff := cmp.Diff(&row.change, entries[0].Change); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// at is a time of managedFields.
func at(second int) string {
	return start.Add(time.Duration(second) * time.Second).Format(time.RFC3339)
}

func managed(manager, subresource string, second int, fields string) string {
	return fmt.Sprintf(`{"manager":%q,"operation":"Update","subresource":%q,"time":%q,"fieldsType":"FieldsV1","fieldsV1":%s}`,
		manager, subresource, at(second), fields)
}

func TestWriters(t *testing.T) {
	object := func(replicas int, status string, managed ...string) string {
		return pod(fmt.Sprintf(`,"managedFields":[%s]`, strings.Join(managed, ",")),
			fmt.Sprintf(`,"spec":{"replicas":%d},"status":{"phase":%q}`, replicas, status))
	}
	const spec, status, nothing = `{"f:spec":{"f:replicas":{}}}`, `{"f:status":{"f:phase":{}}}`, `{"f:spec":{}}`
	for _, row := range []struct {
		reason, before, after string
		want                  string
	}{
		{"a new object", "", object(1, "", managed("kubectl", "", 1, spec), managed("kubelet", "status", 1, status)), "kubectl"},
		{
			"the entry with a new time", object(1, "", managed("kubectl", "", 1, spec), managed("hpa", "", 2, spec)),
			object(2, "", managed("kubectl", "", 1, spec), managed("hpa", "", 5, spec)), "hpa",
		},
		{
			"the other entry only loses a field", object(1, "", managed("kubectl", "", 1, spec)),
			object(2, "", managed("kubectl", "", 1, nothing), managed("hpa", "", 1, spec)), "hpa",
		},
		{
			"again in the same second: nothing in managedFields changes", object(1, "a", managed("kubectl", "", 3, spec), managed("kubelet", "status", 3, status)),
			object(2, "a", managed("kubectl", "", 3, spec), managed("kubelet", "status", 3, status)), "kubectl",
		},
		{"no managedFields", pod("", `,"spec":{"a":1}`), pod("", `,"spec":{"a":2}`), ""},
		{"managedFields of other types", pod(`,"managedFields":{"a":1}`, `,"spec":{"a":1}`), pod(`,"managedFields":[1,"a",null]`, `,"spec":{"a":2}`), ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			r := newRecording(t)
			typ := replay.TypeAdded
			if row.before != "" {
				r.object(replay.TypeListItem, "Pod", row.before)
				typ = replay.TypeModified
			}
			r.object(typ, "Pod", row.after)
			entries := r.entries(Options{})
			if len(entries) != 1 {
				t.Fatalf("there are %d entries", len(entries))
			}
			if got := entries[0].Writer.Name(); got != row.want {
				t.Errorf("written by %q, want %q", got, row.want)
			}
		})
	}
}

func TestUserOfAuditLog(t *testing.T) {
	r := newRecording(t)
	r.object(replay.TypeDeleted, "Pod", pod("", "")).Writer = "system:serviceaccount:kube-system:job-controller"
	want := &Writer{User: "system:serviceaccount:kube-system:job-controller"}
	if diff := cmp.Diff(want, r.entries(Options{})[0].Writer); diff != "" {
		t.Errorf("a deletion names no manager, but an audit log has the user (-want +got):\n%s", diff)
	}
}

func TestEvents(t *testing.T) {
	want := &Entry{
		Number: 2, Time: start, Type: Reported, Object: &Object{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "a", UID: "u1"},
		Event: &ReportedEvent{Name: "e", Type: "Warning", Reason: "BackOff", Message: "Back-off", Count: 5, By: "kubelet"},
	}
	const about = `{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"a","uid":"u1"}`
	for _, row := range []struct{ reason, text string }{
		{"of the core group", `"involvedObject":%s,"message":"Back-off","count":5,"source":{"component":"kubelet"}`},
		{"of the core group with a series", `"involvedObject":%s,"message":"Back-off","series":{"count":5},"reportingComponent":"kubelet"`},
		{"of events.k8s.io", `"regarding":%s,"note":"Back-off","deprecatedCount":5,"reportingController":"kubelet"`},
	} {
		t.Run(row.reason, func(t *testing.T) {
			r := newRecording(t)
			text := `{"metadata":{"name":"e","namespace":"shop","uid":"e1"},"type":"Warning","reason":"BackOff",` + fmt.Sprintf(row.text, about) + `}`
			r.object(replay.TypeAdded, "Event", text)
			r.object(replay.TypeDeleted, "Event", text) // that its time is over is no news
			entries := r.entries(Options{})
			if len(entries) != 1 {
				t.Fatalf("there are %d entries", len(entries))
			}
			if diff := cmp.Diff(want, entries[0], cmpopts.IgnoreUnexported(Entry{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOtherEntries(t *testing.T) {
	r := newRecording(t)
	r.object(replay.TypeListItem, "Pod", pod("", ""))
	r.Append(
		&replay.Record{Time: r.now, Type: replay.TypeListEnd, Stream: 1, ResourceVersion: "10"},
		&replay.Record{Time: r.now, Type: replay.TypeBookmark, Stream: 1, ResourceVersion: "11"},
		&replay.Record{Time: r.now, Type: replay.TypeError, Stream: 1, Message: "too old"},
	)
	gap := &replay.Gap{Reason: replay.GapWatchExpired, Since: r.now}
	r.wait(time.Minute)
	r.Append(
		&replay.Record{Time: r.now, Type: replay.TypeGap, Gap: gap},
		&replay.Record{Time: r.now, Type: replay.TypeListBegin, Stream: 1},
	)
	r.object(replay.TypeDeleted, "Pod", pod("", "")).Relisted = true
	r.Append(
		&replay.Record{Time: r.now, Type: replay.TypeListEnd, Stream: 1, ResourceVersion: "20"},
		&replay.Record{Time: r.now, Type: replay.TypeEnd, Message: "interrupted"},
	)
	later := start.Add(time.Minute)
	want := []*Entry{
		{Number: 3, Time: start, Type: Listed, Resource: "pods", List: &List{First: true, Objects: 1, ResourceVersion: "10"}},
		{Number: 5, Time: start, Type: Failed, Resource: "pods", Message: "too old"},
		{Number: 6, Time: later, Type: Gap, Gap: gap},
		{
			Number: 8, Time: later, Type: Deleted, Relisted: true,
			Object: &Object{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "a", UID: "u1"}, Change: &ObjectChange{},
		},
		{Number: 9, Time: later, Type: Listed, Resource: "pods", List: &List{Changes: 1, ResourceVersion: "20"}},
		{Number: 10, Time: later, Type: End, Message: "interrupted"},
	}
	if diff := cmp.Diff(want, r.entries(Options{}), cmpopts.IgnoreUnexported(Entry{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTorn(t *testing.T) {
	r := newRecording(t)
	r.object(replay.TypeAdded, "Pod", pod("", ""))
	r.Torn = &replay.TornError{Records: 2, Last: start, Offset: 100, Err: io.ErrUnexpectedEOF}
	entries, err := readAll(New(&r.Memory, Options{}))
	if !errors.Is(err, r.Torn) || len(entries) != 3 || entries[2].Type != Torn || entries[2].Time != start {
		t.Errorf("got %d entries and %v, want what was read, an entry for the end, and the error", len(entries), err)
	}
}

func TestUnreadableObjects(t *testing.T) {
	for _, row := range []struct{ reason, text string }{
		{"no JSON", `{"metadata":{"name":"a"},"spec":{`},
		{"no object", `[1,2]`},
		{"nothing", ``},
		{"metadata of another type", `{"metadata":"a"}`},
		{"deeply nested", `{"metadata":{"name":"a"},"spec":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`},
		{"deeply nested objects", `{"spec":` + strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000) + `}`},
	} {
		t.Run(row.reason, func(t *testing.T) {
			r := newRecording(t)
			r.object(replay.TypeListItem, "Pod", pod("", `,"spec":{"a":1}`))
			r.Append(&replay.Record{Time: start, Type: replay.TypeModified, Stream: 1, Namespace: "shop", Name: "a", UID: "u1", Object: []byte(row.text)})
			entries := r.entries(Options{})
			if len(entries) != 1 || entries[0].Problem == "" && len(entries[0].Change.Fields) == 0 {
				t.Errorf("entries are %+v", entries)
			}
		})
	}
}

func TestState(t *testing.T) {
	r := newRecording(t)
	r.object(replay.TypeListItem, "Pod", pod("", `,"spec":{"a":1}`))
	r.object(replay.TypeModified, "Pod", pod("", `,"spec":{"a":2}`))
	r.object(replay.TypeModified, "Pod", pod("", `,"spec":{"a":3}`))
	state, err := r.Seek(replay.Moment{Number: 3})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := readAll(New(&r.Memory, Options{State: state}))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	if diff := cmp.Diff([]fields.Change{{Path: "spec.a", Old: int64(2), New: int64(3)}}, entries[0].Change.Fields); diff != "" {
		t.Errorf("compared with what was known at the moment (-want +got):\n%s", diff)
	}
}

func TestWriterNames(t *testing.T) {
	if got := (*Writer)(nil).Name(); got != "" {
		t.Errorf("no writer is called %q", got)
	}
	w := &Writer{Writer: fields.Writer{Manager: "kube-controller-manager", Time: &metav1.Time{}}, Controller: "job"}
	if got := w.Name(); got != "job" {
		t.Errorf("a controller is called %q", got)
	}
}
