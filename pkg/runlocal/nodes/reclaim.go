package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	volumehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
)

// isOurs reports whether we have made the volume.
func isOurs(volume *corev1.PersistentVolume) bool {
	return volume.Annotations[volumehelpers.AnnDynamicallyProvisioned] == Provisioner
}

// isReleased reports whether the volume is to be deleted with what is on it. One that is being deleted without our finalizer has been.
func isReleased(volume *corev1.PersistentVolume) bool {
	return volume.Status.Phase == corev1.VolumeReleased &&
		volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete &&
		(volume.DeletionTimestamp == nil || hasFinalizer(volume))
}

// hasFinalizer reports whether the volume has the finalizer that keeps it until what is on it is deleted.
func hasFinalizer(volume *corev1.PersistentVolume) bool {
	return slices.Contains(volume.Finalizers, volumehelpers.PVDeletionProtectionFinalizer)
}

// needsFinalizers reports whether the reclaim policy and our finalizer do not fit: the policy may be changed.
func needsFinalizers(volume *corev1.PersistentVolume) bool {
	if volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return hasFinalizer(volume)
	}
	return !hasFinalizer(volume) && volume.DeletionTimestamp == nil && volume.Status.Phase == corev1.VolumeBound
}

// reclaim deletes a volume that nobody claims any more, or mends its finalizers.
func (p *provisioner) reclaim(ctx context.Context, name string) error {
	volume, err := p.volumes.Get(name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading volume %q: %w", name, err)
	case !isOurs(volume):
		return nil
	case needsFinalizers(volume):
		return p.setFinalizer(ctx, volume, !hasFinalizer(volume))
	case !isReleased(volume):
		return nil
	}
	klog.FromContext(ctx).V(2).Info("Deleting the volume, which is released", "volume", name)
	only := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(volume.UID))}
	err = p.client.CoreV1().PersistentVolumes().Delete(ctx, name, only)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting volume %q: %w", name, err)
	}
	if !hasFinalizer(volume) {
		return nil
	}
	if err := p.setFinalizer(ctx, volume, false); !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// setFinalizer puts our finalizer on the volume, or takes it off.
func (p *provisioner) setFinalizer(ctx context.Context, volume *corev1.PersistentVolume, held bool) error {
	metadata := map[string]any{"uid": volume.UID}
	key := "finalizers"
	if !held {
		key = "$deleteFromPrimitiveList/finalizers"
	}
	metadata[key] = []string{volumehelpers.PVDeletionProtectionFinalizer}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err == nil {
		_, err = p.client.CoreV1().PersistentVolumes().Patch(
			ctx, volume.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return fmt.Errorf("changing the finalizers of volume %q: %w", volume.Name, err)
	}
	return nil
}
