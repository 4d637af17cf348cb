package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	storagev1client "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/tools/reference"
	volumehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
)

// ensureDefaultClass creates DefaultStorageClass unless a class is the default already.
func ensureDefaultClass(ctx context.Context, classes storagev1client.StorageClassInterface) error {
	list, err := classes.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing StorageClasses: %w", err)
	}
	for i := range list.Items {
		if list.Items[i].Annotations[isDefaultClass] == "true" {
			return nil
		}
	}
	mode, policy := storagev1.VolumeBindingWaitForFirstConsumer, corev1.PersistentVolumeReclaimDelete
	_, err = classes.Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: DefaultStorageClass, Annotations: map[string]string{isDefaultClass: "true"},
		},
		Provisioner: Provisioner, VolumeBindingMode: &mode, ReclaimPolicy: &policy,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making StorageClass %q: %w", DefaultStorageClass, err)
	}
	return nil
}

// isDefaultClass mirrors IsDefaultStorageClassAnnotation of k8s.io/kubernetes/pkg/volume/util/storageclass.go. It marks
// the class of claims that name none.
const isDefaultClass = "storageclass.kubernetes.io/is-default-class"

// provisionerOf returns the name of the provisioner that the claim waits for, which the volume binder writes into an
// annotation; empty before.
func provisionerOf(claim *corev1.PersistentVolumeClaim) string {
	if name, ok := claim.Annotations[volumehelpers.AnnStorageProvisioner]; ok {
		return name
	}
	return claim.Annotations[volumehelpers.AnnBetaStorageProvisioner]
}

// provision makes the claim's volume, if the claim still waits for one and there can be one.
func (p *provisioner) provision(ctx context.Context, r engine.Request) error {
	claim, err := p.claims.PersistentVolumeClaims(r.Namespace).Get(r.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading claim %q: %w", r, err)
	case !p.isForUs(claim):
		return nil
	}
	name := volumehelpers.GetPersistentVolumeClaimClass(claim)
	class, err := p.classes.Get(name)
	if apierrors.IsNotFound(err) {
		klog.FromContext(ctx).Info("The claim's StorageClass is not there",
			"claim", klog.KObj(claim), "storageClass", name)
		return nil // onClass enqueues the claim again
	}
	if err != nil {
		return fmt.Errorf("reading StorageClass %q: %w", name, err)
	}
	node := claim.Annotations[volumehelpers.AnnSelectedNode]
	if waitsForConsumer(class) && node == "" {
		return nil // the scheduler chooses a node first, or another node
	}
	if why := unsupportedReason(claim, class); why != "" && !p.copied {
		p.recordFailure(ctx, claim, why)
		return nil
	}
	return p.makeVolume(ctx, claim, class, node)
}

// waitsForConsumer reports whether the scheduler chooses a node before the volume is made.
func waitsForConsumer(class *storagev1.StorageClass) bool {
	return class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// unsupportedReason returns why there can be no volume for the claim; "" if there can be one.
func unsupportedReason(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) string {
	switch {
	case class.Provisioner != Provisioner:
		return fmt.Sprintf("is not the provisioner of StorageClass %q", class.Name)
	case claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock:
		return "does not support block volume provisioning"
	case claim.Spec.Selector != nil:
		return "does not support claim selectors"
	case claim.Spec.DataSource != nil || claim.Spec.DataSourceRef != nil:
		return "does not support data sources"
	}
	return ""
}

// makeVolume creates the volume, already bound to the claim. If a volume of that name exists, it is the claim's: its
// name contains the claim's UID.
func (p *provisioner) makeVolume(
	ctx context.Context, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, node string,
) error {
	volume, err := volumeFor(claim, class)
	if err != nil {
		return err
	}
	if _, err := p.volumes.Get(volume.Name); err == nil {
		return nil // the volume binder will bind the claim
	}
	if volume.Spec.NodeAffinity, err = p.nodeAffinityFor(class, node); apierrors.IsNotFound(err) {
		return p.reschedule(ctx, claim, node)
	}
	if err != nil {
		return err
	}
	p.events.Event(claim, corev1.EventTypeNormal, "Provisioning",
		fmt.Sprintf("External provisioner is provisioning volume for claim %q", claimKey(claim)))
	klog.FromContext(ctx).V(2).Info("Making a volume for the claim",
		"claim", klog.KObj(claim), "volume", volume.Name, "node", node)
	_, err = p.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making volume %q: %w", volume.Name, err)
	}
	p.events.Event(claim, corev1.EventTypeNormal, "ProvisioningSucceeded",
		"Successfully provisioned volume "+volume.Name)
	return nil
}

