package cluster

import (
	"encoding/binary"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// bulk says which fields of a message to leave out before it is decoded, by their numbers: with nil all of the field, else what
// the bulk says of the message that it holds.
type bulk map[uint64]bulk

// prune appends to kept what bulk leaves of the message.
func prune(kept, message []byte, b bulk) ([]byte, error) {
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
			kept = binary.AppendUvarint(kept, f.number<<wireBits|wireLength)
			kept = binary.AppendUvarint(kept, uint64(len(content)))
			kept = append(kept, content...)
		}
		return nil
	})
	return kept, err
}

// bulkOf is what trimTyped would drop of an object of the kind once it is decoded, or most of it: decoding it is most of the
// work. Numbers are from the generated.proto files of k8s.io/api.
func bulkOf(kind schema.GroupVersionKind) bulk {
	const metadata, spec = 1, 2
	whole := bulk{metadata: {fieldOfManagedFields: nil}}
	switch kind.GroupVersion().String() + " " + kind.Kind {
	case "v1 Pod":
		whole[spec] = podBulk()
	case "v1 ConfigMap":
		whole[2], whole[3] = nil, nil // data, binaryData
	case "v1 Secret", "apps/v1 ControllerRevision":
		whole[2] = nil // data
	case "v1 ReplicationController", "apps/v1 Deployment", "apps/v1 ReplicaSet", "apps/v1 StatefulSet":
		whole[spec] = bulk{3: nil} // template
	case "apps/v1 DaemonSet":
		whole[spec] = bulk{2: nil} // template
	case "batch/v1 Job":
		whole[spec] = bulk{6: nil} // template
	case "batch/v1 CronJob":
		whole[spec] = bulk{5: {spec: {6: nil}}} // jobTemplate.spec.template
	}
	return whole
}

// podBulk is of a PodSpec.
func podBulk() bulk {
	const volumes, containers, initContainers, affinity, tolerations, spread, ephemeralContainers = 1, 2, 20, 18, 22, 33, 34
	container := bulk{}
	for number := uint64(3); number <= 25; number++ { // all but name and image
		if number != 24 { // restartPolicy
			container[number] = nil
		}
	}
	return bulk{
		volumes: nil, affinity: nil, tolerations: nil, spread: nil,
		containers: container, initContainers: container, ephemeralContainers: {1: container},
	}
}

// bulkBesideNames is what objects of the kind say about nothing but themselves, or most of it: what is left tells the names of
// others, and the labels by which they are selected.
func bulkBesideNames(kind schema.GroupVersionKind) bulk {
	const metadata, spec, status = 1, 2, 3
	out := bulk{metadata: {fieldOfAnnotations: nil, fieldOfManagedFields: nil}}
	switch kind.GroupVersion().String() + " " + kind.Kind {
	case "v1 Pod":
		out[spec], out[status] = podBulkBesideNames(), nil
	case "apps/v1 StatefulSet":
		out[spec], out[status] = bulk{3: nil}, nil // template
	case "discovery.k8s.io/v1 EndpointSlice":
		out[2], out[3] = nil, nil // endpoints, ports
	case "rbac.authorization.k8s.io/v1 ClusterRole":
		out[2] = nil // rules
	case "networking.k8s.io/v1 NetworkPolicy":
		out[spec] = bulk{2: nil, 3: nil} // ingress, egress
	case "v1 Service", "v1 PersistentVolumeClaim", "v1 PersistentVolume", "networking.k8s.io/v1 Ingress", "policy/v1 PodDisruptionBudget",
		"autoscaling/v2 HorizontalPodAutoscaler":
		out[status] = nil
	}
	return out
}

// podBulkBesideNames is of a PodSpec: of containers, what they take variables from is left.
func podBulkBesideNames() bulk {
	const containers, initContainers, ephemeralContainers, env, envFrom = 2, 20, 34, 7, 19
	const affinity, tolerations, hostAliases, spread = 18, 22, 23, 33
	container := bulk{}
	for number := uint64(1); number <= 25; number++ {
		if number != env && number != envFrom {
			container[number] = nil
		}
	}
	return bulk{
		affinity: nil, tolerations: nil, hostAliases: nil, spread: nil,
		containers: container, initContainers: container, ephemeralContainers: {1: container},
	}
}
