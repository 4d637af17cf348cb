package ownertree

import (
	"cmp"
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// fewObjects is up to how many objects of a kind in a namespace are read one by one, rather than by a list.
const fewObjects = 4

// source reads what relations are made of, each thing once.
type source struct {
	reader     *cluster.Reader
	graph      *Graph
	mu         sync.Mutex // guards incomplete while requests are under way
	incomplete []cluster.Incomplete

	answers map[place]target                         // of objects that were looked up live
	others  map[list][]*metav1.PartialObjectMetadata // of namespaces that the graph does not cover
	known   map[list][]user
	shelves shelves // of the graph, when it had shelved objects
	shelved int
}

func newSource(reader *cluster.Reader, g *Graph) *source {
	return &source{
		reader: reader, graph: g, answers: map[place]target{}, others: map[list][]*metav1.PartialObjectMetadata{}, known: map[list][]user{},
	}
}

// list is a request for objects of a kind.
type list struct {
	kind              *cluster.Kind
	namespace, fields string
}

func (l list) compare(other list) int {
	return cmp.Or(l.kind.Compare(*other.kind), cmp.Compare(l.namespace, other.namespace), cmp.Compare(l.fields, other.fields))
}

func (s *source) failed(kind *cluster.Kind, namespace string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.incomplete = append(s.incomplete, cluster.Incomplete{
		Group: kind.Group, Version: kind.Version, Resource: kind.Resource, Namespace: namespace,
		Reason: cluster.Reason(err), Message: err.Error(),
	})
}

// objects reads the nodes in full. One that has gone, or could not be read, is left out.
func (s *source) objects(ctx context.Context, nodes []*Node) map[*Node]*unstructured.Unstructured {
	groups := map[list][]*Node{}
	for _, n := range nodes {
		key := list{kind: n.Kind, namespace: n.Namespace}
		groups[key] = append(groups[key], n)
	}
	var mu sync.Mutex
	out := map[*Node]*unstructured.Unstructured{}
	keep := func(obj *unstructured.Unstructured, kind *cluster.Kind) {
		mu.Lock()
		defer mu.Unlock()
		if n := s.graph.Find(*kind, obj.GetNamespace(), obj.GetName()); n != nil && n.UID == obj.GetUID() {
			out[n] = obj
		}
	}
	var group errgroup.Group
	group.SetLimit(gets)
	for key, nodes := range groups {
		if len(nodes) > fewObjects {
			group.Go(func() error {
				return s.list(ctx, key, func(obj *unstructured.Unstructured) { keep(obj, key.kind) })
			})
			continue
		}
		for _, n := range nodes {
			group.Go(func() error {
				obj, err := s.reader.Object(ctx, *n.Kind, n.Namespace, n.Name)
				switch {
				case err == nil:
					keep(obj, n.Kind)
				case !apierrors.IsNotFound(err):
					s.failed(n.Kind, n.Namespace, err)
				}
				return nil
			})
		}
	}
	_ = group.Wait() // errors are noted
	return out
}

// list reads objects in full, references and all. What could not be read is noted.
func (s *source) list(ctx context.Context, l list, each func(*unstructured.Unstructured)) error {
	options := cluster.ListOptions{Fields: l.fields, Whole: true}
	err := s.reader.ListObjects(ctx, cluster.Target{Kind: *l.kind, Namespace: l.namespace}, options, func(obj *unstructured.Unstructured) error {
		each(obj)
		return nil
	})
	if err != nil {
		s.failed(l.kind, l.namespace, err)
	}
	return err
}
