package tap

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// keeping returns a Tap of controllers that have to do with some namespaces only.
func keeping(namespaces ...string) (*Tap, *eventLog) {
	sink, kept := &eventLog{}, map[string]bool{}
	for _, n := range namespaces {
		kept[n] = true
	}
	return New(Options{
		Recorder: trace.NewRecorder(clock.RealClock{}, sink), InScope: func(n string) bool { return kept[n] },
	}), sink
}

func TestKeysOfOtherNamespacesAreDropped(t *testing.T) {
	for _, test := range []struct {
		reason string
		traits ControllerTraits
		kept   []string
		key    string
		want   bool
	}{
		{"its namespace is kept", ControllerTraits{}, []string{"a"}, "a/web", true},
		{"its namespace is not", ControllerTraits{}, []string{"a"}, "b/web", false},
		{"a name that is like a namespace's is not one", ControllerTraits{}, []string{"a"}, "a", false},
		{"an object in no namespace", ControllerTraits{}, []string{""}, "node-1", true},
		{"keys are names of namespaces", ControllerTraits{Bare: Namespaces}, []string{"a"}, "a", true},
		{"keys are names of other namespaces", ControllerTraits{Bare: Namespaces}, []string{""}, "b", false},
		{"a key with a resource", ControllerTraits{}, []string{"a"}, "replicasets.apps a/web", true},
		{"a key with a resource, of another namespace", ControllerTraits{}, []string{"", "a"}, "replicasets.apps b/web",
			false},
		{"a key with a resource, in no namespace", ControllerTraits{}, []string{""}, "nodes node-1", true},
		{"a namespace is in itself", ControllerTraits{}, []string{"a"}, "namespaces a", true},
		{"another namespace is not in none", ControllerTraits{}, []string{""}, "namespaces b", false},
		{"work for all namespaces", ControllerTraits{Bare: AllNamespaces}, []string{"a"}, "node-1", true},
		{"what is done for one is its own", ControllerTraits{Bare: AllNamespaces}, []string{"a"}, "b/web", false},
		{"a resource is not for all namespaces", ControllerTraits{Bare: AllNamespaces}, []string{"a"}, "nodes node-1",
			false},
		{"the resource takes precedence over the traits", ControllerTraits{Bare: Namespaces}, []string{"a"}, "nodes a",
			false},
	} {
		for name, add := range map[string]func(testQueue){
			"Add":            func(q testQueue) { q.Add(test.key) },
			"AddAfter":       func(q testQueue) { q.AddAfter(test.key, time.Nanosecond) },
			"AddRateLimited": func(q testQueue) { q.AddRateLimited(test.key) },
		} {
			tap, sink := keeping(test.kept...)
			c := tap.Controller("x")
			c.SetTraits(test.traits)
			q := newQueue(c)
			add(q)
			if got := !tap.State().Idle() || hasDelayed(tap); got != test.want {
				t.Errorf("%s: %s leaves the key in the queue: %t, want %t", test.reason, name, got, test.want)
			}
			if got := len(details[*trace.Enqueue](sink)) == 1; got != test.want {
				t.Errorf("%s: %s is seen: %t, want %t", test.reason, name, got, test.want)
			}
			q.ShutDown()
		}
	}
}

func hasDelayed(tap *Tap) bool { return len(tap.State().Controllers[0].Queues[0].Delayed) > 0 }

