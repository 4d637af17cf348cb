package diagnosis

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// follow has an object explained that another one has to do with, and that no reference of that names.
func (r *situationReader) follow(ctx context.Context, from, to *ownertree.Node, relation string) {
	r.relations[from] = append(r.relations[from], ownertree.Relation{From: from, To: to, Type: relation})
	if slices.Contains(r.explained, to) {
		return
	}
	r.branches = append(r.branches, r.graph.Tree([]*ownertree.Node{to}, ownertree.TreeOptions{Down: true})...)
	r.readFacts(ctx, []*ownertree.Node{to})
	r.explained = append(r.explained, to)
}

// followPods has a few pods of a namespace explained that a list holds and that are wanted.
func (r *situationReader) followPods(
	ctx context.Context, from *ownertree.Node, namespace string, o cluster.ListOptions, relation string,
	wanted func(pod untyped.Map) bool,
) {
	pods := r.kind("", "Pod")
	if pods == nil {
		return
	}
	var found []ownertree.Ref
	target := cluster.Target{Kind: *pods, Namespace: namespace}
	err := r.reader.ListObjects(ctx, target, o, func(pod *unstructured.Unstructured) error {
		if len(found) < mostAlike && wanted(pod.Object) {
			found = append(found, ownertree.Ref{Kind: *pods, Namespace: pod.GetNamespace(), Name: pod.GetName()})
		}
		return nil
	})
	if err != nil {
		r.unread = append(r.unread, target.Incomplete(err))
	}
	for _, ref := range found {
		if n, err := r.graph.Get(ctx, r.reader, ref); err == nil { // it has not gone
			r.follow(ctx, from, n, relation)
		}
	}
}

// unready has a few pods explained that a selector matches, and that are not ready.
func (r *situationReader) unready(
	ctx context.Context, from *ownertree.Node, namespace string, selector labels.Selector, relation string,
) {
	selected := cluster.ListOptions{Labels: selector.String()}
	r.followPods(ctx, from, namespace, selected, relation, func(pod untyped.Map) bool {
		phase := corev1.PodPhase(pod.Text("status", "phase"))
		return phase != corev1.PodFailed && phase != corev1.PodSucceeded &&
			!slices.ContainsFunc(pod.Maps("status", "conditions"), func(c untyped.Map) bool {
				return c.Text("type") == "Ready" && c.Text("status") == "True"
			})
	})
}

// consumers has pods explained that wait for a node, and that use the claim which is bound when they have one.
func (r *situationReader) consumers(ctx context.Context) error {
	if r.Asked.Kind.GroupKind().String() != "PersistentVolumeClaim" || r.facts.Of(r.Asked).Current() {
		return nil
	}
	pending := cluster.ListOptions{Fields: "status.phase=Pending,spec.nodeName=", Whole: true}
	r.followPods(ctx, r.Asked, r.Asked.Namespace, pending, "is used by", func(pod untyped.Map) bool {
		return slices.ContainsFunc(pod.Maps("spec", "volumes"), func(v untyped.Map) bool {
			return v.Text("persistentVolumeClaim", "claimName") == r.Asked.Name
		})
	})
	return nil
}
