package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/google/go-cmp/cmp"
)

func service(name, address string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: address, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

// TestServiceAddresses follows an address through its IPAddress object: given out, refused to another, given back.
func TestServiceAddresses(t *testing.T) {
	f := plain.fixture(t)
	services, addresses := f.CoreV1().Services(f.namespace), f.NetworkingV1().IPAddresses()
	created, err := services.Create(t.Context(), service("a", ""), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	address, err := addresses.Get(t.Context(), created.Spec.ClusterIP, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("the address of the service is no object: %v", err)
	}
	want := &networkingv1.ParentReference{Resource: "services", Namespace: f.namespace, Name: "a"}
	if diff := cmp.Diff(want, address.Spec.ParentRef); diff != "" {
		t.Errorf("whose address it is (-want +got):\n%s", diff)
	}
	_, err = services.Create(t.Context(), service("b", created.Spec.ClusterIP), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "provided IP is already allocated") {
		t.Errorf("a second service with the same address: %v", err)
	}
	if err := services.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := addresses.Get(t.Context(), created.Spec.ClusterIP, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the address object after the service: %v, want not found", err)
	}
	if _, err := services.Create(t.Context(), service("b", created.Spec.ClusterIP),
		metav1.CreateOptions{}); err != nil {
		t.Errorf("the address after it was given back: %v", err)
	}
}

// TestServiceAddressesAreRepaired deletes the object of an address by hand: it is made again when the Service changes,
// as on a cluster, or after minutes.
func TestServiceAddressesAreRepaired(t *testing.T) {
	f := plain.fixture(t)
	services, addresses := f.CoreV1().Services(f.namespace), f.NetworkingV1().IPAddresses()
	created, err := services.Create(t.Context(), service("a", ""), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := addresses.Get(t.Context(), created.Spec.ClusterIP, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := addresses.Delete(t.Context(), first.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the object of the address is made again", func(ctx context.Context) (bool, error) {
		again, err := addresses.Get(ctx, first.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			touch := fmt.Appendf(nil, `{"metadata":{"annotations":{"touched":%q}}}`, time.Now())
			_, err := services.Patch(ctx, created.Name, types.MergePatchType, touch, metav1.PatchOptions{})
			return false, err
		}
		return err == nil && again.UID != first.UID && cmp.Diff(first.Spec, again.Spec) == "", err
	})
}

// TestServiceRanges wants addresses of a range that was added and declared ready.
func TestServiceRanges(t *testing.T) {
	f := start(t, Options{})
	ranges := f.NetworkingV1().ServiceCIDRs()
	first, err := ranges.Get(t.Context(), defaultServiceCIDR, metav1.GetOptions{})
	if err != nil || first.Spec.CIDRs[0] != serviceRange || first.Status.Conditions[0].Status != metav1.ConditionTrue {
		t.Fatalf("the default range is %+v, error %v", first, err)
	}
	more, err := ranges.Create(t.Context(), &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: "more"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.200.0.0/24"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	more.Status.Conditions = []metav1.Condition{{
		Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue, Reason: "Tested", LastTransitionTime: metav1.Now(),
	}}
	if _, err := ranges.UpdateStatus(t.Context(), more, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a service may have an address of the new range", func(ctx context.Context) (bool, error) {
		_, err := f.CoreV1().Services(f.namespace).Create(ctx, service("in-more", "10.200.0.7"), metav1.CreateOptions{})
		if apierrors.IsInvalid(err) {
			return false, nil
		}
		return true, err
	})
}

// TestFlowSchemaStatus wants the status that kube-apiserver itself writes: whether a schema's priority level exists.
func TestFlowSchemaStatus(t *testing.T) {
	f := plain.fixture(t)
	eventually(t, "the status of the schema catch-all says that its priority level exists",
		func(ctx context.Context) (bool, error) {
			schema, err := f.FlowcontrolV1().FlowSchemas().Get(ctx, "catch-all", metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil && len(schema.Status.Conditions) == 1 && schema.Status.Conditions[0].Reason == "Found", err
		})
}
