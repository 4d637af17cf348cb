package plan

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// Pruning is what `kubectl apply --prune` deletes: what an apply has made, in the namespaces of what is applied or in
// none, and what is not among it. It mirrors pruner.pruneAll and pruner.prune of k8s.io/kubectl/pkg/cmd/diff/prune.go,
// and ParseResources and GetRESTMappings of k8s.io/kubectl/pkg/util/prune/prune.go.
type Pruning struct {
	// Selector selects by labels; empty selects all.
	Selector string
	// Kinds are those of which objects are deleted, in this order; nil is kubectl's own list.
	Kinds []schema.GroupVersionKind
}

// defaultAllowlist returns the kinds that kubectl prunes unless others are named.
func defaultAllowlist() []schema.GroupVersionKind {
	v1 := func(group string, kinds ...string) (out []schema.GroupVersionKind) {
		for _, kind := range kinds {
			out = append(out, schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})
		}
		return out
	}
	return slices.Concat(
		v1("", "ConfigMap", "Endpoints", "PersistentVolumeClaim", "Pod", "ReplicationController", "Secret", "Service"),
		v1("batch", "Job", "CronJob"),
		v1("networking.k8s.io", "Ingress"),
		v1("apps", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
		v1("", "Namespace", "PersistentVolume"),
	)
}

// visitedObject is an object that was applied. The uid is empty if it is not known.
type visitedObject struct {
	resource        schema.GroupResource
	namespace, name string
	uid             types.UID
}

// prunedLists bounds how many lists are read at a time.
const prunedLists = 8

// find returns what an apply of the visited objects would delete: objects of the allowed kinds that have the labels and
// kubectl's annotation, in the namespaces of the visited objects or in none, and that are not visited. What cannot be
// listed is left out, and returned too.
func (p *Pruning) find(ctx context.Context, c *Cluster, visited []visitedObject) (
	out []seed.Root, unlisted []cluster.Incomplete, err error) {
	client, err := metadata.NewForConfig(c.withoutWarnings())
	if err != nil {
		return nil, nil, fmt.Errorf("making a client: %w", err)
	}
	targets, err := p.targets(c.Kinds, visited)
	if err != nil {
		return nil, nil, err
	}
	lists := make([]*metav1.PartialObjectMetadataList, len(targets))
	errs := make([]error, len(targets))
	var running errgroup.Group
	running.SetLimit(prunedLists)
	for i, t := range targets {
		running.Go(func() error {
			lists[i], errs[i] = client.Resource(t.Kind.GVR()).Namespace(t.Namespace).List(ctx,
				metav1.ListOptions{LabelSelector: p.Selector})
			return nil
		})
	}
	_ = running.Wait() // the errors are in errs
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	for i, t := range targets {
		if errs[i] != nil {
			unlisted = append(unlisted, t.Incomplete(errs[i]))
			continue
		}
		for j := range lists[i].Items {
			if obj := &lists[i].Items[j]; isPruned(t.Kind, obj, visited) {
				out = append(out, seed.Root{Kind: t.Kind, Namespace: obj.Namespace, Name: obj.Name})
			}
		}
	}
	return out, unlisted, nil
}

// targets returns what is listed, in the order of kubectl's list for each namespace, and then what is in none.
func (p *Pruning) targets(kinds *cluster.Kinds, visited []visitedObject) ([]cluster.Target, error) {
	var namespaces []string
	for _, v := range visited {
		if v.namespace != "" {
			namespaces = append(namespaces, v.namespace)
		}
	}
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	allowed, err := p.kinds(kinds)
	if err != nil {
		return nil, err
	}
	var out []cluster.Target
	for _, namespace := range append(namespaces, "") {
		for _, kind := range allowed {
			if kind.Namespaced == (namespace != "") {
				out = append(out, cluster.Target{Kind: kind, Namespace: namespace})
			}
		}
	}
	return out, nil
}

// isPruned reports whether an object of an allowed kind is deleted: an apply has made it, and this one does not.
func isPruned(kind cluster.Kind, obj *metav1.PartialObjectMetadata, visited []visitedObject) bool {
	if _, applied := obj.Annotations[corev1.LastAppliedConfigAnnotation]; !applied {
		return false
	}
	return !slices.ContainsFunc(visited, func(v visitedObject) bool {
		return v.uid != "" && v.uid == obj.UID ||
			v.resource == kind.GroupResource() && v.namespace == obj.Namespace && v.name == obj.Name
	})
}

// kinds returns the kinds that are pruned. Of kubectl's own list those that are not served are left out.
func (p *Pruning) kinds(served *cluster.Kinds) ([]cluster.Kind, error) {
	list := p.Kinds
	if list == nil {
		list = defaultAllowlist()
	}
	var out []cluster.Kind
	for _, gvk := range list {
		kind, ok, err := served.Lookup(gvk)
		switch {
		case err != nil:
			return nil, err
		case ok:
			out = append(out, kind)
		case p.Kinds != nil:
			return nil, &UnservedKindError{gvk}
		}
	}
	return out, nil
}

// pruneInSession returns what an apply would delete in a session that begins with no cluster.
func (m *making) pruneInSession(ctx context.Context, session *runlocal.Session, applied []runlocal.Applied) (
	[]seed.Root, error) {
	opened, err := (&Cluster{Config: session.Config()}).open(ctx)
	if err != nil {
		return nil, err
	}
	var visited []visitedObject
	for _, a := range applied {
		visited = append(visited, visitedObject{
			resource: a.Resource.GroupResource(), namespace: a.Namespace, name: a.Name,
		})
	}
	pruned, unlisted, err := m.change.Prune.find(ctx, opened, visited)
	m.state.Unpruned = unlisted
	return pruned, err
}

// deletePruned deletes objects in a session as `kubectl apply --prune` does. What is not there is passed over.
func deletePruned(ctx context.Context, session *runlocal.Session, objects []seed.Root) error {
	client, err := metadata.NewForConfig(session.Config())
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	background := metav1.DeletePropagationBackground
	for _, p := range objects {
		err := client.Resource(p.Kind.GVR()).Namespace(p.Namespace).Delete(ctx, p.Name,
			metav1.DeleteOptions{PropagationPolicy: &background})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("pruning %s/%s: %w", p.Kind, p.Name, err)
		}
	}
	return nil
}
