package compare

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// edited returns a copy of a recording in which edit has changed each event of a resource, or has removed it if it
// returned false. It returns the number of events that it changed.
func edited(
	t *testing.T, recording *replay.Memory, resource string, edit func(r *replay.Record, obj untyped.Map) bool,
) *replay.Memory {
	t.Helper()
	streams := map[int]string{}
	out := &replay.Memory{Head: recording.Head}
	for _, r := range recording.Records {
		r = r.Clone()
		if r.NewStream != nil {
			streams[r.Stream] = r.NewStream.Resource
		}
		if r.Type.HasObject() && streams[r.Stream] == resource {
			obj, err := parse(r.Object)
			if err != nil {
				t.Fatal(err)
			}
			if !edit(r, obj) {
				continue
			}
			if r.Object, err = json.Marshal(obj); err != nil {
				t.Fatal(err)
			}
		}
		out.Append(r)
	}
	return out
}

func runOn(t *testing.T, recording replay.Recording, names ...string) *Result {
	t.Helper()
	result, err := Run(within(t), recording, Options{Controllers: selected(t, names...)})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func key(t *testing.T, r *Result, controller string) Key {
	t.Helper()
	at := slices.IndexFunc(r.Keys, func(k Key) bool { return k.Controller == controller })
	if at < 0 {
		t.Fatalf("There is no key of %s: %s", controller, show(t, r))
	}
	return r.Keys[at]
}

func TestPlanted(t *testing.T) {
	names := []string{"deployment", "replicaset"}
	recording := record(t, false, names, web(2, "nginx:1"))

	t.Run("other", func(t *testing.T) {
		planted := 0
		changed := edited(t, recording, "pods", func(r *replay.Record, obj untyped.Map) bool {
			if r.Type == replay.TypeAdded && planted == 0 {
				planted++
				obj.Maps("spec", "containers")[0]["image"] = "planted"
			}
			return true
		})
		result := runOn(t, changed, names...)
		k := key(t, result, "replicaset")
		if k.Other == nil {
			t.Fatalf("Nothing differs of %s", show(t, result))
		}
		want := []fields.Change{{Path: "spec.containers[name=c].image", Old: "planted", New: "nginx:1"}}
		if diff := cmp.Diff(want, k.Other.Fields); diff != "" {
			t.Errorf("Fields that differ (-want +got):\n%s", diff)
		}
		if len(k.Other.Replayed.Causes) == 0 || k.Other.Recorded.Record == 0 || k.Uncompared == 0 {
			t.Errorf("The difference has no cause, no record, or nothing after it: %s", show(t, k))
		}
		if d := key(t, result, "deployment"); !d.IsSame() {
			t.Errorf("The Deployment differs, whose input is as it was: %s", show(t, d))
		}
		if difference := result.Difference(runOn(t, changed, names...)); difference != "" {
			t.Errorf("A second run came out otherwise: %s", difference)
		}
	})

	t.Run("missing", func(t *testing.T) {
		var copied *replay.Record
		changed := edited(t, recording, "pods", func(r *replay.Record, obj untyped.Map) bool {
			if r.Type == replay.TypeAdded && copied == nil {
				copied = r.Clone()
				metadata := obj["metadata"].(map[string]any)
				metadata["name"], metadata["uid"] = "web-planted", "00000000-0000-4000-8000-000000000000"
				copied.Name, copied.UID = "web-planted", "00000000-0000-4000-8000-000000000000"
				copied.Object, _ = json.Marshal(obj)
				metadata["name"], metadata["uid"] = r.Name, r.UID
			}
			return true
		})
		copied.ResourceVersion = "" // it comes last
		copied.Time = changed.Records[len(changed.Records)-1].Time
		changed.Append(copied)
		k := key(t, runOn(t, changed, names...), "replicaset")
		if len(k.Missing) != 1 || k.Missing[0].Object.Name != "web-planted" {
			t.Errorf("The pod that no controller makes is not missing: %s", show(t, k))
		}
	})

	t.Run("missing while a timer waits", func(t *testing.T) {
		changed := &replay.Memory{Head: recording.Head}
		streams := map[int]string{}
		var planted *replay.Record
		for _, r := range recording.Records {
			if r.NewStream != nil {
				streams[r.Stream] = r.NewStream.Resource
			}
			changed.Append(r.Clone())
			switch {
			case r.Type == replay.TypeAdded && streams[r.Stream] == "replicasets":
				planted = withoutReplicas(t, r, "web-planted")
			case r.Type == replay.TypeModified && streams[r.Stream] == "pods" && planted != nil:
				planted.Time = r.Time
				changed.Append(planted)
				planted = nil
			}
		}
		// The controller looks again after ten minutes whether the rollout goes on: that has not made this.
		k := key(t, runOn(t, changed, names...), "deployment")
		if len(k.ByTimer) > 0 || len(k.Missing) == 0 || k.Missing[0].Object.Name != "web-planted" {
			t.Errorf("The ReplicaSet that no controller makes is not missing: %s", show(t, k))
		}
	})

	t.Run("extra", func(t *testing.T) {
		changed := edited(t, recording, "replicasets", func(*replay.Record, untyped.Map) bool { return false })
		changed = edited(t, changed, "pods", func(*replay.Record, untyped.Map) bool { return false })
		k := key(t, runOn(t, changed, names...), "deployment")
		if len(k.Extra) != 1 || k.Extra[0].Verb != VerbCreate || len(k.Extra[0].Changes) == 0 {
			t.Errorf("The ReplicaSet that was not recorded is not extra: %s", show(t, k))
		}
	})
}

func TestErrors(t *testing.T) {
	pods := replay.Stream{Number: 1, Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true}
	services := replay.Stream{Number: 1, Version: "v1", Kind: "Service", Resource: "services", Namespaced: true}
	for _, tc := range []struct {
		controller string
		stream     replay.Stream
		object     string
		want       string
		reason     string
	}{
		{"replicaset", pods, `{"metadata":{"name":"a","namespace":"b"}}`,
			"replicaset reads replicasets.apps, which was not recorded", "what it would do depends on them"},
		{"podgc", pods, `{"metadata":{"name":"a","namespace":"b"}}`, "nodes", "the first kind that it lacks is named"},
		{"service-cidr", services, `{"metadata":{"name":"a","namespace":"b"}}`, "service-cidr reads ",
			"a controller that has no rules may lack kinds, too"},
	} {
		stream := tc.stream
		recording := &replay.Memory{}
		recording.Append(
			&replay.Record{Type: replay.TypeStream, Stream: 1, NewStream: &stream},
			&replay.Record{Type: replay.TypeAdded, Stream: 1, Namespace: "b", Name: "a", Object: []byte(tc.object)})
		_, err := Run(t.Context(), recording, Options{
			Controllers: selected(t, tc.controller), From: replay.Moment{Number: 1},
		})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q: %s", tc.controller, err, tc.want, tc.reason)
		}
	}
}

