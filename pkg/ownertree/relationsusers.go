package ownertree

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// user is an object that refers to others.
type user struct {
	kind       *cluster.Kind
	metadata   *metav1.PartialObjectMetadata
	references []reference
}

// node puts the object into the graph.
func (u user) node(g *Graph) *Node { return g.Add(*u.kind, u.metadata) }

func (u user) compare(other user) int {
	mine, others := u.metadata, other.metadata
	return cmp.Or(u.kind.Compare(*other.kind), cmp.Compare(mine.Namespace, others.Namespace), cmp.Compare(mine.Name, others.Name))
}

// users reads all objects that may use one of the nodes, sorted.
func (s *source) users(ctx context.Context, nodes []*Node) []user {
	lists := s.userLists(nodes)
	var group errgroup.Group
	group.SetLimit(gets)
	found := make([][]user, len(lists))
	for i, l := range lists {
		if known, ok := s.known[l]; ok {
			found[i] = known
			continue
		}
		group.Go(func() (err error) {
			found[i], err = s.listUsers(ctx, l)
			if err != nil && l.namespace == "" && l.kind.Namespaced && l.fields == "" {
				found[i] = s.listWithin(ctx, l, nodes)
			}
			return nil
		})
	}
	_ = group.Wait() // errors are noted
	for i, l := range lists {
		s.known[l] = found[i]
	}
	out := slices.Concat(found...)
	slices.SortFunc(out, user.compare)
	return out
}

// listWithin stands in for a list of all namespaces that the user may not read: of those of the nodes.
func (s *source) listWithin(ctx context.Context, l list, nodes []*Node) []user {
	namespaces := map[string]bool{}
	for _, n := range nodes {
		if n.Namespace != "" {
			namespaces[n.Namespace] = true
		}
	}
	var out []user
	for _, l.namespace = range slices.Sorted(maps.Keys(namespaces)) {
		users, _ := s.listUsers(ctx, l) // an error is noted
		out = append(out, users...)
	}
	return out
}

func (s *source) listUsers(ctx context.Context, l list) ([]user, error) {
	var out []user
	err := s.list(ctx, l, func(obj *unstructured.Unstructured) {
		if references := referencesOf(obj); len(references) > 0 {
			out = append(out, user{l.kind, metadataOf(obj), references})
		}
	})
	return out, err
}

// metadataOf is what a graph wants to know of an object.
func metadataOf(obj *unstructured.Unstructured) *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{}
	fields, _ := obj.Object["metadata"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &out.ObjectMeta); err != nil {
		out.ObjectMeta = metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID()}
	}
	out.ManagedFields, out.Annotations = nil, nil
	return out
}

// userLists are the lists that hold all that may use the nodes, sorted.
func (s *source) userLists(nodes []*Node) []list {
	lists := map[list]bool{}
	for userKind := range relating {
		found, served, err := s.graph.kinds.Lookup(userKind.WithVersion(""))
		if err != nil || !served || !found.Can("list") { // what discovery could not tell is in Graph.Incomplete
			continue
		}
		kind := s.graph.share(found)
		for _, n := range nodes {
			if mayUse(userKind, n.Kind.GroupKind()) {
				lists[userList(kind, n)] = true
			}
		}
	}
	out := slices.SortedFunc(maps.Keys(lists), list.compare)
	return slices.DeleteFunc(out, func(l list) bool { return l != list{kind: l.kind} && lists[list{kind: l.kind}] })
}

// userList is where the users of a kind are that may use the node.
func userList(kind *cluster.Kind, n *Node) list {
	l := list{kind: kind, namespace: n.Namespace}
	switch {
	case !kind.Namespaced, n.Kind.Kind == "ServiceAccount" && kind.Group == "rbac.authorization.k8s.io":
		l.namespace = "" // a binding may name accounts of other namespaces
	case n.Kind.Kind == "Node" && kind.Kind == "Pod":
		l.fields = "spec.nodeName=" + n.Name
	}
	return l
}

// mayUse says whether objects of one kind may refer to objects of the other.
func mayUse(user, used schema.GroupKind) bool {
	return slices.Contains(relating[user], used.String()) || slices.Contains(relating[user], anyScaled) && mayScale(used)
}

// mayScale says whether objects of a kind may have a scale: kinds of the API server are known, others may.
func mayScale(kind schema.GroupKind) bool {
	switch kind.String() {
	case "Deployment.apps", "ReplicaSet.apps", "StatefulSet.apps", "ReplicationController":
		return true
	}
	return strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
}
