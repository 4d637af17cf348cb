package memstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// contents returns the objects of a list as name -> label.
func contents(list *example.PodList) map[string]string {
	m := map[string]string{}
	for _, pod := range list.Items {
		m[pod.Name] = pod.Labels["k"]
	}
	return m
}

// TestListAtEveryVersion writes at random, remembers each state, and wants every one of them back: whole, and in pages.
func TestListAtEveryVersion(t *testing.T) {
	inEachMode(t, func(t *testing.T, f *fixture) {
		random := rand.New(rand.NewPCG(1, 2))
		state := map[string]string{}
		states := map[uint64]map[string]string{1: {}}
		for i := range 300 {
			name := fmt.Sprintf("pod-%02d", random.IntN(40))
			switch _, exists := state[name]; {
			case !exists:
				f.mustCreate(t, labelled(name, strconv.Itoa(i)))
				state[name] = strconv.Itoa(i)
			case random.IntN(3) == 0:
				f.mustDelete(t, name)
				delete(state, name)
			default:
				f.mustLabel(t, name, strconv.Itoa(i))
				state[name] = strconv.Itoa(i)
			}
			states[f.store.ResourceVersion()] = maps.Clone(state)
		}
		for version, want := range states {
			rv := strconv.FormatUint(version, 10)
			exact := storage.ListOptions{ResourceVersion: rv, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
			list := f.mustList(t, exact)
			if diff := cmp.Diff(want, contents(list)); diff != "" || list.ResourceVersion != rv {
				t.Fatalf("at %s, which says it is %s (-want +got):\n%s", rv, list.ResourceVersion, diff)
			}
			if got := paged(t, f, exact); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
				t.Fatalf("at %s, in pages: %v", rv, got)
			}
		}
	})
}

// paged lists in pages of seven, and returns the names. It checks that the pages say how much is to come.
func paged(t *testing.T, f *fixture, opts storage.ListOptions) []string {
	t.Helper()
	var names []string
	opts.Predicate = storage.Everything
	opts.Predicate.Limit = 7
	whole := len(f.mustList(t, storage.ListOptions{ResourceVersion: opts.ResourceVersion, ResourceVersionMatch: opts.ResourceVersionMatch}).Items)
	for {
		page := f.mustList(t, opts)
		for _, pod := range page.Items {
			names = append(names, pod.Name)
		}
		if (page.Continue == "") != (page.RemainingItemCount == nil) {
			t.Fatalf("token %q, but remaining %v", page.Continue, page.RemainingItemCount)
		}
		if page.Continue == "" {
			return names
		}
		if got := *page.RemainingItemCount; got != int64(whole-len(names)) {
			t.Fatalf("%d remaining after %d of %d", got, len(names), whole)
		}
		opts.Predicate.Continue, opts.ResourceVersion, opts.ResourceVersionMatch = page.Continue, "", ""
	}
}

