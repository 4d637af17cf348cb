package cluster

import (
	"google.golang.org/protobuf/encoding/protowire"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// omitted is which fields of a protobuf message to remove before it is decoded, by their numbers: nil removes the
// whole field, other values remove fields of the message in the field.
type omitted map[protowire.Number]omitted

// prune appends the message without the omitted fields to kept.
func prune(kept, message []byte, b omitted) ([]byte, error) {
	err := fields(message, func(f field) error {
		inner, known := b[f.number]
		switch {
		case !known:
			kept = append(kept, f.whole...)
		case len(inner) > 0 && f.value != nil:
			content, err := prune(nil, f.value, inner)
			if err != nil {
				return err
			}
			kept = protowire.AppendTag(kept, f.number, protowire.BytesType)
			kept = protowire.AppendBytes(kept, content)
		}
		return nil
	})
	return kept, err
}

// omittedForStatus returns most of the fields that trimTyped removes from an object of the kind: not decoding them at
// all saves most of the work. Numbers are from the generated.proto files of k8s.io/api.
func omittedForStatus(kind schema.GroupVersionKind) omitted {
	const metadata, spec = 1, 2
	whole := omitted{metadata: {fieldOfManagedFields: nil}}
	switch kind.GroupVersion().String() + " " + kind.Kind {
	case "v1 Pod":
		whole[spec] = omittedOfPodSpec()
	case "v1 ConfigMap":
		whole[2], whole[3] = nil, nil // data, binaryData
	case "v1 Secret", "apps/v1 ControllerRevision":
		whole[2] = nil // data
	case "v1 ReplicationController", "apps/v1 Deployment", "apps/v1 ReplicaSet", "apps/v1 StatefulSet":
		whole[spec] = omitted{3: nil} // template
	case "apps/v1 DaemonSet":
		whole[spec] = omitted{2: nil} // template
	case "batch/v1 Job":
		whole[spec] = omitted{6: nil} // template
	case "batch/v1 CronJob":
		whole[spec] = omitted{5: {spec: {6: nil}}} // jobTemplate.spec.template
	}
	return whole
}

// omittedOfPodSpec returns the fields to omit of a PodSpec.
func omittedOfPodSpec() omitted {
	const volumes, affinity, tolerations, spread = 1, 18, 22, 33
	const containers, initContainers, ephemeralContainers = 2, 20, 34
	container := omitted{}
	for number := protowire.Number(3); number <= 25; number++ { // all but name and image
		if number != 24 { // restartPolicy
			container[number] = nil
		}
	}
	return omitted{
		volumes: nil, affinity: nil, tolerations: nil, spread: nil,
		containers: container, initContainers: container, ephemeralContainers: {1: container},
	}
}

// omittedForReferences returns most of the fields of the kind that do not refer to other objects. What remains are
// names of other objects, and the selectors for them.
func omittedForReferences(kind schema.GroupVersionKind) omitted {
	const metadata, spec, status = 1, 2, 3
	out := omitted{metadata: {fieldOfAnnotations: nil, fieldOfManagedFields: nil}}
	switch kind.GroupVersion().String() + " " + kind.Kind {
	case "v1 Pod":
		out[spec], out[status] = omittedOfPodSpecForReferences(), nil
	case "apps/v1 StatefulSet":
		out[spec], out[status] = omitted{3: nil}, nil // template
	case "discovery.k8s.io/v1 EndpointSlice":
		out[2], out[3] = nil, nil // endpoints, ports
	case "rbac.authorization.k8s.io/v1 ClusterRole":
		out[2] = nil // rules
	case "networking.k8s.io/v1 NetworkPolicy":
		out[spec] = omitted{2: nil, 3: nil} // ingress, egress
	case "v1 Service", "v1 PersistentVolumeClaim", "v1 PersistentVolume", "networking.k8s.io/v1 Ingress",
		"policy/v1 PodDisruptionBudget",
		"autoscaling/v2 HorizontalPodAutoscaler":
		out[status] = nil
	}
	return out
}

// omittedOfPodSpecForReferences returns the fields to omit of a PodSpec: of containers, the sources of their
// environment remain.
func omittedOfPodSpecForReferences() omitted {
	const containers, initContainers, ephemeralContainers, env, envFrom = 2, 20, 34, 7, 19
	const affinity, tolerations, hostAliases, spread = 18, 22, 23, 33
	container := omitted{}
	for number := protowire.Number(1); number <= 25; number++ {
		if number != env && number != envFrom {
			container[number] = nil
		}
	}
	return omitted{
		affinity: nil, tolerations: nil, hostAliases: nil, spread: nil,
		containers: container, initContainers: container, ephemeralContainers: {1: container},
	}
}

// omittedForPlacement returns the fields of a pod that do not matter to where other pods can be placed, and to which
// addresses they get.
func omittedForPlacement() omitted {
	const metadata, spec, status = 1, 2, 3
	const volumes, containers, initContainers, ephemeralContainers = 1, 2, 20, 34
	const tolerations, hostAliases = 22, 23
	container, fieldsOfStatus := omitted{}, omitted{}
	for number := protowire.Number(2); number <= 25; number++ { // all but name, ports, resources and restartPolicy
		if number != 6 && number != 8 && number != 24 {
			container[number] = nil
		}
	}
	for number := protowire.Number(1); number <= 25; number++ {
		if number != 6 { // podIP
			fieldsOfStatus[number] = nil
		}
	}
	return omitted{
		metadata: {fieldOfAnnotations: nil, fieldOfManagedFields: nil}, status: fieldsOfStatus,
		spec: {
			volumes: nil, tolerations: nil, hostAliases: nil, ephemeralContainers: nil,
			containers: container, initContainers: container,
		},
	}
}

// trimUnstructured removes what is large in objects of any kind and does not affect their status: managedFields, and
// the copy of the manifest that kubectl apply adds.
func trimUnstructured(obj *unstructured.Unstructured) {
	unstructured.RemoveNestedField(obj.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
}

// trimTyped is trimUnstructured for an object that is to be converted to maps, which takes time in proportion to its
// size. Of built-in kinds it also removes pod templates, most fields of containers, and the data of ConfigMaps and
// Secrets.
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

// trimPod keeps of each container its name, its image, and whether it is a sidecar.
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
