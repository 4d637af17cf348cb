package ownertree

import (
	corev1 "k8s.io/api/core/v1"
)

// rootCA is a ConfigMap that every pod mounts, and that is of no interest.
const rootCA = "kube-root-ca.crt"

// podReader collects the references of one pod.
type podReader struct {
	pod *corev1.Pod
	out []reference
}

func podReferences(pod *corev1.Pod) []reference {
	r := &podReader{pod: pod}
	for i := range pod.Spec.Volumes {
		r.volume(&pod.Spec.Volumes[i])
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			r.environment(containers[i].Env, containers[i].EnvFrom)
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		c := &pod.Spec.EphemeralContainers[i]
		r.environment(c.Env, c.EnvFrom)
	}
	for _, s := range pod.Spec.ImagePullSecrets {
		r.add("Secret", s.Name, "pulls images with", "pulls images for", nil)
	}
	r.add("ServiceAccount", pod.Spec.ServiceAccountName, "runs as", "identity of", nil)
	if pod.Spec.NodeName != "" {
		r.out = append(r.out, core("Node", "", pod.Spec.NodeName, "runs on", "runs"))
	}
	if pod.Spec.PriorityClassName != "" {
		r.out = append(r.out, class("scheduling.k8s.io", "PriorityClass", pod.Spec.PriorityClassName))
	}
	if name := pod.Spec.RuntimeClassName; name != nil {
		r.out = append(r.out, class("node.k8s.io", "RuntimeClass", *name))
	}
	return r.out
}

// add notes a reference to an object in the pod's namespace, once, unless the name is empty. Nil is not optional; what
// is needed of one use is not optional for another.
func (r *podReader) add(kind, name, verb, inverse string, optional *bool) {
	if name == "" || name == rootCA {
		return
	}
	ref := core(kind, r.pod.Namespace, name, verb, inverse)
	for i := range r.out {
		known := &r.out[i]
		if known.name == name && known.relation == verb && known.to == ref.to {
			known.optional = known.optional && optional != nil && *optional
			return
		}
	}
	ref.optional = optional != nil && *optional
	r.out = append(r.out, ref)
}

func (r *podReader) mounts(kind, name string, optional *bool) {
	r.add(kind, name, "mounts", "mounted by", optional)
}

// volume reads one volume.
func (r *podReader) volume(v *corev1.Volume) {
	r.add("Secret", podVolumeSecret(v), "has credentials in", "credentials of", nil)
	switch {
	case v.ConfigMap != nil:
		r.mounts("ConfigMap", v.ConfigMap.Name, v.ConfigMap.Optional)
	case v.Secret != nil:
		r.mounts("Secret", v.Secret.SecretName, v.Secret.Optional)
	case v.PersistentVolumeClaim != nil:
		r.mounts("PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName, nil)
	case v.Ephemeral != nil: // named by VolumeClaimName of k8s.io/component-helpers/storage/ephemeral
		r.mounts("PersistentVolumeClaim", r.pod.Name+"-"+v.Name, nil)
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			if s.ConfigMap != nil {
				r.mounts("ConfigMap", s.ConfigMap.Name, s.ConfigMap.Optional)
			}
			if s.Secret != nil {
				r.mounts("Secret", s.Secret.Name, s.Secret.Optional)
			}
		}
	}
}

// environment reads what a container takes variables from.
func (r *podReader) environment(env []corev1.EnvVar, from []corev1.EnvFromSource) {
	for i := range env {
		source := env[i].ValueFrom
		switch {
		case source == nil:
		case source.ConfigMapKeyRef != nil:
			r.add("ConfigMap", source.ConfigMapKeyRef.Name, "reads", "read by", source.ConfigMapKeyRef.Optional)
		case source.SecretKeyRef != nil:
			r.add("Secret", source.SecretKeyRef.Name, "reads", "read by", source.SecretKeyRef.Optional)
		}
	}
	for i := range from {
		if c := from[i].ConfigMapRef; c != nil {
			r.add("ConfigMap", c.Name, "reads", "read by", c.Optional)
		}
		if s := from[i].SecretRef; s != nil {
			r.add("Secret", s.Name, "reads", "read by", s.Optional)
		}
	}
}
