package diff

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// pruning is --prune: what `kubectl apply --prune` would delete is deleted with the change. It mirrors pruner.pruneAll
// and pruner.prune of k8s.io/kubectl/pkg/cmd/diff/prune.go, and ParseResources and GetRESTMappings of
// k8s.io/kubectl/pkg/util/prune/prune.go.
type pruning struct {
	selector  string                    // -l; empty selects all
	allowlist []schema.GroupVersionKind // --prune-allowlist; nil is kubectl's own
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

// parseAllowlist parses the values of --prune-allowlist: group/version/kind, with core for the group without a name.
func parseAllowlist(values []string) ([]schema.GroupVersionKind, error) {
	var out []schema.GroupVersionKind
	for _, value := range values {
		parts := strings.Split(value, "/")
		if len(parts) != 3 {
			return nil, cli.WithHint(fmt.Errorf("--prune-allowlist %q is not GROUP/VERSION/KIND", value),
				"for example core/v1/ConfigMap or apps/v1/Deployment")
		}
		if parts[0] == "core" {
			parts[0] = ""
		}
		out = append(out, schema.GroupVersionKind{Group: parts[0], Version: parts[1], Kind: parts[2]})
	}
	return out, nil
}

// visitedObject is an object that was applied. The uid is empty if it is not known.
type visitedObject struct {
	resource        schema.GroupResource
	namespace, name string
	uid             types.UID
}

// prunedObject is an object that an apply with --prune would delete.
type prunedObject struct {
	Kind            cluster.Kind
	Namespace, Name string
}

// prunedLists bounds how many lists are read at a time.
const prunedLists = 8

// find returns what an apply of the visited objects would delete: objects of the allowed kinds that have the labels and
// kubectl's annotation, in the namespaces of the visited objects or in none, and that are not visited. What cannot be
// listed is left out, and named in the lines returned.
func (p *pruning) find(ctx context.Context, config *rest.Config, kinds *cluster.Kinds, visited []visitedObject) (
	out []prunedObject, notes []string, err error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making a client: %w", err)
	}
	targets, err := p.targets(kinds, visited)
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
				metav1.ListOptions{LabelSelector: p.selector})
			return nil
		})
	}
	_ = running.Wait() // the errors are in errs
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	for i, t := range targets {
		if errs[i] != nil {
			notes = append(notes, fmt.Sprintf("not pruned: %s could not be listed: %s",
				strings.TrimSuffix(t.Kind.GroupResource().String()+" of "+t.Namespace, " of "),
				cluster.Reason(errs[i])))
			continue
		}
		for j := range lists[i].Items {
			if obj := &lists[i].Items[j]; isPruned(t.Kind, obj, visited) {
				out = append(out, prunedObject{Kind: t.Kind, Namespace: obj.Namespace, Name: obj.Name})
			}
		}
	}
	return out, notes, nil
}

// targets returns what is listed, in the order of kubectl's list for each namespace, and then what is in none.
func (p *pruning) targets(kinds *cluster.Kinds, visited []visitedObject) ([]cluster.Target, error) {
	var namespaces []string
	for _, v := range visited {
		if v.namespace != "" {
			namespaces = cli.AppendUnique(namespaces, v.namespace)
		}
	}
	slices.Sort(namespaces)
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
func (p *pruning) kinds(served *cluster.Kinds) ([]cluster.Kind, error) {
	list := p.allowlist
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
		case p.allowlist != nil:
			return nil, fmt.Errorf("--prune-allowlist: no kind %q is served in version %q",
				gvk.Kind, gvk.GroupVersion())
		}
	}
	return out, nil
}

// pruneOnCluster returns what an apply would delete in the cluster; nothing without --prune.
func (o *Options) pruneOnCluster(ctx context.Context, config *rest.Config, kinds *cluster.Kinds,
	tried []*triedManifest) ([]prunedObject, []string, error) {
	if o.prune == nil {
		return nil, nil, nil
	}
	var visited []visitedObject
	for _, t := range tried {
		v := visitedObject{
			resource:  t.kind.GroupResource(),
			namespace: t.manifest.Object.GetNamespace(), name: t.manifest.Object.GetName(),
		}
		if t.after != nil {
			v.uid = t.after.GetUID()
		}
		if t.known {
			visited = append(visited, v)
		}
	}
	out, notes, err := o.prune.find(ctx, config, kinds, visited)
	return out, notes, o.explain(err)
}

// keepPruned leaves out objects that no copy has, with a line for each.
func keepPruned(copied *seed.Copy, pruned []prunedObject) (kept []prunedObject, notes []string) {
	for _, p := range pruned {
		if _, found := copied.Find(p.Kind.GroupResource(), p.Namespace, p.Name); found {
			kept = append(kept, p)
		} else {
			notes = append(notes, notCopied(p.Kind, p.Name))
		}
	}
	return kept, notes
}

// deletePruned deletes objects in a session as `kubectl apply --prune` does. What is not there is passed over.
func deletePruned(ctx context.Context, session *runlocal.Session, objects []prunedObject) error {
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
