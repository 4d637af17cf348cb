package controllers

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// account is what the trace tells of a controller.
type account struct {
	// Causes are "EVENT KIND NAME seen by HANDLER" of the watch events that led to reconciles, each once, sorted. What is
	// generated of a pod's name is "*".
	Causes []string
	// Writes are "VERB RESOURCE[/SUBRESOURCE] by KEY" of writes that were granted, Events left out, each once, sorted.
	Writes []string
}

var generated = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// account reads the log. A write that belongs to no reconcile is "by nobody".
func (s *session) account(controller string) account {
	var a account
	for _, e := range s.log.list() {
		if e.Controller != controller {
			continue
		}
		switch d := e.Detail.(type) {
		case *trace.Start:
			for _, c := range d.Causes {
				if w := c.Watch; w != nil {
					a.Causes = append(a.Causes, fmt.Sprintf("%s %s %s seen by %s", w.Event, w.Kind, generated.ReplaceAllString(w.Name, "-*"), c.Handler))
				}
			}
		case *trace.Request:
			if d.IsWrite() && !d.Failed() && d.Recorded == nil {
				a.Writes = append(a.Writes, writeOf(e, d))
			}
		}
	}
	slices.Sort(a.Causes)
	slices.Sort(a.Writes)
	a.Causes, a.Writes = slices.Compact(a.Causes), slices.Compact(a.Writes)
	return a
}

func writeOf(e *trace.Event, r *trace.Request) string {
	by := e.Key
	if e.Reconcile == 0 {
		by = "nobody"
	}
	target := strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/")
	return fmt.Sprintf("%s %s by %s", r.Verb, target, by)
}

// accountFor waits until the trace tells all of want, and fails if it tells of other writes.
func (s *session) accountFor(t *testing.T, controller string, want account) {
	t.Helper()
	var got account

	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		got = s.account(controller)
		got.Causes = slices.DeleteFunc(got.Causes, func(line string) bool { return !slices.Contains(want.Causes, line) })
		return s.tap.State().Idle() && len(got.Causes) == len(want.Causes) && len(got.Writes) >= len(want.Writes), nil
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("what %s did (-want +got): %v\n%s\nall: %+v", controller, err, diff, s.account(controller))
	}
	s.retriesFollowFailures(t)
}

// retriesFollowFailures: a controller that looks at its keys again and again has a rhythm, and is not in trouble.
func (s *session) retriesFollowFailures(t *testing.T) {
	t.Helper()
	ended := map[trace.ReconcileID]trace.Outcome{}
	for _, e := range s.log.list() {
		switch d := e.Detail.(type) {
		case *trace.End:
			ended[e.Reconcile] = d.Outcome
		case *trace.Start:
			for _, c := range d.Causes {
				if c.Type == trace.CauseRetry && ended[c.Reconcile] != trace.Failed {
					t.Errorf("%s %s is retried after #%d, which ended %q", e.Controller, e.Key, c.Reconcile, ended[c.Reconcile])
				}
			}
		}
	}
}

// node makes a Node that pods may be bound to.
func (s *session) node(t *testing.T, name string) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node, err := s.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Spec.Taints = nil // that it is not ready, which admission has added
	if _, err := s.client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// pod makes a pod with the labels app=NAME; running and ready at an address, on node-1, if address is not empty.
func (s *session) pod(t *testing.T, name, address string) *corev1.Pod {
	t.Helper()
	pods := s.client.CoreV1().Pods("default")
	spec := template(name)
	if address != "" {
		spec.Spec.NodeName = "node-1"
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: spec.Labels}, Spec: spec.Spec}
	pod, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if address == "" {
		return pod
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if pod, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return pod
}