func TestNothingToCompare(t *testing.T) {
	recording := &replay.Memory{}
	for i, stream := range recordedKinds {
		stream.Number = i + 1
		recording.Append(&replay.Record{Type: replay.TypeStream, Stream: stream.Number, NewStream: &stream})
	}
	if _, err := Run(t.Context(), recording, Options{
		Controllers: selected(t, "deployment"), From: replay.Moment{Number: 1},
	}); !errors.Is(err, ErrNoEvents) {
		t.Errorf("error %v, want %v: nothing was recorded", err, ErrNoEvents)
	}
	if got := wantedBy(selected(t, "replicaset")); got(schema.GroupResource{Resource: "events"}) || !got(core("pods")) {
		t.Error("A controller of pods needs pods, and no Events")
	}
}

// withoutReplicas returns the creation of a ReplicaSet like another one, with another name and no pods.
func withoutReplicas(t *testing.T, r *replay.Record, name string) *replay.Record {
	t.Helper()
	obj, err := parse(r.Object)
	if err != nil {
		t.Fatal(err)
	}
	out := r.Clone()
	out.Name, out.UID, out.ResourceVersion = name, "00000000-0000-4000-8000-000000000000", ""
	setMetadata(obj, "name", out.Name)
	setMetadata(obj, "uid", out.UID)
	obj["spec"].(map[string]any)["replicas"] = 0
	if out.Object, err = json.Marshal(obj); err != nil {
		t.Fatal(err)
	}
	return out
}
