package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// allocatedDevice makes a device on node-1, and a claim that has it for the pod.
func (s *session) allocatedDevice(t *testing.T, pod string) {
	t.Helper()
	resources, node := s.client.ResourceV1(), "node-1"
	slice := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "gpus"},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "gpu-0"}},
		},
	}
	if _, err := resources.ResourceSlices().Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request := resourcev1.DeviceRequest{Name: "gpu",
		Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.example.com"}}
	claim, err := resources.ResourceClaims("default").Create(t.Context(), &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec:       resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{request}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec, name := template(pod).Spec, "gpu"
	spec.NodeName = node
	spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &name}}
	user, err := s.client.CoreV1().Pods("default").Create(t.Context(),
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claim.Status = resourcev1.ResourceClaimStatus{
		Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
			Results: []resourcev1.DeviceRequestAllocationResult{{Request: "gpu", Driver: "gpu.example.com", Pool: node,
				Device: "gpu-0"}},
		}},
		ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod, UID: user.UID}},
	}
	if _, err := resources.ResourceClaims("default").UpdateStatus(t.Context(), claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestDeviceTaintEviction(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "device-taint-eviction-controller")
	s.node(t, "node-1")
	s.allocatedDevice(t, "web")
	driver := "gpu.example.com"
	rule := &resourcev1.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: "broken"},
		Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Driver: &driver},
			Taint:          resourcev1.DeviceTaint{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoExecute},
		},
	}
	if _, err := s.client.ResourceV1().DeviceTaintRules().Create(t.Context(), rule, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod to be deleted", s.deleted(t, "web"))
	s.expect(t, "device-taint-eviction",
		"patch devicetaintrules/status by devicetaintrules broken because ADDED DeviceTaintRule broken seen by handleRuleChange")
	for _, e := range s.requests("delete", "pods") { // because of the rule or of the claim, whichever was seen last
		if e.Controller != "device-taint-eviction" || e.Reconcile == 0 || e.Key != "pods default/web" {
			t.Errorf("the pod is deleted by reconcile %d of %q", e.Reconcile, e.Key)
		}
	}
}

func TestResourceClaimIsMadeFromItsTemplate(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "resourceclaim-controller")
	s.podWithClaim(t)
	eventually(t, "the pod to know its claim", func() bool {
		got, err := s.client.CoreV1().Pods("default").Get(t.Context(), "train", metav1.GetOptions{})
		return err == nil && len(got.Status.ResourceClaimStatuses) == 1
	})
	s.expectActivity(t, "resourceclaim", activity{
		Causes: []string{"ADDED Pod train seen by enqueuePod"},
		Writes: []string{"create resourceclaims by pods default/train", "patch pods/status by pods default/train"},
	})
}

// podWithClaim makes a pod with a claim of a template.
func (s *session) podWithClaim(t *testing.T) {
	t.Helper()
	template := &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "gpu",
				Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.example.com"}}},
		}}},
	}
	if _, err := s.client.ResourceV1().ResourceClaimTemplates("default").Create(t.Context(), template,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	name := "gpu"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "train"}, Spec: corev1.PodSpec{
		Containers:     []corev1.Container{{Name: "c", Image: "train:1"}},
		ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &name}},
	}}
	if _, err := s.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
