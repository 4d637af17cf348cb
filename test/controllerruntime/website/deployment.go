package website

import (
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// deployment is what the reconciler applies: every field in it is the reconciler's, any other client may own the
// others.
func deployment(site *Website) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"website": site.Name}
	files := corev1ac.Volume().WithName("files").
		WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(site.Spec.Content))
	server := corev1ac.Container().WithName("server").WithImage("nginx:1.29").
		WithVolumeMounts(corev1ac.VolumeMount().WithName("files").WithMountPath("/usr/share/nginx/html"))
	return appsv1ac.Deployment(site.Name, site.Namespace).
		WithLabels(labels).
		WithOwnerReferences(controllerReference(site)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(*site.Spec.Replicas).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labels).
				WithSpec(corev1ac.PodSpec().WithContainers(server).WithVolumes(files))))
}

func controllerReference(site *Website) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(GroupVersion.String()).WithKind("Website").WithName(site.Name).WithUID(site.UID).
		WithController(true).WithBlockOwnerDeletion(true)
}
