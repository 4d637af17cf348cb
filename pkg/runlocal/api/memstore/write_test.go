package memstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
)

// addAnnotation is an update that always changes something.
func addAnnotation(obj runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
	pod := obj.(*example.Pod)
	pod.Annotations = map[string]string{"was": pod.ResourceVersion}
	return pod, nil, nil
}

// TestGuaranteedUpdate covers for two modes what upstream's test of that name does, but for stale encodings.
func TestGuaranteedUpdate(t *testing.T) {
	uid := func(s string) *storage.Preconditions { return storage.NewUIDPreconditions(s) }
	version := func(s string) *storage.Preconditions { return &storage.Preconditions{ResourceVersion: &s} }
	unchanged := func(obj runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		return obj, nil, nil
	}
	refuse := func(runtime.Object, storage.ResponseMeta) (runtime.Object, *uint64, error) {
		return nil, nil, errors.New("refused")
	}
	unnamed := func(obj runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		obj.(*example.Pod).Name = "missing"
		return obj, nil, nil
	}
	tests := []struct {
		reason   string
		name     string
		ignore   bool
		pre      *storage.Preconditions
		update   storage.UpdateFunc
		wantErr  func(error) bool
		wantMove bool // the resource version goes up
	}{
		{"there is nothing to update", "missing", false, nil, addAnnotation, storage.IsNotFound, false},
		{"a missing object is made from an empty one", "missing", true, nil, unnamed, nil, true},
		{"a change is a new version", "a", false, nil, addAnnotation, nil, true},
		{"no change is none", "a", false, nil, unchanged, nil, false},
		{"the function's error is the result", "a", false, nil, refuse, func(err error) bool { return err.Error() == "refused" }, false},
		{"the object is the one that was meant", "a", false, uid("A"), addAnnotation, nil, true},
		{"it is another one of the same name", "a", false, uid("B"), addAnnotation, storage.IsInvalidObj, false},
		{"it was changed since", "a", false, version("1"), addAnnotation, storage.IsInvalidObj, false},
	}
	inEachMode(t, func(t *testing.T, f *fixture) {
		for _, test := range tests {
			t.Run(test.reason, func(t *testing.T) {
				pod := labelled("a", "1")
				pod.UID = types.UID("A")
				before := f.mustCreate(t, pod)
				defer f.mustDelete(t, "a")
				revision := f.store.ResourceVersion()
				out := &example.Pod{}
				err := f.GuaranteedUpdate(t.Context(), "/pods/ns/"+test.name, out, test.ignore, test.pre, test.update,
					nil)
				switch {
				case test.wantErr == nil && err != nil:
					t.Fatal(err)
				case test.wantErr != nil && (err == nil || !test.wantErr(err)):
					t.Fatalf("error is %v", err)
				}
				if moved := f.store.ResourceVersion() != revision; moved != test.wantMove {
					t.Errorf("resource version moved: %t", moved)
				}
				if err != nil || test.name != "a" {
					return
				}
				if diff := cmp.Diff(f.mustGet(t, "a"), out); diff != "" {
					t.Errorf("stored (-), handed out (+):\n%s", diff)
				}
				if !test.wantMove && out.ResourceVersion != before.ResourceVersion {
					t.Errorf("an update without effect has version %s, before it was %s", out.ResourceVersion,
						before.ResourceVersion)
				}
			})
		}
	})
}

// TestNewUID: what is created gets uids of Options.NewUID, by an update of what is missing too; the object of the caller
// and later writes keep theirs.
func TestNewUID(t *testing.T) {
	for _, mode := range []Mode{Objects, Encoded} {
		uids := 0
		f := newFixture(t, mode, Options{NewUID: func(r schema.GroupResource) types.UID {
			if r.Resource != "pods" || uids == 2 {
				return ""
			}
			uids++
			return types.UID(fmt.Sprintf("uid-%d", uids))
		}})
		pod := labelled("a", "1")
		pod.UID = "random"
		if created := f.mustCreate(t, pod); created.UID != "uid-1" || pod.UID != "random" {
			t.Errorf("mode %v: created with %q, from %q", mode, created.UID, pod.UID)
		}
		for _, tt := range []struct {
			name string
			want types.UID
		}{{"a", "uid-1"}, {"b", "uid-2"}, {"c", ""}} {
			out := &example.Pod{}
			err := f.GuaranteedUpdate(t.Context(), "/pods/ns/"+tt.name, out, true, nil,
				func(obj runtime.Object, m storage.ResponseMeta) (runtime.Object, *uint64, error) {
					obj.(*example.Pod).Name = tt.name
					return addAnnotation(obj, m)
				}, nil)
			if err != nil || out.UID != tt.want {
				t.Errorf("mode %v: %s updated: uid %q, want %q, error %v", mode, tt.name, out.UID, tt.want, err)
			}
		}
	}
}

