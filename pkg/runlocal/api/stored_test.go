package api

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestQuantitiesKeepTheirOwner writes a quantity in a form that is not the canonical one. Who changes something else must not come
// to own it, as it does if the stored quantity is compared with the one that a client has read.
func TestQuantitiesKeepTheirOwner(t *testing.T) {
	f := start(t, Options{})
	ranges := f.CoreV1().LimitRanges("default")
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type: corev1.LimitTypePersistentVolumeClaim, Max: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1000")},
	}}}}
	if _, err := ranges.Create(t.Context(), limits, metav1.CreateOptions{FieldManager: "owner"}); err != nil {
		t.Fatal(err)
	}
	patch := []byte(`[{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}]`)
	patched, err := ranges.Patch(t.Context(), "q", types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "other"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"owner": `{"f:spec":{"f:limits":{}}}`, "other": `{"f:metadata":{"f:annotations":{".":{},"f:a":{}}}}`}
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

// TestWritesThatChangeNothing compares encodings as a kube-apiserver does. What is read back of a new claim has a phase that its
// encoding has not, so the first update is a write although it changes nothing; the second is none.
func TestWritesThatChangeNothing(t *testing.T) {
	f := start(t, Options{})
	claims := f.CoreV1().PersistentVolumeClaims("default")
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
		t.Errorf("the first update: version %s after %s, error %v; want another", first.ResourceVersion, created.ResourceVersion, err)
	}
	second, err := claims.Update(t.Context(), first, metav1.UpdateOptions{})
	if err != nil || second.ResourceVersion != first.ResourceVersion {
		t.Errorf("the second update: version %s after %s, error %v; want the same", second.ResourceVersion, first.ResourceVersion, err)
	}
}
