package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

func widget(name, version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "a", "name": name, "resourceVersion": version},
	}}
}

// lineOf is a change as a line.
func lineOf(c Change[string]) string {
	what := string(c.Event)
	switch {
	case c.Err != nil && c.Objects != nil:
		what = "all but " + c.Err.Error() + ":"
	case c.Err != nil:
		what = c.Err.Error()
	case c.Event == "":
		what = "all"
	}
	return strings.TrimSpace(what + " " + strings.Join(c.Objects, " "))
}

func TestFollower(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old").Status()
	tooLarge := apierrors.NewTimeoutError("Too large resource version", 1).Status()
	tooLarge.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	internal := apierrors.NewInternalError(errors.New("etcd")).Status()
	for _, tt := range []struct {
		reason string
		listed []string
		err    error                    // of the list
		events func(*watch.FakeWatcher) // of the first watch
		after  time.Duration            // that is looked at
		want   []string
	}{
		{"what exists, and what happens to it", []string{"x"}, nil, func(w *watch.FakeWatcher) {
			w.Add(widget("y", "6"))
			w.Modify(widget("y", "7"))
			w.Delete(widget("x", "8"))
		}, 0, []string{"all x", "from 5", "BOOKMARK", "ADDED y", "MODIFIED y", "DELETED x"}},
		{"nothing exists yet", nil, nil, func(w *watch.FakeWatcher) { w.Add(widget("x", "6")) }, 0,
			[]string{"all", "from 5", "BOOKMARK", "ADDED x"}},
		{"a watch that ends is resumed", nil, nil, func(w *watch.FakeWatcher) {
			w.Add(widget("x", "6"))
			w.Action(watch.Bookmark, widget("", "9"))
			w.Stop()
		}, 0, []string{"all", "from 5", "BOOKMARK", "ADDED x", "from 9", "BOOKMARK"}},
		{"the server has forgotten the place of a watch", nil, nil, func(w *watch.FakeWatcher) { w.Error(&expired) }, minRetryBackoff + time.Millisecond,
			[]string{"all", "from 5", "BOOKMARK", "all", "from 5", "BOOKMARK"}},
		{"the server's store was restored from an older one", nil, nil, func(w *watch.FakeWatcher) { w.Error(&tooLarge) }, minRetryBackoff + time.Millisecond,
			[]string{"all", "from 5", "BOOKMARK", "all", "from 5", "BOOKMARK"}},
		{"an error of the server is reported, and the watch resumed", nil, nil, func(w *watch.FakeWatcher) {
			w.Add(widget("x", "6"))
			w.Error(&internal)
		}, minRetryBackoff + time.Millisecond,
			[]string{"all", "from 5", "BOOKMARK", "ADDED x", "Internal error occurred: etcd", "from 6", "BOOKMARK"}},
		{"an object that cannot be decoded is left out", []string{"x"}, unreadable(errors.New("no")), func(w *watch.FakeWatcher) { w.Add(widget("y", "6")) }, 0,
			[]string{"all but unreadable answer: no: x", "from 5", "BOOKMARK", "ADDED y"}},
		{"what cannot be read is tried again, at longer and longer intervals", nil, errors.New("no"), nil, 7*minRetryBackoff + time.Millisecond,
			[]string{"no", "no", "no", "no"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got []string
			events := tt.events
			f := follower[string]{
				backoff: minRetryBackoff,
				list:    func(context.Context) ([]string, string, error) { return slices.Clone(tt.listed), "5", tt.err },
				watch: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
					got = append(got, "from "+o.ResourceVersion)
					w := watch.NewFake()
					if events != nil {
						go events(w)
					}
					events = nil
					return w, nil
				},
				object: func(o runtime.Object) (string, bool) {
					u, ok := o.(*unstructured.Unstructured)
					return u.GetName(), ok
				},
				changed: func(c Change[string]) { got = append(got, lineOf(c)) },
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				f.follow(ctx)
			}()
			time.Sleep(tt.after) //nolint:forbidigo // it moves the bubble's clock
			synctest.Wait()
			cancel()
			<-ended
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}
