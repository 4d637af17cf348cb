package ownertree

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func claimReferences(c *corev1.PersistentVolumeClaim) []reference {
	var out []reference
	if c.Spec.VolumeName != "" {
		out = append(out, core("PersistentVolume", "", c.Spec.VolumeName, "bound to", "bound to"))
	}
	if name := c.Spec.StorageClassName; name != nil && *name != "" {
		out = append(out, class(storageGroup, "StorageClass", *name))
	}
	if name := c.Spec.VolumeAttributesClassName; name != nil && *name != "" {
		out = append(out, class(storageGroup, "VolumeAttributesClass", *name))
	}
	return out
}

func volumeReferences(v *corev1.PersistentVolume) []reference {
	var out []reference
	if claim := v.Spec.ClaimRef; claim != nil {
		ref := core("PersistentVolumeClaim", claim.Namespace, claim.Name, "bound to", "bound to")
		ref.backward = true
		out = append(out, ref)
	}
	if v.Spec.StorageClassName != "" {
		out = append(out, class(storageGroup, "StorageClass", v.Spec.StorageClassName))
	}
	if name := v.Spec.VolumeAttributesClassName; name != nil && *name != "" {
		out = append(out, class(storageGroup, "VolumeAttributesClass", *name))
	}
	if v.Spec.CSI != nil {
		out = append(out, driver(v.Spec.CSI.Driver, "driven by", "drives")...)
	}
	for _, s := range volumeSecrets(&v.Spec) {
		if s != nil && s.Name != "" && s.Namespace != "" {
			out = append(out, credentials(s.Namespace, s.Name))
		}
	}
	return out
}

// volumeSecrets are the Secrets that a volume's driver takes credentials from; some may be nil.
func volumeSecrets(v *corev1.PersistentVolumeSpec) []*corev1.SecretReference {
	switch {
	case v.CSI != nil:
		return []*corev1.SecretReference{
			v.CSI.ControllerPublishSecretRef, v.CSI.NodeStageSecretRef, v.CSI.NodePublishSecretRef,
			v.CSI.ControllerExpandSecretRef, v.CSI.NodeExpandSecretRef,
		}
	case v.FlexVolume != nil:
		return []*corev1.SecretReference{v.FlexVolume.SecretRef}
	case v.RBD != nil:
		return []*corev1.SecretReference{v.RBD.SecretRef}
	case v.CephFS != nil:
		return []*corev1.SecretReference{v.CephFS.SecretRef}
	case v.ISCSI != nil:
		return []*corev1.SecretReference{v.ISCSI.SecretRef}
	case v.Cinder != nil:
		return []*corev1.SecretReference{v.Cinder.SecretRef}
	case v.ScaleIO != nil:
		return []*corev1.SecretReference{v.ScaleIO.SecretRef}
	case v.StorageOS != nil && v.StorageOS.SecretRef != nil:
		return []*corev1.SecretReference{{Namespace: v.StorageOS.SecretRef.Namespace, Name: v.StorageOS.SecretRef.Name}}
	case v.AzureFile != nil && v.AzureFile.SecretNamespace != nil:
		return []*corev1.SecretReference{{Namespace: *v.AzureFile.SecretNamespace, Name: v.AzureFile.SecretName}}
	}
	return nil
}

// podVolumeSecret names the Secret of a pod's volume whose driver needs one; empty if there is none.
func podVolumeSecret(v *corev1.Volume) string {
	var ref *corev1.LocalObjectReference
	switch {
	case v.CSI != nil:
		ref = v.CSI.NodePublishSecretRef
	case v.FlexVolume != nil:
		ref = v.FlexVolume.SecretRef
	case v.RBD != nil:
		ref = v.RBD.SecretRef
	case v.CephFS != nil:
		ref = v.CephFS.SecretRef
	case v.ISCSI != nil:
		ref = v.ISCSI.SecretRef
	case v.Cinder != nil:
		ref = v.Cinder.SecretRef
	case v.ScaleIO != nil:
		ref = v.ScaleIO.SecretRef
	case v.StorageOS != nil:
		ref = v.StorageOS.SecretRef
	case v.AzureFile != nil:
		return v.AzureFile.SecretName
	}
	if ref == nil {
		return ""
	}
	return ref.Name
}

func credentials(namespace, name string) reference {
	return core("Secret", namespace, name, "has credentials in", "credentials of")
}

// driver is a reference to a CSIDriver, an object that not every driver has. Provisioners that are no CSI drivers have
// names that no object can have: kubernetes.io/no-provisioner.
func driver(name, verb, inverse string) []reference {
	if name == "" || strings.Contains(name, "/") {
		return nil
	}
	to := schema.GroupKind{Group: storageGroup, Kind: "CSIDriver"}
	return []reference{{relation: verb, inverse: inverse, to: to, name: name, optional: true}}
}

// storageClassReferences: a provisioner need not be a CSI driver. The parameters that name Secrets are those of the
// external provisioner; what is in braces is filled in for each volume.
func storageClassReferences(c *storagev1.StorageClass) []reference {
	out := driver(c.Provisioner, "provisioned by", "provisions")
	for _, use := range []string{
		"provisioner", "controller-publish", "node-stage", "node-publish", "controller-expand", "node-expand",
	} {
		prefix := "csi.storage.k8s.io/" + use + "-secret-"
		name, namespace := c.Parameters[prefix+"name"], c.Parameters[prefix+"namespace"]
		if name != "" && namespace != "" && !strings.Contains(name+namespace, "${") {
			out = append(out, credentials(namespace, name))
		}
	}
	return out
}

func attachmentReferences(a *storagev1.VolumeAttachment) []reference {
	var out []reference
	if volume := a.Spec.Source.PersistentVolumeName; volume != nil {
		ref := core("PersistentVolume", "", *volume, "attached by", "attaches")
		ref.backward = true
		out = append(out, ref)
	}
	if a.Spec.NodeName != "" {
		out = append(out, core("Node", "", a.Spec.NodeName, "attached to", "has attached"))
	}
	return append(out, driver(a.Spec.Attacher, "driven by", "drives")...)
}

func csiNodeReferences(n *storagev1.CSINode) []reference {
	var out []reference
	for i := range n.Spec.Drivers {
		out = append(out, driver(n.Spec.Drivers[i].Name, "registers", "registered by")...)
	}
	return out
}

func capacityReferences(c *storagev1.CSIStorageCapacity) []reference {
	if c.StorageClassName == "" {
		return nil
	}
	ref := class(storageGroup, "StorageClass", c.StorageClassName)
	ref.relation, ref.inverse = "capacity of", "has capacity in"
	return []reference{ref}
}
