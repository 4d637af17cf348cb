package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// configMap returns a ConfigMap whose field `data.a` the manager has written.
func configMap(manager, value string, more ...string) string {
	return fmt.Sprintf(`{"metadata":{"name":"c","namespace":"shop","uid":"u","managedFields":[{"manager":%q,
		"operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:a":{}}}}]%s},
		"data":{"a":%q}}`, manager, strings.Join(more, ""), value)
}

func parsed(t *testing.T, text string) untyped.Map {
	t.Helper()
	if text == "" {
		return nil
	}
	obj, err := parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestProgramWrites(t *testing.T) {
	const (
		deleting     = `,"deletionTimestamp":"2026-01-01T10:00:00Z"`
		setFinalizer = `,"managedFields":[{"manager":"op","fieldsV1":{"f:metadata":{"f:finalizers":{"v:\"example.com/f\"":{}}}}}]`
		finalizer    = `,"finalizers":["example.com/f"]`
		shared       = `,"managedFields":[{"manager":"op"},{"manager":"kubectl"}]`
		owned        = `,"ownerReferences":[{"kind":"Website","name":"blog","controller":true}]`
	)
	for _, test := range []struct {
		before, after string
		user          string
		want          verdict
		verb          Verb
		key           string
		possible      bool
		reason        string
	}{
		{"", configMap("op", "1"), "", isEffect, VerbCreate, "ConfigMap shop/c", false, "it has made it"},
		{"", configMap("op", "1", owned), "", isEffect, VerbCreate, "Website shop/blog", false, "the owner is the key"},
		{"", configMap("kubectl", "1"), "", isInput, "", "", false, "another has"},
		{configMap("op", "1"), configMap("op", "2"), "", isEffect, VerbUpdate, "ConfigMap shop/c", false, "its field"},
		{configMap("op", "1"), configMap("kubectl", "2"), "", isInput, "", "", false, "another's field"},
		{configMap("op", "1"), "", "", isEffect, VerbDelete, "ConfigMap shop/c", false, "it has made it, and nothing else deletes it"},
		{configMap("op", "1", owned), "", "", isEffect, VerbDelete, "Website shop/blog", true,
			"the owner is gone: the garbage collector deletes it"},
		{configMap("op", "1", shared), "", "", isEffect, VerbDelete, "ConfigMap shop/c", true,
			"others have made it too, and deletions name no one"},
		{configMap("kubectl", "1"), "", "", isInput, "", "", false, "it never had to do with the object"},
		{configMap("op", "1", deleting, finalizer), "", "", isEffect, VerbUpdate, "ConfigMap shop/c", true,
			"the last finalizer was removed"},
		{configMap("op", "1", deleting), "", "", isInput, "", "", false, "there was none: a grace period has passed"},
		{configMap("op", "1", finalizer), configMap("op", "1"), "", isEffect, VerbUpdate, "ConfigMap shop/c", true,
			"something was removed only"},
		{configMap("op", "1", finalizer, setFinalizer), configMap("op", "1"), "", isEffect, VerbUpdate, "ConfigMap shop/c", false,
			"it has set the finalizer"},
		{configMap("op", "1", deleting, finalizer, setFinalizer), "", "", isEffect, VerbUpdate, "ConfigMap shop/c", false,
			"it has set the last finalizer"},
		{"", configMap("kubectl", "1"), "system:serviceaccount:shop:op", isEffect, VerbCreate, "ConfigMap shop/c", false,
			"an audit log names the user"},
		{configMap("op", "1"), "", "alice", isInput, "", "", false, "and others"},
	} {
		found := newProgramWrites(Program{Name: "program", Writers: []string{"op"}}, &recorded{events: make([]*event, 1), writes: newTracedWrites()})
		ev := &event{
			record: &replay.Record{Namespace: "shop", Name: "c", Writer: test.user},
			stream: &replay.Stream{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true},
		}
		c := newChange(fields.Mask{Resource: core("configmaps")}, "shop", "c", parsed(t, test.before), parsed(t, test.after))
		got, made := found.who(index{}, ev, c)
		if got != test.want || got == isEffect && (c.verb != test.verb || made.key != test.key ||
			made.possible != test.possible || made.controller != "program") {
			t.Errorf("%s: verdict %d, %s for %+v, want %d, %s for %s", test.reason, got, c.verb, made, test.want,
				test.verb, test.key)
		}
	}
}

// TestNoWrites: who has written is named, the most writes first.
func TestNoWrites(t *testing.T) {
	stream := replay.Stream{Number: 1, Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true}
	recording := &replay.Memory{}
	recording.Append(
		&replay.Record{Type: replay.TypeStream, Stream: 1, NewStream: &stream},
		&replay.Record{Type: replay.TypeListBegin, Stream: 1}, &replay.Record{Type: replay.TypeListEnd, Stream: 1})
	for i, manager := range []string{"a", "b", "b"} {
		kind := replay.TypeModified
		if i == 0 {
			kind = replay.TypeAdded
		}
		recording.Append(&replay.Record{
			Type: kind, Stream: 1, Namespace: "shop", Name: "c", Object: []byte(configMap(manager, fmt.Sprint(i))),
		})
	}
	_, err := RunProgram(t.Context(), recording, Program{Writers: []string{"op"}}, ProgramOptions{})
	none := (*NoWritesError)(nil)
	if !errors.As(err, &none) {
		t.Fatalf("error %v, want one that names the writers", err)
	}
	if diff := cmp.Diff([]WriterCount{{"b", 2}, {"a", 1}}, none.Others); diff != "" {
		t.Errorf("writers (-want +got):\n%s", diff)
	}
}

func TestStripAllocated(t *testing.T) {
	service := func(spec string) string {
		obj := parsed(t, `{"metadata":{"name":"s"},"spec":`+spec+`}`)
		return contentText(contentOf(obj, VerbCreate))
	}
	a := service(`{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ports":[{"port":80,"nodePort":30001}]}`)
	b := service(`{"clusterIP":"10.0.0.2","clusterIPs":["10.0.0.2"],"ports":[{"port":80,"nodePort":30002}]}`)
	if a != b {
		t.Errorf("addresses that were allocated differ: %s, and %s", a, b)
	}
	if headless := service(`{"clusterIP":"None","ports":[{"port":80}]}`); !strings.Contains(headless, "None") || a == headless {
		t.Errorf("a headless Service is the same as another: %s", headless)
	}
}

// accepted are changes of a recording: record 4 gets another object, 5 goes, and one comes after 4.
func accepted(t *testing.T) *Accepted {
	t.Helper()
	return &Accepted{
		objects: map[int64][]byte{4: []byte(configMap("op", "new")), 5: nil},
		inserted: []insertion{{after: 4, base: 10, record: &replay.Record{
			Type: replay.TypeAdded, Stream: 1, Namespace: "shop", Name: "extra", ResourceVersion: "11",
			Object: []byte(`{"metadata":{"name":"extra","resourceVersion":"11"}}`),
		}}},
	}
}

func TestAcceptedWrite(t *testing.T) {
	stream := replay.Stream{Number: 1, Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true}
	recording := &replay.Memory{}
	recording.Append(
		&replay.Record{Type: replay.TypeStream, Stream: 1, NewStream: &stream},
		&replay.Record{Type: replay.TypeListBegin, Stream: 1},
		&replay.Record{Type: replay.TypeListEnd, Stream: 1, ResourceVersion: "9"})
	for i, version := range []string{"10", "11", "12"} {
		recording.Append(&replay.Record{
			Type: replay.TypeModified, Stream: 1, Namespace: "shop", Name: "c", ResourceVersion: version,
			Object: []byte(configMap("op", fmt.Sprint(i))),
		})
	}
	recording.Append(&replay.Record{Type: replay.TypeBookmark, Stream: 1, ResourceVersion: "12"})
	out := &replay.Memory{}
	if err := accepted(t).Write(recording, appending{out}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range out.Records[3:] {
		line := fmt.Sprintf("%s %s %s", r.Type, r.Name, r.ResourceVersion)
		if r.Object != nil {
			obj := parsed(t, string(r.Object))
			line += " " + obj.Text("data", "a") + " " + obj.Text("metadata", "resourceVersion")
		}
		got = append(got, line)
	}
	want := []string{"MODIFIED c 10 new ", "ADDED extra 11  11", "MODIFIED c 13 2 13", "BOOKMARK  13"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what was written (-want +got):\n%s", diff)
	}
}

// appending is a Sink of a Memory.
type appending struct{ *replay.Memory }

// Write implements replay.Sink.
func (a appending) Write(r *replay.Record) error {
	a.Append(r.Clone())
	return nil
}

func TestRebased(t *testing.T) {
	for _, test := range []struct{ before, after, actual, want, reason string }{
		{`{"spec":{"n":1}}`, `{"spec":{"n":1},"status":{"ready":1}}`, `{"spec":{"n":2}}`,
			`{"spec":{"n":2},"status":{"ready":1}}`, "what others change is kept, and what differs too"},
		{`{"a":1,"b":2}`, `{"a":1}`, `{"a":3,"b":2}`, `{"a":3}`, "so is what they remove"},
		{`{}`, `{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`, "there was nothing before"},
	} {
		got, err := rebased([]byte(test.before), []byte(test.after), []byte(test.actual))
		if err != nil {
			t.Fatalf("%s: %v", test.reason, err)
		}
		var x, y any
		if err := errors.Join(json.Unmarshal(got, &x), json.Unmarshal([]byte(test.want), &y)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(y, x); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}
