// Package complete finds the words that a shell offers when the Tab key is pressed: kinds, names, fields and moments of
// a Source, which is a cluster (package connect) or a recording (package moment). Package cli hands them to the shell,
// in time or never.
//
// complete.go has the sources, and words.go what of them is offered.
package complete

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Source is what kinds, names and fields are completed from. What cannot be read, it does not have.
type Source interface {
	// Namespace returns the namespace that is meant without -n; empty for all.
	Namespace(context.Context) string
	// Kinds returns the kinds of which there may be objects.
	Kinds(context.Context) []cluster.Kind
	// Resolve returns the kinds that a user may mean by a word: one, or those of a category.
	Resolve(ctx context.Context, word string) []cluster.Kind
	// Names returns the names of the objects of a kind, in all namespaces if the target has none.
	Names(context.Context, cluster.Target) []string
	// Namespaces returns the names of the namespaces.
	Namespaces(context.Context) []string
	// Object returns an object; nil if there is none.
	Object(ctx context.Context, target cluster.Target, name string) *unstructured.Unstructured
}

// Recording is a Source that has a past.
type Recording interface {
	Source
	// Moments returns moments that a user may want to look at, in their order, with descriptions.
	Moments(context.Context) []string
}

// target returns a kind in a namespace, which is left out if the kind has none.
func target(kind cluster.Kind, namespace string) cluster.Target {
	if !kind.Namespaced {
		namespace = ""
	}
	return cluster.Target{Kind: kind, Namespace: namespace}
}
