package controllers

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// service makes a Service, of the pods with the label app=NAME if selecting.
func (s *session) service(t *testing.T, name string, selecting bool) {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if selecting {
		service.Spec.Selector = map[string]string{"app": name}
	}
	if _, err := s.client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestServicesFollowPods has a pod become ready: what passes through the queue of pods is the cause.
func TestServicesFollowPods(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		controller, resource string
	}{
		{"endpoint", "endpoints"},
		{"endpointslice", "endpointslices"},
	} {
		t.Run(test.controller, func(t *testing.T) {
			t.Parallel()
			s := recordedSession(t)
			s.run(t, 0, test.controller)
			s.service(t, "web", true)
			s.expectActivity(t, test.controller, activity{
				Causes: []string{"ADDED Service web seen by onServiceUpdate"},
				Writes: []string{"create " + test.resource + " by default/web"},
			})
			s.node(t, "node-1")
			s.pod(t, "web", "10.0.0.1")
			s.expectActivity(t, test.controller, activity{
				Causes: []string{"MODIFIED Pod web seen by syncPod"},
				Writes: []string{"create " + test.resource + " by default/web", "update " + test.resource + " by default/web"},
			})
		})
	}
}

func TestEndpointSliceMirroringFollowsEndpoints(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "endpointslicemirroring")
	s.service(t, "outside", false)
	endpoints := &corev1.Endpoints{ //nolint:staticcheck // it is what the controller mirrors
		ObjectMeta: metav1.ObjectMeta{Name: "outside"},
		Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // as above
			Addresses: []corev1.EndpointAddress{{IP: "192.0.2.7"}}, Ports: []corev1.EndpointPort{{Port: 80}},
		}},
	}
	if _, err := s.client.CoreV1().Endpoints("default").Create(t.Context(), endpoints,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.expectActivity(t, "endpointslicemirroring", activity{
		Causes: []string{"ADDED Endpoints outside seen by onEndpointsAdd > queueEndpoints"},
		Writes: []string{"create endpointslices by default/outside"},
	})
}

func TestServiceCIDRIsReadyAndHeld(t *testing.T) {
	t.Parallel()
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
	s.expectActivity(t, "service-cidr", activity{
		Causes: []string{"ADDED IPAddress 10.200.0.7 seen by addIPAddress", "ADDED ServiceCIDR more seen by addServiceCIDR"},
		Writes: []string{
			"patch servicecidrs by kubernetes", "patch servicecidrs by more",
			"patch servicecidrs/status by kubernetes", "patch servicecidrs/status by more",
		},
	})
}
