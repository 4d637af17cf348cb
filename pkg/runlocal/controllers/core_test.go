package controllers

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

func TestReplicationControllerMakesPods(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "replicationcontroller")
	pods, replicas := template("web"), int32(1)
	rc := &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ReplicationControllerSpec{Replicas: &replicas, Template: &pods},
	}
	if _, err := s.client.CoreV1().ReplicationControllers("default").Create(t.Context(), rc,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.expectActivity(t, "replicationcontroller", activity{
		Causes: []string{
			"ADDED Pod web-* seen by addPod",
			"ADDED ReplicationController web seen by OnAdd > addRS > enqueueRS",
		},
		Writes: []string{"create pods by default/web", "update replicationcontrollers/status by default/web"},
	})
}

// TestNamespaceGoesWithItsContents has a fake clock for the queue, because the controller waits five seconds.
func TestNamespaceGoesWithItsContents(t *testing.T) {
	t.Parallel()
	ticking := clocktesting.NewFakeClock(time.Now())
	s := recordedSessionOn(t, tap.Options{Clock: ticking}, bareServers.Server)
	s.run(t, 0, "namespace")
	s.namespace(t, "shop")
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}
	mustValue[*corev1.ConfigMap](t)(s.client.CoreV1().ConfigMaps("shop").Create(t.Context(), settings,
		metav1.CreateOptions{}))
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
	lists    []*metav1.APIResourceList
	err      error
	requests int
}

func (d *discoveryOf) ServerPreferredNamespacedResources() ([]*metav1.APIResourceList, error) {
	d.requests++
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
		{"some kinds: upstream reports the error, and continues", discoveryOf{lists: some, err: broken}, false},
		{"no answer would end the process", discoveryOf{err: broken}, true},
		{"so would one without kinds", discoveryOf{}, true},
	} {
		discover, err := namespacedKinds(&test.from)
		if (err != nil) != test.fails {
			t.Errorf("%s: %v", test.reason, err)
		}
		if test.fails {
			continue
		}
		for want := 1; want <= 2; want++ {
			lists, err := discover()
			if len(lists) != 1 || !errors.Is(err, test.from.err) || test.from.requests != want {
				t.Errorf("%s: %v, %v after %d requests, want %d", test.reason, lists, err, test.from.requests, want)
			}
		}
	}
}

func TestTTLAnnotatesNodes(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "ttl")
	if _, err := s.client.CoreV1().Nodes().Create(t.Context(),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.expect(t, "ttl", "patch nodes by node-1 because ADDED Node node-1 seen by addNode > enqueueNode")
	n, err := s.client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil || n.Annotations[corev1.ObjectTTLAnnotationKey] != "0" {
		t.Errorf("%v, annotations %v", err, n.Annotations)
	}
}

func TestPodGCDeletesPodsOfNodesThatAreGone(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.node(t, "node-1")
	s.pod(t, "web", "10.0.0.1")
	s.runWith(t, NodeControllerOptions{podGCPeriod: 20 * time.Millisecond, podGCQuarantine: 10 * time.Millisecond},
		podGarbageCollector())
	if err := s.client.CoreV1().Nodes().Delete(t.Context(), "node-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod to be gone", s.deleted(t, "web"))
	s.expectCauses(t, "podgc", "patch", "pods", timerLoopCause)
	s.expectCauses(t, "podgc", "delete", "pods", timerLoopCause)
	s.expectCauses(t, "podgc", "get", "nodes", `timer of "node-1": gc > gcOrphaned 10ms`)
}

func TestPodGCLeavesSomePodsThatHaveEnded(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.runWith(t, NodeControllerOptions{podGCPeriod: 20 * time.Millisecond, TerminatedPods: 1}, podGarbageCollector())
	for _, name := range []string{"one", "two", "three"} {
		pod := s.pod(t, name, "")
		pod.Status.Phase = corev1.PodSucceeded
		pod.ResourceVersion = "" // controllers may have written it since
		if _, err := s.client.CoreV1().Pods("default").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "one pod to be left", func() bool {
		pods, err := s.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		return err == nil && len(pods.Items) == 1
	})
	for _, e := range s.requests("delete", "pods") {
		if e.Reconcile == 0 || e.Key != "" {
			t.Errorf("deleted by reconcile %d of %q", e.Reconcile, e.Key)
		}
	}
}