func TestWatchEventsOfOtherNamespacesAreDropped(t *testing.T) {
	tap, sink := keeping("default")
	source := newSource(t)
	i := podInformer(tap, source)
	got := make(chan string, 8)
	if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { got <- "added " + metadata(obj).GetNamespace() },
		UpdateFunc: func(_, obj any) { got <- "updated " + metadata(obj).GetNamespace() },
		DeleteFunc: func(obj any) { got <- "deleted " + metadata(obj).GetNamespace() },
	}); err != nil {
		t.Fatal(err)
	}
	start(t, i)
	for _, namespace := range []string{"other", "default"} {
		pod := testPod("web", "nginx")
		pod.Namespace, pod.UID = namespace, pod.UID+"-in-"+pod.UID
		source.Add(pod)
		changed := pod.DeepCopy()
		changed.Spec.NodeName = "node-1"
		eventually(t, "the pod to be there", func() bool { return i.known(namespace) })
		source.Modify(changed)
		eventually(t, "the change to be handled", func() bool {
			return tap.State().Handled[i.gvr.GroupResource()] >= snapshot.VersionNumber(changed.ResourceVersion)
		})
		source.Delete(changed)
		eventually(t, "the pod to be gone", func() bool { return !i.known(namespace) })
	}
	var seen []string
	for range 3 {
		seen = append(seen, <-got)
	}
	if diff := cmp.Diff([]string{"added default", "updated default", "deleted default"}, seen); diff != "" {
		t.Errorf("handled (-want +got):\n%s", diff)
	}
	for _, w := range details[*trace.Watch](sink) {
		if w.Namespace != "default" {
			t.Errorf("recorded: %+v", w)
		}
	}
}

// known reports whether the informer shows the pod of the namespace to listers.
func (i *informer) known(namespace string) bool {
	_, there, _ := i.GetStore().GetByKey(namespace + "/web")
	return there
}

func TestKeptObjects(t *testing.T) {
	tap, _ := keeping("a")
	pods := podInformer(tap, newSource(t))
	ns := tap.observe(&corev1.Namespace{}, cache.NewSharedIndexInformer(newSource(t), &corev1.Namespace{}, 0,
		cache.Indexers{}), 0)
	for _, test := range []struct {
		reason string
		i      *informer
		obj    any
		want   bool
	}{
		{"a namespace is in itself", ns, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, true},
		{"another namespace", ns, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, false},
		{"what is in no namespace makes work in all", pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			true},
		{"a deletion that was missed, by the last state", pods,
			cache.DeletedFinalStateUnknown{Key: "b/web",
				Obj: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}}}, true},
		{"a deletion of which only the key is known", pods, cache.DeletedFinalStateUnknown{Key: "b/web"}, false},
		{"a deletion of which only the key is known, kept", pods, cache.DeletedFinalStateUnknown{Key: "a/web"}, true},
		{"no object: its handler shall complain", pods, "what", true},
	} {
		if got := test.i.inScope(test.obj, metadata(test.obj)); got != test.want {
			t.Errorf("%s: kept is %t", test.reason, got)
		}
	}
}

func TestDryRunMarksWrites(t *testing.T) {
	for _, test := range []struct {
		reason, method, path string
		dry, want            bool
	}{
		{"a write of a dry run", http.MethodPost, "/k8s/api/v1/namespaces/default/pods", true, true},
		{"a read of a dry run", http.MethodGet, "/k8s/api/v1/namespaces/default/pods/web", true, false},
		{"a write that requests it itself", http.MethodPost, "/k8s/api/v1/namespaces/default/pods?dryRun=All", false,
			true},
		{"a write in earnest", http.MethodPost, "/k8s/api/v1/namespaces/default/pods", false, false},
	} {
		sink := &eventLog{}
		tap := New(Options{
			Recorder: trace.NewRecorder(clock.RealClock{}, sink), DryRun: test.dry,
			Unsent: func(resp *http.Response, _ error) bool { return resp.StatusCode == http.StatusOK && test.dry },
		})
		web := testPod("web", "nginx")
		web.ResourceVersion = "7"
		do(t, tap.Controller("x"), answering(http.StatusOK, encode(t, runtime.ContentTypeJSON, web)), test.method,
			test.path, nil)
		got := details[*trace.Request](sink)
		if len(got) != 1 || got[0].DryRun != test.want || got[0].NotSent != (test.dry && test.want) {
			t.Errorf("%s: recorded as %+v", test.reason, got)
		}
		if remembered := tap.answers.get(&got[0].Object) != nil; remembered == test.want {
			t.Errorf("%s: the answer is taken for the object's state: %t", test.reason, remembered)
		}
	}
}
