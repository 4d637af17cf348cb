package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// trim drops what is big in objects of any kind and says nothing about their state: who wrote which field, and the copy of
// the manifest that kubectl apply leaves.
func trim(obj *unstructured.Unstructured) {
	unstructured.RemoveNestedField(obj.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
}

// trimTyped is trim before an object is turned into maps, which costs in proportion to its size. Of built-in kinds it also
// drops pod templates, of pods what their containers are given, and the data of ConfigMaps and Secrets.
func trimTyped(obj runtime.Object) {
	if m, err := meta.Accessor(obj); err == nil {
		m.SetManagedFields(nil)
		delete(m.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		trimPod(&o.Spec)
	case *corev1.ReplicationController:
		o.Spec.Template = nil
	case *corev1.ConfigMap:
		o.Data, o.BinaryData = nil, nil
	case *corev1.Secret:
		o.Data = nil
	case *appsv1.Deployment:
		o.Spec.Template = corev1.PodTemplateSpec{}
	case *appsv1.ReplicaSet:
		o.Spec.Template = corev1.PodTemplateSpec{}
	case *appsv1.StatefulSet:
		o.Spec.Template = corev1.PodTemplateSpec{}
	case *appsv1.DaemonSet:
		o.Spec.Template = corev1.PodTemplateSpec{}
	case *appsv1.ControllerRevision:
		o.Data = runtime.RawExtension{}
	case *batchv1.Job:
		o.Spec.Template = corev1.PodTemplateSpec{}
	case *batchv1.CronJob:
		o.Spec.JobTemplate.Spec.Template = corev1.PodTemplateSpec{}
	}
}

// trimPod keeps of each container what tells it apart: name, image, and whether it is a sidecar.
func trimPod(spec *corev1.PodSpec) {
	spec.Volumes, spec.Affinity, spec.Tolerations, spec.TopologySpreadConstraints = nil, nil, nil, nil
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			containers[i] = corev1.Container{Name: c.Name, Image: c.Image, RestartPolicy: c.RestartPolicy}
		}
	}
	for i := range spec.EphemeralContainers {
		c := &spec.EphemeralContainers[i].EphemeralContainerCommon
		*c = corev1.EphemeralContainerCommon{Name: c.Name, Image: c.Image}
	}
}
