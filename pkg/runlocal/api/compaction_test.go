package api

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestContinueTokensExpire wants what a kube-apiserver answers once its etcd is compacted: 410, with a token by which the list can be
// gone on with at the current version.
func TestContinueTokensExpire(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	f := start(t, Options{Clock: clock})
	maps := f.CoreV1().ConfigMaps("default")
	create := func(name string) {
		t.Helper()
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("a")
	create("b")
	first, err := maps.List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	create("c")
	next := metav1.ListOptions{Limit: 10, Continue: first.Continue}
	if page, err := maps.List(t.Context(), next); err != nil || len(page.Items) != 1 {
		t.Fatalf("the next page, at the version of the first: %v, %v; want b alone", page, err)
	}
	var expired apierrors.APIStatus
	eventually(t, "the token expires", func(ctx context.Context) (bool, error) {
		clock.Step(compactionInterval)
		_, err := maps.List(ctx, next)
		if apierrors.IsResourceExpired(err) {
			errors.As(err, &expired)
			return true, nil
		}
		return false, err
	})
	next.Continue = expired.Status().Continue
	page, err := maps.List(t.Context(), next)
	if err != nil {
		t.Fatalf("with the token of the answer: %v", err)
	}
	var names []string
	for _, m := range page.Items {
		names = append(names, m.Name)
	}
	if len(names) != 2 || names[0] != "b" || names[1] != "c" {
		t.Errorf("the rest of the list at the current version is %v, want b and c", names)
	}
	old := metav1.ListOptions{ResourceVersion: first.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	if _, err := maps.List(t.Context(), old); !apierrors.IsResourceExpired(err) {
		t.Errorf("the list at exactly the old version: %v", err)
	}
}