// TestConflictsAreRetried lets another writer in between the read and the write, for updates and deletions.
func TestConflictsAreRetried(t *testing.T) {
	inEachMode(t, func(t *testing.T, f *fixture) {
		f.mustCreate(t, labelled("a", "1"))
		var seen []string
		interfere := func(pod *example.Pod) {
			if seen = append(seen, pod.Labels["k"]); len(seen) == 1 {
				f.mustLabel(t, "a", "2")
			}
		}
		err := f.GuaranteedUpdate(t.Context(), "/pods/ns/a", &example.Pod{}, false, nil,
			storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
				interfere(obj.(*example.Pod))
				obj.(*example.Pod).Labels["k"] += "!"
				return obj, nil
			}), nil)
		if diff := cmp.Diff([]string{"1", "2"}, seen); err != nil || diff != "" {
			t.Errorf("the update saw (-want +got):\n%s, error %v", diff, err)
		}
		if got := f.mustGet(t, "a").Labels["k"]; got != "2!" {
			t.Errorf("the update wrote %q", got)
		}
		seen = nil
		err = f.Delete(t.Context(), "/pods/ns/a", &example.Pod{}, nil,
			func(_ context.Context, obj runtime.Object) error {
				interfere(obj.(*example.Pod))
				return nil
			}, nil, storage.DeleteOptions{})
		if diff := cmp.Diff([]string{"2!", "2"}, seen); err != nil || diff != "" {
			t.Errorf("the validation saw (-want +got):\n%s, error %v", diff, err)
		}
	})
}

// TestRetriesEndWithTheRequest wants a writer who always loses to stop when its request does.
func TestRetriesEndWithTheRequest(t *testing.T) {
	f := newFixture(t, Objects, Options{})
	f.mustCreate(t, labelled("a", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	lose := func() {
		if calls++; calls == 3 {
			cancel()
		}
		if err := f.GuaranteedUpdate(t.Context(), "/pods/ns/a", &example.Pod{}, false, nil, addAnnotation,
			nil); err != nil {
			t.Fatal(err)
		}
	}
	err := f.GuaranteedUpdate(ctx, "/pods/ns/a", &example.Pod{}, false, nil,
		storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
			lose()
			obj.(*example.Pod).Labels["k"] = "2"
			return obj, nil
		}), nil)
	if !errors.Is(err, context.Canceled) || calls != 3 {
		t.Errorf("update: error %v after %d tries", err, calls)
	}
	err = f.Delete(ctx, "/pods/ns/a", &example.Pod{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("delete: error %v", err)
	}
	f.mustGet(t, "a")
}

// TestUnencodable wants an object that cannot be stored to be refused without a trace.
func TestUnencodable(t *testing.T) {
	f := newFixture(t, Encoded, Options{})
	if err := f.Create(t.Context(), "/pods/ns/a", &example.ReplicaSet{}, nil, 0); err == nil {
		t.Error("an object that the codec does not know was stored")
	}
	if err := f.Create(t.Context(), "/pods/ns/b", &runtime.Unknown{}, nil, 0); err == nil {
		t.Error("an object without metadata was stored")
	}
	if got := f.store.ResourceVersion(); got != 1 {
		t.Errorf("resource version is %d", got)
	}
}

// TestTooLarge wants objects of more than etcd's limit refused, whatever way they are kept, and what was there to stay.
func TestTooLarge(t *testing.T) {
	for _, mode := range []Mode{Objects, Encoded} {
		t.Run(mode.String(), func(t *testing.T) {
			f := newFixture(t, mode, Options{})
			big := labelled("big", "1")
			big.Annotations = map[string]string{"a": strings.Repeat("x", maxObjectSize)}
			if err := f.Create(t.Context(), "/pods/test/big", big, &example.Pod{}, 0); !errors.Is(err, errTooLarge) {
				t.Errorf("creating an object of more than %d bytes: %v", maxObjectSize, err)
			}
			big.Annotations["a"] = strings.Repeat("x", maxObjectSize/2)
			if err := f.Create(t.Context(), "/pods/test/big", big, &example.Pod{}, 0); err != nil {
				t.Errorf("creating an object of half as many: %v", err)
			}
		})
	}
}
