package ownertree

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// sketchKinds are the kinds of sketches: A and B are in namespaces, C is not, and E is not collected.
func sketchKinds() map[string]*cluster.Kind {
	kind := func(name string, namespaced bool, verbs ...string) *cluster.Kind {
		return &cluster.Kind{
			GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: name}, Resource: strings.ToLower(name) + "s", Namespaced: namespaced, Verbs: verbs,
		}
	}
	all := []string{"get", "delete", "list", "watch"}
	return map[string]*cluster.Kind{"A": kind("A", true, all...), "B": kind("B", true, all...), "C": kind("C", false, all...), "E": kind("E", true, "get", "list")}
}

// sketch makes a graph of lines. A line is an object, its owners, and what else there is to say:
//
//	A n/web <- C/top B/other:uid deleting finalizer=f
//
// is web of kind A in namespace n. The uid of an object is its name unless :uid follows; so is an owner's. A ! after an
// owner reports that the reference blocks its deletion.
func sketch(t testing.TB, scope Scope, lines ...string) *Graph {
	t.Helper()
	g := newGraph(&cluster.Kinds{}, scope)
	kinds := sketchKinds()
	for name, kind := range kinds {
		g.share(*kind)
		kinds[name] = g.shared[kind.GroupResource()]
		g.lookup[ownerKind{"v1", name}] = kindResult{kind: kinds[name]}
	}
	g.lookup[ownerKind{"v1", "Lost"}] = kindResult{err: fmt.Errorf("discovery failed")}
	b := &builder{graph: g}
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) < 2 || kinds[words[0]] == nil {
			t.Fatalf("no sketch: %q", line)
		}
		b.add(*kinds[words[0]], sketched(words[1], words[2:]))
	}
	g.build(b.nodes)
	return g
}

func sketched(name string, words []string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		o.Namespace, name = namespace, rest
	}
	o.Name, o.UID = nameAndUID(name)
	for _, word := range words {
		finalizer, isFinalizer := strings.CutPrefix(word, "finalizer=")
		kind, owner, isOwner := strings.Cut(word, "/")
		switch {
		case word == "<-":
		case word == "deleting":
			o.DeletionTimestamp = &metav1.Time{}
		case isFinalizer:
			o.Finalizers = append(o.Finalizers, finalizer)
		case isOwner:
			owner, blocks := strings.CutSuffix(owner, "!")
			ref := metav1.OwnerReference{APIVersion: "v1", Kind: kind, BlockOwnerDeletion: &blocks}
			ref.Name, ref.UID = nameAndUID(owner)
			o.OwnerReferences = append(o.OwnerReferences, ref)
		default:
			panic("no sketch: " + word)
		}
	}
	return o
}

func nameAndUID(s string) (string, types.UID) {
	name, uid, ok := strings.Cut(s, ":")
	if !ok {
		uid = name
	}
	return name, types.UID(uid)
}

// named finds nodes by name.
func named(t testing.TB, g *Graph, names ...string) []*Node {
	t.Helper()
	var out []*Node
	for _, name := range names {
		found := false
		for _, n := range g.Nodes() {
			if n.Name == name {
				out, found = append(out, n), true
			}
		}
		if !found {
			t.Fatalf("no object %q", name)
		}
	}
	return out
}

func namesOf(nodes []*Node) string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return strings.Join(out, " ")
}

// drawn is a tree as text: one line an object, with its marks.
func drawn(branches []*Branch) string {
	var out strings.Builder
	type level struct {
		branch *Branch
		depth  int
	}
	var stack []level
	push := func(branches []*Branch, depth int) {
		for _, b := range slices.Backward(branches) {
			stack = append(stack, level{b, depth})
		}
	}
	push(branches, 0)
	for len(stack) > 0 {
		l := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		b := l.branch
		out.WriteString(strings.Repeat(" ", l.depth) + b.Node.Name)
		for _, mark := range []struct {
			text string
			is   bool
		}{{"*", b.Asked}, {" again", b.Repeated}, {" cycle", b.Cycle}, {" beside", b.Beside}, {fmt.Sprintf(" +%d", b.Truncated), b.Truncated > 0}} {
			if mark.is {
				out.WriteString(mark.text)
			}
		}
		out.WriteString("\n")
		push(b.Children, l.depth+1)
	}
	return out.String()
}
