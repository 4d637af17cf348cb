package controllers

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDaemonSetFollowsNodes adds a node when the set is there, so that both of the controller's queues work.
func TestDaemonSetFollowsNodes(t *testing.T) {
	s := recordedSession(t)
	s.run(t, 0, "daemonset")
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}, Template: template("agent"),
		},
	}
	if _, err := s.client.AppsV1().DaemonSets("default").Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.accountFor(t, "daemonset", account{
		Causes: []string{"ADDED DaemonSet agent seen by addDaemonset > enqueue"},
		Writes: []string{"create controllerrevisions by default/agent", "update daemonsets/status by default/agent"},
	})
	s.node(t, "node-1")
	s.accountFor(t, "daemonset", account{
		Causes: []string{"ADDED Node node-1 seen by addNode", "ADDED Pod agent-* seen by addPod > enqueue"},
		Writes: []string{
			"create controllerrevisions by default/agent", "create pods by default/agent", "update daemonsets/status by default/agent",
		},
	})
}
