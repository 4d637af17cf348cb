package controllers

import (
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestServiceCIDRIsReadyAndHeld(t *testing.T) {
	s := recordedSession(t)
	s.run(t, 0, "service-cidr-controller")
	ranges := s.client.NetworkingV1().ServiceCIDRs()
	more := &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: "more"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.200.0.0/24"}},
	}
	if _, err := ranges.Create(t.Context(), more, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The API server allocates from a range before its controller has seen it.
	eventually(t, "the range to be ready and to have its finalizer", func() bool {
		seen, err := ranges.Get(t.Context(), "more", metav1.GetOptions{})
		return err == nil && len(seen.Finalizers) > 0 &&
			meta.IsStatusConditionTrue(seen.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	})
	eventually(t, "a Service in the range", func() bool {
		_, err := s.client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec:       corev1.ServiceSpec{ClusterIP: "10.200.0.7", Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		return err == nil
	})
	if err := ranges.Delete(t.Context(), "more", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the range to be held by the Service's address", func() bool {
		held, err := ranges.Get(t.Context(), "more", metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(held.Status.Conditions, func(c metav1.Condition) bool {
			return c.Reason == networkingv1.ServiceCIDRReasonTerminating
		})
	})
	s.accountFor(t, "service-cidr", account{
		Causes: []string{"ADDED IPAddress 10.200.0.7 seen by addIPAddress", "ADDED ServiceCIDR more seen by addServiceCIDR"},
		Writes: []string{
			"patch servicecidrs by kubernetes", "patch servicecidrs by more",
			"patch servicecidrs/status by kubernetes", "patch servicecidrs/status by more",
		},
	})
}

func TestPolicyStatusWarnsOfTypes(t *testing.T) {
	s := recordedSession(t)
	s.run(t, 0, "validatingadmissionpolicy-status-controller")
	policies := s.client.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "odd"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "object.spec.replicsa > 1"}},
		},
	}
	if _, err := policies.Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a warning of a field that is not there", func() bool {
		got, err := policies.Get(t.Context(), "odd", metav1.GetOptions{})
		if err != nil || got.Status.TypeChecking == nil || len(got.Status.TypeChecking.ExpressionWarnings) == 0 {
			return false
		}
		w := got.Status.TypeChecking.ExpressionWarnings[0]
		return w.FieldRef == "spec.validations[0].expression" && strings.Contains(w.Warning, "undefined field 'replicsa'")
	})
	s.accountFor(t, "validatingadmissionpolicy-status", account{
		Causes: []string{"ADDED ValidatingAdmissionPolicy odd seen by enqueuePolicy"},
		Writes: []string{"patch validatingadmissionpolicies/status by odd"},
	})
}

func TestResourceClaimIsMadeFromItsTemplate(t *testing.T) {
	s := recordedSession(t)
	s.run(t, 0, "resourceclaim-controller")
	s.claimant(t)
	eventually(t, "the pod to know its claim", func() bool {
		got, err := s.client.CoreV1().Pods("default").Get(t.Context(), "train", metav1.GetOptions{})
		return err == nil && len(got.Status.ResourceClaimStatuses) == 1
	})
	s.accountFor(t, "resourceclaim", account{
		Causes: []string{"ADDED Pod train seen by enqueuePod"},
		Writes: []string{"create resourceclaims by pods default/train", "patch pods/status by pods default/train"},
	})
}

// claimant makes a pod with a claim of a template.
func (s *session) claimant(t *testing.T) {
	t.Helper()
	template := &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.example.com"}}},
		}}},
	}
	if _, err := s.client.ResourceV1().ResourceClaimTemplates("default").Create(t.Context(), template, metav1.CreateOptions{}); err != nil {
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
