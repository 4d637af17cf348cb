package playbacktest_test

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback/playbacktest"
)

var t *testing.T // that of the test

// A test reads what a cluster had when `kubectl reconcile record -o testdata/rollout.rec` ended.
func ExampleServe() {
	client, err := kubernetes.NewForConfig(playbacktest.Serve(t, "testdata/rollout.rec"))
	if err != nil {
		t.Fatal(err)
	}
	pods, err := client.CoreV1().Pods("shop").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 3 {
		t.Errorf("there are %d pods, want 3", len(pods.Items))
	}
}

// A test looks at each moment of a rollout: two replicas were ready all the time.
func ExampleStart() {
	server := playbacktest.Start(t, "testdata/rollout.rec", playback.Options{At: replay.Moment{Start: true}})
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	for !errors.Is(err, playback.ErrEnd) {
		web, getErr := client.AppsV1().Deployments("shop").Get(t.Context(), "web", metav1.GetOptions{})
		if getErr != nil {
			t.Fatal(getErr)
		}
		if ready := web.Status.ReadyReplicas; ready < 2 {
			t.Errorf("%s: %d replicas are ready", server.Status().Time, ready)
		}
		err = server.Step(t.Context(), 1)
		if err != nil && !errors.Is(err, playback.ErrEnd) {
			t.Fatal(err)
		}
	}
}
