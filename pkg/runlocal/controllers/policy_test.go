package controllers

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestDisruptionCountsHealthyPods(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "disruption")
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
	if _, err := s.client.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), budget,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.expectActivity(t, "disruption", activity{
		Causes: []string{"ADDED PodDisruptionBudget web seen by addDB > enqueuePdb"},
		Writes: []string{"update poddisruptionbudgets/status by default/web"},
	})
	s.pod(t, "web", "10.0.0.1")
	s.expectActivity(t, "disruption", activity{
		Causes: []string{"ADDED Pod web seen by addPod > enqueuePdb", "MODIFIED Pod web seen by updatePod > enqueuePdb"},
		Writes: []string{"update poddisruptionbudgets/status by default/web"},
	})
	eventually(t, "the budget to count the pod", func() bool {
		got, err := s.client.PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), "web", metav1.GetOptions{})
		return err == nil && got.Status.CurrentHealthy == 1 && got.Status.ExpectedPods == 1
	})
}

// TestDisruptionWaitsForAnEvictedPod needs the queue of pods whose condition is stale.
func TestDisruptionWaitsForAnEvictedPod(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "disruption")
	pod := s.pod(t, "web", "10.0.0.1")
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
	})
	pod.ResourceVersion = "" // controllers may have written it since
	if _, err := s.client.CoreV1().Pods("default").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod to be enqueued for in two minutes", func() bool {
		for _, c := range s.tap.State().Controllers {
			for _, q := range c.Queues {
				for _, d := range q.Delayed {
					if c.Name == "disruption" && q.Queue == "stalePodDisruptionQueue" && d.Key == "default/web" {
						return true
					}
				}
			}
		}
		return false
	})
}

func TestPolicyStatusWarnsOfTypes(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "validatingadmissionpolicy-status-controller")
	policies := s.client.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "typo"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule: admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"},
						Resources: []string{"deployments"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "object.spec.replicsa > 1"}},
		},
	}
	if _, err := policies.Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a warning of a field that is not there", func() bool {
		got, err := policies.Get(t.Context(), "typo", metav1.GetOptions{})
		if err != nil || got.Status.TypeChecking == nil || len(got.Status.TypeChecking.ExpressionWarnings) == 0 {
			return false
		}
		w := got.Status.TypeChecking.ExpressionWarnings[0]
		return w.FieldRef == "spec.validations[0].expression" && strings.Contains(w.Warning, "undefined field 'replicsa'")
	})
	s.expectActivity(t, "validatingadmissionpolicy-status", activity{
		Causes: []string{"ADDED ValidatingAdmissionPolicy typo seen by enqueuePolicy"},
		Writes: []string{"patch validatingadmissionpolicies/status by typo"},
	})
}
