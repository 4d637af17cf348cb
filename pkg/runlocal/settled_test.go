package runlocal

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// left counts the objects of a resource in the namespace default.
func left(t *testing.T, s *Session, group, resource string) int {
	t.Helper()
	r := schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	list, err := s.dynamic.Resource(r).Namespace("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

const orphanConfigMap = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: lost
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: never, uid: 11111111-2222-3333-4444-555555555555}]
`

// TestShortDelays: a key that comes back again and again is no work that is left, not even when it is about to: of many
// autoscalers, one always is.
func TestShortDelays(t *testing.T) {
	for _, tc := range []struct {
		delay, waited, podReadyAfter time.Duration
		want                         bool
	}{
		{15 * time.Second, 0, 0, false},
		{15 * time.Second, 14900 * time.Millisecond, 0, false},
		{settleHorizon, 0, 0, true},
		{2 * time.Second, 0, 0, false},
		{2 * time.Second, 0, time.Second, true},
	} {
		s := &Session{podReadyAfter: tc.podReadyAfter}
		since := time.Now().Add(-tc.waited)
		p := Pending{DelayedKey: tap.DelayedKey{Since: since, Due: since.Add(tc.delay)}}
		if got := s.isShort(p); got != tc.want {
			t.Errorf("short is %t after %s of %s", got, tc.waited, tc.delay)
		}
	}
}

func TestSettledWaitsForTheGarbageCollector(t *testing.T) {
	s := start(t, Options{Nodes: 1}, "deployment", "replicaset", "garbagecollector")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	settle := func() {
		t.Helper()
		if err := s.WaitSettled(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Apply(ctx, "default", manifests(t, orphanConfigMap)); err != nil {
		t.Fatal(err)
	}
	settle() // the collector has only just started
	if n := left(t, s, "", "configmaps"); n != 0 {
		t.Errorf("settled, and %d ConfigMaps of an absent owner are left", n)
	}
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground,
		metav1.DeletePropagationForeground} {
		applied, err := s.Apply(ctx, "default", manifests(t, deployment("web", 3)))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.WaitReady(ctx, applied); err != nil {
			t.Fatal(err)
		}
		deployments := s.dynamic.Resource(applied[0].Resource).Namespace("default")
		if err := deployments.Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			t.Fatal(err)
		}
		settle()
		if d, r, p := left(t, s, "apps", "deployments"), left(t, s, "apps", "replicasets"),
			left(t, s, "", "pods"); d+r+p != 0 {
			t.Errorf("%s: settled, and %d Deployments, %d ReplicaSets and %d pods are left", policy, d, r, p)
		}
	}
}

// TestPollBacksOff: checking a session with many objects must not take the time of its controllers.
func TestPollBacksOff(t *testing.T) {
	for _, tt := range []struct {
		reason      string
		took        time.Duration // of a check
		least, most int           // checks in ten seconds
	}{
		{"a check that takes no time is made often", 0, 1900, 2001},
		{"a check that takes long is made seldom", 100 * time.Millisecond, 9, 11},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			checks := 0
			err := (&Session{}).poll(ctx, func() (bool, error) {
				checks++
				<-time.After(tt.took)
				return false, nil
			})
			if !errors.Is(err, context.DeadlineExceeded) || checks < tt.least || checks > tt.most {
				t.Errorf("%s: %d checks, want %d to %d; %v", tt.reason, checks, tt.least, tt.most, err)
			}
		})
	}
}

// TestPollChecksFirst: also when there is no time left.
func TestPollChecksFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&Session{}).poll(ctx, func() (bool, error) { return true, nil }); err != nil {
		t.Error(err)
	}
}
