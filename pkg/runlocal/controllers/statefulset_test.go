package controllers

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStatefulSetMakesItsFirstPodAndClaim(t *testing.T) {
	s := recordedSession(t)
	s.run(t, 0, "statefulset")
	claim := corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	replicas := int32(2)
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: template("web"),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim},
		},
	}
	if _, err := s.client.AppsV1().StatefulSets("default").Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.accountFor(t, "statefulset", account{
		Causes: []string{"ADDED Pod web-0 seen by addPod > enqueueStatefulSet", "ADDED StatefulSet web seen by enqueueStatefulSet"},
		Writes: []string{
			"create controllerrevisions by default/web", "create persistentvolumeclaims by default/web",
			"create pods by default/web", "update statefulsets/status by default/web",
		},
	})
}