// volumeFor returns the claim's volume, without node affinity.
func volumeFor(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) (*corev1.PersistentVolume, error) {
	ref, err := reference.GetReference(scheme.Scheme, claim)
	if err != nil {
		return nil, fmt.Errorf("referring to claim %q: %w", claimKey(claim), err)
	}
	name := "pvc-" + string(claim.UID)
	create, size := corev1.HostPathDirectoryOrCreate, claim.Spec.Resources.Requests[corev1.ResourceStorage]
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{volumehelpers.AnnDynamicallyProvisioned: Provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:               claim.Spec.AccessModes,
			Capacity:                  corev1.ResourceList{corev1.ResourceStorage: size},
			ClaimRef:                  ref,
			MountOptions:              class.MountOptions,
			StorageClassName:          class.Name,
			VolumeAttributesClassName: claim.Spec.VolumeAttributesClassName,
			VolumeMode:                claim.Spec.VolumeMode,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/kubectl-reconcile/" + name, Type: &create},
			},
		},
	}
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		volume.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	if volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
		volume.Finalizers = []string{volumehelpers.PVDeletionProtectionFinalizer}
	}
	return volume, nil
}

// nodeAffinityFor returns on which nodes the volume is: the one that was chosen for it, or those of the class's
// topologies, or all (nil). The error is the API's NotFound if the node is gone.
func (p *provisioner) nodeAffinityFor(class *storagev1.StorageClass, node string) (*corev1.VolumeNodeAffinity, error) {
	var terms []corev1.NodeSelectorTerm
	if node != "" {
		found, err := p.nodes.Get(node)
		if err != nil {
			return nil, err
		}
		host := found.Labels[corev1.LabelHostname]
		if host == "" {
			host = node
		}
		terms = []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{host}},
		}}}
	} else {
		for _, topology := range class.AllowedTopologies {
			var term corev1.NodeSelectorTerm
			for _, e := range topology.MatchLabelExpressions {
				term.MatchExpressions = append(term.MatchExpressions,
					corev1.NodeSelectorRequirement{Key: e.Key, Operator: corev1.NodeSelectorOpIn, Values: e.Values})
			}
			terms = append(terms, term)
		}
	}
	if len(terms) == 0 {
		return nil, nil
	}
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}, nil
}

// reschedule has the scheduler choose another node, by removing the one that is gone from the claim.
func (p *provisioner) reschedule(ctx context.Context, claim *corev1.PersistentVolumeClaim, node string) error {
	p.recordFailure(ctx, claim, fmt.Sprintf("finds no node %q", node))
	updated := claim.DeepCopy()
	delete(updated.Annotations, volumehelpers.AnnSelectedNode)
	if _, err := p.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, updated,
		metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("asking for another node for claim %q: %w", claimKey(claim), err)
	}
	return nil
}

// isOurs reports whether Provisioner made the volume.
func isOurs(volume *corev1.PersistentVolume) bool {
	return volume.Annotations[volumehelpers.AnnDynamicallyProvisioned] == Provisioner
}

// isReleased reports whether the volume is released and still to be deleted. Of a volume that is terminating without
// the finalizer, the storage has been deleted.
func isReleased(volume *corev1.PersistentVolume) bool {
	return volume.Status.Phase == corev1.VolumeReleased &&
		volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete &&
		(volume.DeletionTimestamp == nil || hasFinalizer(volume))
}

// hasFinalizer reports whether the volume has the finalizer that keeps it until its storage is deleted.
func hasFinalizer(volume *corev1.PersistentVolume) bool {
	return slices.Contains(volume.Finalizers, volumehelpers.PVDeletionProtectionFinalizer)
}

// needsFinalizers reports whether the finalizer must be added or removed to fit the reclaim policy, which may be
// changed.
func needsFinalizers(volume *corev1.PersistentVolume) bool {
	if volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return hasFinalizer(volume)
	}
	return !hasFinalizer(volume) && volume.DeletionTimestamp == nil && volume.Status.Phase == corev1.VolumeBound
}

// reclaim deletes a released volume, or adds or removes its finalizer.
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

// setFinalizer adds the finalizer to the volume, or removes it.
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
