package seed

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// readNeighbours reads the pods that are not copied, as far as they take room on nodes.
func (r *reading) readNeighbours(ctx context.Context) error {
	if !r.o.Neighbours || r.o.AllNamespaces {
		return nil
	}
	kind, ok := r.kind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	if !ok {
		return nil
	}
	var pods []*corev1.Pod
	err := r.o.Reader.ListPlacedPods(ctx, kind, func(pod *corev1.Pod) error {
		_, there := r.objects[key{resource: nodes, name: pod.Spec.NodeName}]
		_, copied := r.objects[key{schema.GroupResource{Resource: kind.Resource}, pod.Namespace, pod.Name}]
		if there && !copied && (r.related != nil || !r.has(pod.Namespace)) {
			pods = append(pods, pod)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		r.leaveOut(LeftOut{
			Resource: kind.Resource, Reason: ReasonNeighbours,
			Message: "those that are not copied could not be read (" + cluster.Reason(err) +
				"): nodes may have less room than the copy sees",
		})
		return nil
	}
	r.neighbours = pods
	return nil
}
