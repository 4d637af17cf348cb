package memstore

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
)

// labelled returns a pod of the namespace "ns".
func labelled(name, value string) *example.Pod {
	return &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"k": value}}}
}

func (f *fixture) mustCreate(t testing.TB, pod *example.Pod) *example.Pod {
	t.Helper()
	out := &example.Pod{}
	if err := f.Create(t.Context(), podKey(pod), pod, out, 0); err != nil {
		t.Fatal(err)
	}
	return out
}

func (f *fixture) mustLabel(t testing.TB, name, value string) *example.Pod {
	t.Helper()
	out := &example.Pod{}
	err := f.GuaranteedUpdate(t.Context(), "/pods/ns/"+name, out, false, nil,
		storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
			obj.(*example.Pod).Labels = map[string]string{"k": value}
			return obj, nil
		}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (f *fixture) mustDelete(t testing.TB, name string) *example.Pod {
	t.Helper()
	out := &example.Pod{}
	if err := f.Delete(t.Context(), "/pods/ns/"+name, out, nil, storage.ValidateAllObjectFunc, nil,
		storage.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	return out
}

func (f *fixture) mustGet(t testing.TB, name string) *example.Pod {
	t.Helper()
	out := &example.Pod{}
	if err := f.Get(t.Context(), "/pods/ns/"+name, storage.GetOptions{}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (f *fixture) mustList(t testing.TB, opts storage.ListOptions) *example.PodList {
	t.Helper()
	opts.Recursive = true
	if opts.Predicate.Label == nil {
		opts.Predicate.Label, opts.Predicate.Field = storage.Everything.Label, storage.Everything.Field
	}
	out := &example.PodList{}
	if err := f.GetList(t.Context(), "/pods", opts, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (f *fixture) mustWatch(t testing.TB, opts storage.ListOptions) watch.Interface {
	t.Helper()
	opts.Recursive = true
	if opts.Predicate.Label == nil {
		opts.Predicate.Label, opts.Predicate.Field = storage.Everything.Label, storage.Everything.Field
	}
	w, err := f.Watch(t.Context(), "/pods", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// inEachMode runs a test with a store of each mode.
func inEachMode(t *testing.T, run func(t *testing.T, f *fixture)) {
	for _, mode := range []Mode{Objects, Encoded} {
		t.Run(mode.String(), func(t *testing.T) { run(t, newFixture(t, mode, Options{})) })
	}
}

// TestCallersOwnWhatTheyGet mutates every object that goes into or comes out of a store where the contract of
// storage.Interface allows for it, and wants the store unmoved.
func TestCallersOwnWhatTheyGet(t *testing.T) {
	spoil := func(pod *example.Pod) { pod.Labels["k"] = "spoiled" }
	tests := []struct {
		name   string
		reason string
		do     func(t *testing.T, f *fixture)
	}{
		{"create input", "the registry continues to use what it created", func(t *testing.T, f *fixture) {
			pod := labelled("b", "good")
			f.mustCreate(t, pod)
			spoil(pod)
		}},
		{"create output", "it is decorated and then sent", func(t *testing.T, f *fixture) {
			spoil(f.mustCreate(t, labelled("c", "good")))
		}},
		{"get", "a client may change what it got", func(t *testing.T, f *fixture) {
			spoil(f.mustGet(t, "a"))
		}},
		{"refused update", "an update changes its input, and then fails", func(t *testing.T, f *fixture) {
			err := f.GuaranteedUpdate(t.Context(), "/pods/ns/a", &example.Pod{}, false, nil,
				func(obj runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
					spoil(obj.(*example.Pod))
					return nil, nil, context.Canceled
				}, nil)
			if err == nil {
				t.Error("the error of the update function is lost")
			}
		}},
		{"update result", "the function that made it may keep it", func(t *testing.T, f *fixture) {
			pod := labelled("a", "good")
			err := f.GuaranteedUpdate(t.Context(), "/pods/ns/a", &example.Pod{}, false, nil,
				storage.SimpleUpdate(func(runtime.Object) (runtime.Object, error) { return pod, nil }), nil)
			if err != nil {
				t.Fatal(err)
			}
			spoil(pod)
		}},
		{"update output", "it is decorated and then sent", func(t *testing.T, f *fixture) {
			spoil(f.mustLabel(t, "a", "good"))
		}},
		{"unchanged output", "an update without effect returns the object as well", func(t *testing.T, f *fixture) {
			spoil(f.mustLabel(t, "a", f.mustGet(t, "a").Labels["k"]))
		}},
		{"validation of a refused delete", "nothing must come of it", func(t *testing.T, f *fixture) {
			err := f.Delete(t.Context(), "/pods/ns/a", &example.Pod{}, nil,
				func(_ context.Context, obj runtime.Object) error {
					spoil(obj.(*example.Pod))
					return context.Canceled
				}, nil, storage.DeleteOptions{})
			if err == nil {
				t.Error("the error of the validation is lost")
			}
		}},
		{"watch", "clients do not share events", func(t *testing.T, f *fixture) {
			w := f.mustWatch(t, storage.ListOptions{ResourceVersion: "0"})
			spoil((<-w.ResultChan()).Object.(*example.Pod))
			f.mustLabel(t, "a", "good")
			spoil((<-w.ResultChan()).Object.(*example.Pod))
		}},
		{"list items", "the items themselves are copies, if shallow ones", func(t *testing.T, f *fixture) {
			list := f.mustList(t, storage.ListOptions{})
			list.Items[0].Labels = map[string]string{"k": "spoiled"}
			list.Items[0].Name = "spoiled"
		}},
	}
	inEachMode(t, func(t *testing.T, f *fixture) {
		f.mustCreate(t, labelled("a", "good"))
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				test.do(t, f)
				for _, pod := range f.mustList(t, storage.ListOptions{}).Items {
					if pod.Labels["k"] != "good" {
						t.Errorf("the store holds %s with label %q, but: %s", pod.Name, pod.Labels["k"], test.reason)
					}
				}
			})
		}
	})
}

// TestTimesAreStoredInSeconds wants the object that the store returns to be the one that clients see.
func TestTimesAreStoredInSeconds(t *testing.T) {
	inEachMode(t, func(t *testing.T, f *fixture) {
		exact := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 678, time.Local))
		pod := labelled("a", "1")
		pod.CreationTimestamp, pod.DeletionTimestamp = exact, &exact
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Time: &exact, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{}`)}}
		f.mustCreate(t, pod)
		if pod.CreationTimestamp.Nanosecond() == 0 || pod.ManagedFields[0].Time.Nanosecond() == 0 {
			t.Error("the caller's object was changed")
		}
		got := f.mustGet(t, "a")
		want := exact.Rfc3339Copy()
		if !got.CreationTimestamp.Equal(&want) || !got.DeletionTimestamp.Equal(&want) ||
			!got.ManagedFields[0].Time.Equal(&want) {
			t.Errorf("times are not in whole seconds: %v", got.ObjectMeta)
		}
	})
}

func TestDecorator(t *testing.T) {
	f := newFixture(t, Objects, Options{})
	config := f.config(t)
	tests := []struct {
		prefix string
		mode   Mode
		want   string
		reason string
	}{
		{"/pods", Objects, "", "the status storage of a resource uses its objects"},
		{"/pods", Encoded, `storing pods.example.apiserver.k8s.io: "/pods" is in use with mode Objects, not Encoded`, "an entry has one form"},
		{"/crs", Encoded, "", "each resource has its own mode"},
		{"pods", Objects, `storing pods.example.apiserver.k8s.io: resource prefix "pods" is not an absolute path`, "keys begin with a slash"},
		{"/", Objects, `storing pods.example.apiserver.k8s.io: resource prefix "/" is not an absolute path`, "it would hold all resources"},
		{"", Objects, `storing pods.example.apiserver.k8s.io: resource prefix "" is not an absolute path`, "upstream refuses it"},
	}
	for _, test := range tests {
		_, destroy, err := f.store.Decorator(test.mode)(config, test.prefix, nil, newPod, newPodList, nil, nil, nil)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			destroy()
		}
		if got != test.want {
			t.Errorf("%q in mode %v: error %q, want %q: %s", test.prefix, test.mode, got, test.want, test.reason)
		}
	}
}

// TestSharedPrefix wants storages of one prefix to share objects, and the end of one not to be felt by the other.
func TestSharedPrefix(t *testing.T) {
	f := newFixture(t, Objects, Options{})
	other, destroy, err := f.store.Decorator(Objects)(f.config(t), "/pods", nil, newPod, newPodList, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := f.mustWatch(t, storage.ListOptions{ResourceVersion: "1"})
	ended, err := other.Watch(t.Context(), "/pods",
		storage.ListOptions{ResourceVersion: "1", Recursive: true, Predicate: storage.Everything})
	if err != nil {
		t.Fatal(err)
	}
	destroy()
	if _, open := <-ended.ResultChan(); open {
		t.Error("a watch outlived its storage")
	}
	if _, err := other.Watch(t.Context(), "/pods",
		storage.ListOptions{Recursive: true, Predicate: storage.Everything}); err == nil {
		t.Error("a destroyed storage began a watch")
	}
	want := f.mustCreate(t, labelled("a", "1"))
	if diff := cmp.Diff(watch.Event{Type: watch.Added, Object: want}, <-w.ResultChan()); diff != "" {
		t.Errorf("event of the storage that is left (-want +got):\n%s", diff)
	}
	got := &example.Pod{}
	if err := other.Get(t.Context(), "/pods/ns/a", storage.GetOptions{}, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("object in the other storage (-want +got):\n%s", diff)
	}
}

// TestKeysInErrors wants keys in error texts as a kube-apiserver has them: with the storage prefix.
func TestKeysInErrors(t *testing.T) {
	f := newFixture(t, Objects, Options{})
	config := f.config(t)
	config.Prefix = "registry"
	s, _, err := f.store.Decorator(Objects)(config, "/services/specs", nil, newPod, newPodList, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Get(t.Context(), "/services/specs/ns/a", storage.GetOptions{}, &example.Pod{})
	want := storage.NewKeyNotFoundError("/registry/services/specs/ns/a", 0)
	if err == nil || err.Error() != want.Error() || !storage.IsNotFound(err) {
		t.Errorf("error %v, want %v", err, want)
	}
	if err := s.Create(t.Context(), "/services/specs/ns/a", labelled("a", "1"), nil, 0); err != nil {
		t.Fatal(err)
	}
	stats, err := s.Stats(t.Context())
	if diff := cmp.Diff(storage.Stats{ObjectCount: 1}, stats); err != nil || diff != "" {
		t.Errorf("stats (-want +got):\n%s, error %v", diff, err)
	}
}

// TestTypesMustAgree wants an error, not a panic, for a caller with another type than is stored.
func TestTypesMustAgree(t *testing.T) {
	f := newFixture(t, Objects, Options{})
	f.mustCreate(t, labelled("a", "1"))
	if err := f.Get(t.Context(), "/pods/ns/a", storage.GetOptions{}, &example.ReplicaSet{}); err == nil {
		t.Error("a pod was read into a ReplicaSet")
	}
	err := f.GetList(t.Context(), "/pods", storage.ListOptions{Recursive: true, Predicate: storage.Everything},
		&metav1.PartialObjectMetadataList{})
	if err == nil {
		t.Error("pods were listed as metadata")
	}
	if err := f.GetList(t.Context(), "/pods", storage.ListOptions{Recursive: true, Predicate: storage.Everything},
		&example.Pod{}); err == nil {
		t.Error("pods were listed into a pod")
	}
}
