package controllers

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TestNamespaceGoesWithItsContents has a clock of its own for the queue, for the controller waits five seconds.
func TestNamespaceGoesWithItsContents(t *testing.T) {
	log, ticking := &eventLog{}, clocktesting.NewFakeClock(time.Now())
	s := newSessionOf(t, tap.Options{Recorder: trace.NewRecorder(clock.RealClock{}, log), Clock: ticking}, api.Options{})
	s.log = log
	s.run(t, 0, "namespace")
	s.namespace(t, "shop")
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}
	made[*corev1.ConfigMap](t)(s.client.CoreV1().ConfigMaps("shop").Create(t.Context(), settings, metav1.CreateOptions{}))
	must(t, s.client.CoreV1().Namespaces().Delete(t.Context(), "shop", metav1.DeleteOptions{}))
	eventually(t, "the namespace to be gone", func() bool {
		ticking.Step(time.Second)
		_, err := s.client.CoreV1().Namespaces().Get(t.Context(), "shop", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	s.expect(t, "namespace",
		"deletecollection configmaps by shop because MODIFIED Namespace shop seen by enqueueNamespace",
		"update namespaces/finalize by shop because MODIFIED Namespace shop seen by enqueueNamespace")
}

// discoveryOf answers with lists, and counts.
type discoveryOf struct {
	discovery.DiscoveryInterface
	lists []*metav1.APIResourceList
	err   error
	asked int
}

func (d *discoveryOf) ServerPreferredNamespacedResources() ([]*metav1.APIResourceList, error) {
	d.asked++
	return d.lists, d.err
}

func TestNamespacedKinds(t *testing.T) {
	broken := errors.New("broken")
	some := []*metav1.APIResourceList{{GroupVersion: "v1"}}
	for _, test := range []struct {
		reason string
		from   discoveryOf
		fails  bool
	}{
		{"all kinds", discoveryOf{lists: some}, false},
		{"some kinds: upstream reports the error, and goes on", discoveryOf{lists: some, err: broken}, false},
		{"no answer would end the process", discoveryOf{err: broken}, true},
		{"so would one without kinds", discoveryOf{}, true},
	} {
		ask, err := namespacedKinds(&test.from)
		if (err != nil) != test.fails {
			t.Errorf("%s: %v", test.reason, err)
		}
		if test.fails {
			continue
		}
		for want := 1; want <= 2; want++ {
			lists, err := ask()
			if len(lists) != 1 || !errors.Is(err, test.from.err) || test.from.asked != want {
				t.Errorf("%s: %v, %v after %d requests, want %d", test.reason, lists, err, test.from.asked, want)
			}
		}
	}
}
