package api

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

// Events are one table under two groups; a copy for each would make events of one group invisible in the other.
func TestEventsOfBothGroupsAreOneTable(t *testing.T) {
	f := plain.fixture(t)
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "e",
			Namespace: f.namespace}, EventTime: metav1.NowMicro(), Type: "Normal", Reason: "r", Action: "a",
		ReportingController: "c", ReportingInstance: "i", Regarding: corev1.ObjectReference{Namespace: f.namespace},
	}
	if _, err := f.EventsV1().Events(f.namespace).Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	core, named := schema.GroupResource{Resource: "events"}, schema.GroupResource{Group: "events.k8s.io",
		Resource: "events"}
	if a, b := f.LastEvent(core), f.LastEvent(named); a == 0 || a != b {
		t.Errorf("the newest event is %d in the core group, %d in events.k8s.io", a, b)
	}
	if err := f.CoreV1().Events(f.namespace).Delete(t.Context(), "e", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.EventsV1().Events(f.namespace).Get(t.Context(), "e",
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("an event that was deleted in the other group: %v", err)
	}
}

func TestPrefixesAreTheirOwn(t *testing.T) {
	f := plain.fixture(t)
	shared := map[string][]schema.GroupResource{}
	f.backend.mu.RLock()
	defer f.backend.mu.RUnlock()
	for gr, storage := range f.backend.resources {
		shared[storage.prefix] = append(shared[storage.prefix], gr)
	}
	for prefix, resources := range shared {
		if len(resources) > 1 && prefix != "/events" {
			t.Errorf("%v share the prefix %q", resources, prefix)
		}
	}
	if len(shared) < 60 {
		t.Errorf("only %d resources have storage", len(shared))
	}
}

// TestContinueTokensExpire wants what a kube-apiserver answers once its etcd is compacted: 410, with a token by which
// the list can be gone on with at the current version.
func TestContinueTokensExpire(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	f := start(t, Options{Clock: clock})
	maps := f.CoreV1().ConfigMaps(f.namespace)
	create := func(name string) {
		t.Helper()
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{}); err != nil {
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
	old := metav1.ListOptions{ResourceVersion: first.ResourceVersion,
		ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	if _, err := maps.List(t.Context(), old); !apierrors.IsResourceExpired(err) {
		t.Errorf("the list at exactly the old version: %v", err)
	}
}

// TestQuantitiesKeepTheirOwner writes a quantity in a form that is not the canonical one. Who changes something else
// must not come to own it, as it does if the stored quantity is compared with the one that a client has read.
func TestQuantitiesKeepTheirOwner(t *testing.T) {
	f := plain.fixture(t)
	ranges := f.CoreV1().LimitRanges(f.namespace)
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "q"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypePersistentVolumeClaim, Max: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1000")},
		}}}}
	if _, err := ranges.Create(t.Context(), limits, metav1.CreateOptions{FieldManager: "owner"}); err != nil {
		t.Fatal(err)
	}
	patch := []byte(`[{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}]`)
	patched, err := ranges.Patch(t.Context(), "q", types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: "other"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"owner": `{"f:spec":{"f:limits":{}}}`,
		"other": `{"f:metadata":{"f:annotations":{".":{},"f:a":{}}}}`}
	for _, entry := range patched.ManagedFields {
		if got := entry.FieldsV1.String(); got != want[entry.Manager] {
			t.Errorf("%s owns %s, want %s", entry.Manager, got, want[entry.Manager])
		}
		delete(want, entry.Manager)
	}
	if len(want) > 0 {
		t.Errorf("these own nothing: %v", want)
	}
}

// TestWritesThatChangeNothing compares encodings as a kube-apiserver does. What is read back of a new claim has a phase
// that its encoding has not, so the first update is a write although it changes nothing; the second is none.
func TestWritesThatChangeNothing(t *testing.T) {
	f := plain.fixture(t)
	claims := f.CoreV1().PersistentVolumeClaims(f.namespace)
	created, err := claims.Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "c"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	if err != nil || created.Status.Phase != corev1.ClaimPending {
		t.Fatalf("created in phase %q, error %v", created.Status.Phase, err)
	}
	first, err := claims.Update(t.Context(), created, metav1.UpdateOptions{})
	if err != nil || first.ResourceVersion == created.ResourceVersion {
		t.Errorf("the first update: version %s after %s, error %v; want another", first.ResourceVersion,
			created.ResourceVersion, err)
	}
	second, err := claims.Update(t.Context(), first, metav1.UpdateOptions{})
	if err != nil || second.ResourceVersion != first.ResourceVersion {
		t.Errorf("the second update: version %s after %s, error %v; want the same", second.ResourceVersion,
			first.ResourceVersion, err)
	}
}
