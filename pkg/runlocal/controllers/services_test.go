package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
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

// TestServicesFollowPods has a pod become ready: what the queue of pods hands on is the cause.
func TestServicesFollowPods(t *testing.T) {
	for _, test := range []struct {
		controller, resource string
	}{
		{"endpoint", "endpoints"},
		{"endpointslice", "endpointslices"},
	} {
		t.Run(test.controller, func(t *testing.T) {
			s := recordedSession(t)
			s.run(t, 0, test.controller)
			s.service(t, "web", true)
			s.accountFor(t, test.controller, account{
				Causes: []string{"ADDED Service web seen by onServiceUpdate"},
				Writes: []string{"create " + test.resource + " by default/web"},
			})
			s.node(t, "node-1")
			s.pod(t, "web", "10.0.0.1")
			s.accountFor(t, test.controller, account{
				Causes: []string{"MODIFIED Pod web seen by syncPod"},
				Writes: []string{"create " + test.resource + " by default/web", "update " + test.resource + " by default/web"},
			})
		})
	}
}

func TestEndpointSliceMirroringFollowsEndpoints(t *testing.T) {
	s := recordedSession(t)
	s.run(t, 0, "endpointslicemirroring")
	s.service(t, "outside", false)
	endpoints := &corev1.Endpoints{ //nolint:staticcheck // it is what the controller mirrors
		ObjectMeta: metav1.ObjectMeta{Name: "outside"},
		Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // as above
			Addresses: []corev1.EndpointAddress{{IP: "192.0.2.7"}}, Ports: []corev1.EndpointPort{{Port: 80}},
		}},
	}
	if _, err := s.client.CoreV1().Endpoints("default").Create(t.Context(), endpoints, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.accountFor(t, "endpointslicemirroring", account{
		Causes: []string{"ADDED Endpoints outside seen by onEndpointsAdd > queueEndpoints"},
		Writes: []string{"create endpointslices by default/outside"},
	})
}