// TestListErrors lists at versions that are not available.
func TestListErrors(t *testing.T) {
	f := newFixture(t, Objects, Options{})
	for i := range 5 {
		f.mustCreate(t, labelled(strconv.Itoa(i), "1"))
	}
	first := storage.Everything
	first.Limit = 2
	token := f.mustList(t, storage.ListOptions{Predicate: first}).Continue
	f.mustCreate(t, labelled("5", "1"))
	f.store.Compact(f.store.ResourceVersion())
	next := first
	next.Continue = token
	tests := []struct {
		reason string
		opts   storage.ListOptions
		is     func(error) bool
	}{
		{"a version that is compacted", storage.ListOptions{ResourceVersion: "3", ResourceVersionMatch: "Exact"}, apierrors.IsResourceExpired},
		{"a token whose version is compacted", storage.ListOptions{Predicate: next}, apierrors.IsResourceExpired},
		{"at least a version yet to come", storage.ListOptions{ResourceVersion: "99"}, storage.IsTooLargeResourceVersion},
		{"exactly a version yet to come", storage.ListOptions{ResourceVersion: "99", ResourceVersionMatch: "Exact"}, storage.IsTooLargeResourceVersion},
		{"not a version", storage.ListOptions{ResourceVersion: "x"}, apierrors.IsBadRequest},
	}
	for _, test := range tests {
		test.opts.Recursive = true
		if test.opts.Predicate.Label == nil {
			test.opts.Predicate = storage.Everything
		}
		err := f.GetList(t.Context(), "/pods", test.opts, &example.PodList{})
		if err == nil || !test.is(err) {
			t.Errorf("%s: error is %v", test.reason, err)
		}
		var status apierrors.APIStatus
		if test.opts.Predicate.Continue == "" || !apierrors.IsResourceExpired(err) {
			continue
		}
		if !errors.As(err, &status) {
			t.Fatalf("%s: no status in %v", test.reason, err)
		}
		next.Continue = status.Status().Continue // to continue without consistency
		if got := len(f.mustList(t, storage.ListOptions{Predicate: next}).Items); got != 2 {
			t.Errorf("%s: %d items with the token of the error", test.reason, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := f.GetList(ctx, "/pods", storage.ListOptions{Recursive: true, Predicate: storage.Everything},
		&example.PodList{})
	if !storage.IsRequestTimeout(err) {
		t.Errorf("a list whose context has ended: error is %v", err)
	}
}

// TestHistoryBoundsLists wants versions older than the history to be gone, and newer ones to be there.
func TestHistoryBoundsLists(t *testing.T) {
	f := newFixture(t, Objects, Options{History: 10})
	f.mustCreate(t, labelled("a", "0"))
	for i := range 100 {
		f.mustLabel(t, "a", strconv.Itoa(i+1))
		newest := f.store.ResourceVersion()
		for back := range uint64(min(i, 10)) {
			opts := storage.ListOptions{ResourceVersion: strconv.FormatUint(newest-back, 10),
				ResourceVersionMatch: "Exact"}
			if got, want := contents(f.mustList(t, opts))["a"], strconv.FormatUint(newest-back-2, 10); got != want {
				t.Fatalf("at %d: %s, want %s", newest-back, got, want)
			}
		}
		if n := len(f.table.history.events); n > 13 {
			t.Fatalf("%d events kept", n)
		}
	}
}

// TestUnstructured keeps custom resources: of no Go type, and decoded to the version of the list.
func TestUnstructured(t *testing.T) {
	store := New(Options{})
	defer store.Close()
	config := storagebackend.NewDefaultConfig("/registry", unstructured.UnstructuredJSONScheme)
	empty := func() runtime.Object {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
	}
	s, _, err := store.Decorator(Encoded)(config.ForResource(example.Resource("widgets")), "/widgets", nil, empty, nil,
		nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	widget := func(size int64) *unstructured.Unstructured {
		u := empty().(*unstructured.Unstructured)
		u.SetName("a")
		u.Object["spec"] = map[string]any{"size": size}
		return u
	}
	created := &unstructured.Unstructured{}
	if err := s.Create(t.Context(), "/widgets/a", widget(1), created, 0); err != nil {
		t.Fatal(err)
	}
	updated := &unstructured.Unstructured{}
	err = s.GuaranteedUpdate(t.Context(), "/widgets/a", updated, false, nil,
		storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
			return obj, unstructured.SetNestedField(obj.(*unstructured.Unstructured).Object, int64(2), "spec", "size")
		}), nil)
	if err != nil {
		t.Fatal(err)
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "WidgetList"}}
	if err := s.GetList(t.Context(), "/widgets", storage.ListOptions{Recursive: true, Predicate: storage.Everything},
		list); err != nil {
		t.Fatal(err)
	}
	yes, bookmarks := true, storage.Everything
	bookmarks.AllowWatchBookmarks = true
	w, err := s.Watch(t.Context(), "/widgets",
		storage.ListOptions{Recursive: true, Predicate: bookmarks, SendInitialEvents: &yes})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	one, two := widget(1), widget(2)
	one.SetResourceVersion("2")
	two.SetResourceVersion("3")
	for what, pair := range map[string][2]any{
		"created": {one, created}, "updated": {two, updated}, "listed": {*two, list.Items[0]}, "watched": {two,
			(<-w.ResultChan()).Object},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	end := (<-w.ResultChan()).Object.(*unstructured.Unstructured)
	if end.GetResourceVersion() != "3" || end.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" ||
		end.GetKind() != "Widget" {
		t.Errorf("bookmark is %v", end.Object)
	}
}

// TestStats wants sizes only once they are enabled, which must be done once.
func TestStats(t *testing.T) {
	inEachMode(t, func(t *testing.T, f *fixture) {
		f.mustCreate(t, labelled("a", "1"))
		stats, err := f.Stats(t.Context())
		if diff := cmp.Diff(storage.Stats{ObjectCount: 1}, stats); err != nil || diff != "" {
			t.Errorf("without sizes (-want +got):\n%s, error %v", diff, err)
		}
		if f.EnableResourceSizeEstimation(nil) == nil {
			t.Error("enabled without a function")
		}
		keys := func(context.Context) ([]string, error) { return nil, nil }
		if err := f.EnableResourceSizeEstimation(keys); err != nil {
			t.Error(err)
		}
		if err := f.EnableResourceSizeEstimation(keys); err == nil ||
			!strings.Contains(err.Error(), "enabled already") {
			t.Errorf("enabled twice: error is %v", err)
		}
		if stats, err := f.Stats(t.Context()); err != nil || stats.EstimatedAverageObjectSizeBytes < 50 {
			t.Errorf("with sizes: %v, error %v", stats, err)
		}
	})
}
