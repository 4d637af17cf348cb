package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
)

// listReader is an ObjectReader of objects that do not change, or an error.
type listReader struct {
	objects []*unstructured.Unstructured
	err     error
}

func (r *listReader) Object(context.Context, Kind, string, string) (*unstructured.Unstructured, error) {
	if len(r.objects) == 0 {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, "")
	}
	return r.objects[0], r.err
}

func (r *listReader) ListObjects(_ context.Context, _ Target, _ ListOptions, each func(*unstructured.Unstructured) error) error {
	for _, o := range r.objects {
		if err := each(o); err != nil {
			return err
		}
	}
	return r.err
}

func widget(name, version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "a", "name": name, "resourceVersion": version},
	}}
}

func TestFollowObjects(t *testing.T) {
	kind := Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, Resource: "widgets", Namespaced: true,
	}
	expired := apierrors.NewResourceExpired("too old").Status()
	for _, tt := range []struct {
		reason string
		reader *listReader
		name   string
		events func(*watch.FakeWatcher)
		after  time.Duration // that is looked at
		want   []string
	}{
		{"what exists, and what happens to it", &listReader{objects: []*unstructured.Unstructured{widget("x", "4")}}, "", func(w *watch.FakeWatcher) {
			w.Add(widget("y", "6"))
			w.Modify(widget("y", "7"))
			w.Delete(widget("x", "8"))
		}, 0, []string{"all x", "BOOKMARK", "ADDED y", "MODIFIED y", "DELETED x"}},
		{"one by its name that does not exist yet", &listReader{}, "x", func(w *watch.FakeWatcher) { w.Add(widget("x", "6")) }, 0,
			[]string{"all", "BOOKMARK", "ADDED x"}},
		{"a watch whose place the server has forgotten", &listReader{}, "", func(w *watch.FakeWatcher) { w.Error(&expired) }, minFollowPause + time.Millisecond,
			[]string{"all", "BOOKMARK", "all", "BOOKMARK"}},
		{"an object that cannot be decoded is left out", &listReader{[]*unstructured.Unstructured{widget("x", "4")}, unreadable(errors.New("no"))}, "",
			func(w *watch.FakeWatcher) { w.Add(widget("y", "6")) }, 0, []string{"all but unreadable answer: no: x", "BOOKMARK", "ADDED y"}},
		{"what cannot be read is tried again, at longer and longer intervals", &listReader{err: errors.New("no")}, "", nil, 7*minFollowPause + time.Millisecond,
			[]string{"no", "no", "no", "no"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{kind.GVR(): "WidgetList"})
			client.PrependReactor("list", "widgets", func(clienttesting.Action) (bool, runtime.Object, error) {
				list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "WidgetList"}}
				list.SetResourceVersion("5")
				return true, list, nil
			})
			first := true
			client.PrependWatchReactor("widgets", func(clienttesting.Action) (bool, watch.Interface, error) {
				w := watch.NewFake()
				if first && tt.events != nil {
					go tt.events(w)
				}
				first = false
				return true, w, nil
			})
			f := &ObjectFollower[string]{tt.reader, client, clock.RealClock{}, func(_ Kind, o *unstructured.Unstructured) string { return o.GetName() }}
			ctx, cancel := context.WithCancel(t.Context())
			var got []string
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				f.Follow(ctx, ObjectSelection{Target: Target{Kind: kind, Namespace: "a"}, Name: tt.name}, func(c ObjectChange[string]) {
					what := string(c.Event)
					switch {
					case c.Err != nil && c.Objects != nil:
						what = "all but " + c.Err.Error() + ":"
					case c.Err != nil:
						what = c.Err.Error()
					case c.Event == "":
						what = "all"
					}
					got = append(got, strings.TrimSpace(what+" "+strings.Join(c.Objects, " ")))
				})
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
