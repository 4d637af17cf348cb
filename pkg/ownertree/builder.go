package ownertree

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// builder makes nodes of metadata. Thousands of objects have the same namespace, labels and owners, so equal strings and
// equal sets of labels are kept once.
type builder struct {
	graph   *Graph
	nodes   []*Node
	strings map[string]string
	labels  map[string]map[string]string
	yes, no *bool
}

func (b *builder) add(kind cluster.Kind, object *metav1.PartialObjectMetadata) {
	b.nodes = append(b.nodes, b.node(b.graph.share(kind), object))
}

// node copies what it needs, so that the page that the object came in can go.
func (b *builder) node(kind *cluster.Kind, o *metav1.PartialObjectMetadata) *Node {
	n := &Node{
		Kind: kind, Namespace: b.intern(o.Namespace), Name: o.Name, UID: o.UID,
		Generation: o.Generation, Created: o.CreationTimestamp, Deleting: o.DeletionTimestamp,
		Labels: b.labelSet(o.Labels),
	}
	for _, f := range o.Finalizers {
		n.Finalizers = append(n.Finalizers, b.intern(f))
	}
	if len(o.OwnerReferences) > 0 {
		n.Owners = make([]Owner, len(o.OwnerReferences))
	}
	for i, ref := range o.OwnerReferences {
		ref.APIVersion, ref.Kind = b.intern(ref.APIVersion), b.intern(ref.Kind)
		ref.Controller, ref.BlockOwnerDeletion = b.shared(ref.Controller), b.shared(ref.BlockOwnerDeletion)
		n.Owners[i].OwnerReference = ref
	}
	return n
}

func (b *builder) intern(s string) string {
	if known, ok := b.strings[s]; ok {
		return known
	}
	if b.strings == nil {
		b.strings = map[string]string{}
	}
	b.strings[s] = s
	return s
}

// labelSet keeps equal sets once: pods of one owner mostly have the same labels.
func (b *builder) labelSet(labels map[string]string) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		key.WriteString(name + "\x00" + labels[name] + "\x00")
	}
	if known, ok := b.labels[key.String()]; ok {
		return known
	}
	if b.labels == nil {
		b.labels = map[string]map[string]string{}
	}
	b.labels[key.String()] = labels
	return labels
}

// shared returns an equal pointer that many references have.
func (b *builder) shared(flag *bool) *bool {
	if flag == nil {
		return nil
	}
	known := &b.no
	if *flag {
		known = &b.yes
	}
	if *known == nil {
		*known = flag
	}
	return *known
}

// forget drops what it knows of strings and labels when that has become much for so many objects, as it does over time.
func (b *builder) forget(objects int) {
	if limit := 2*objects + 1000; len(b.strings) > limit || len(b.labels) > limit {
		b.strings, b.labels = nil, nil
	}
}
