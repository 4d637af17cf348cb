package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReplicationControllerMakesPods(t *testing.T) {
	s := recordedSession(t)
	s.run(t, 0, "replicationcontroller")
	pods, replicas := template("web"), int32(1)
	rc := &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ReplicationControllerSpec{Replicas: &replicas, Template: &pods},
	}
	if _, err := s.client.CoreV1().ReplicationControllers("default").Create(t.Context(), rc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.accountFor(t, "replicationcontroller", account{
		Causes: []string{
			"ADDED Pod web-* seen by addPod",
			"ADDED ReplicationController web seen by OnAdd > addRS > enqueueRS",
		},
		Writes: []string{"create pods by default/web", "update replicationcontrollers/status by default/web"},
	})
}
