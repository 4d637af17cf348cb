package ownertree

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// list is a request for objects of a kind that refers to others.
type list struct {
	kind              *cluster.Kind
	namespace, fields string
}

func (l list) compare(other list) int {
	return cmp.Or(
		l.kind.Compare(*other.kind), cmp.Compare(l.namespace, other.namespace), cmp.Compare(l.fields, other.fields),
	)
}

// covered reports whether what the list would hold has been read.
func (s *relationSource) covered(l list) bool { return s.listed[l] || s.listed[list{kind: l.kind}] }

// userLists are the lists that hold all that may use the nodes.
func (s *relationSource) userLists(nodes []*Node) map[list]bool {
	lists := map[list]bool{}
	for userKind, r := range relating {
		kind := s.graph.listable(userKind)
		if kind == nil {
			continue
		}
		for _, n := range nodes {
			if mayUse(r, n.Kind.GroupKind()) && (!r.listedIfAsked || s.asked[n]) {
				lists[userList(kind, n)] = true
			}
		}
	}
	for _, n := range nodes {
		if !isDefinition(n) {
			s.customLists(n, lists)
		}
	}
	return lists
}

// mostCustom is how many objects of a custom kind in a namespace are read to find out what they refer to.
const mostCustom = 1000

// customLists adds the lists of custom resources that may refer to the node: of those in its namespace, and in none; if
// it is in no namespace itself and was asked for, all. Only kinds of which the graph holds objects are listed.
func (s *relationSource) customLists(n *Node, lists map[list]bool) {
	for l, count := range s.customCounts() {
		if l.namespace != n.Namespace && l.namespace != "" && (n.Namespace != "" || !s.asked[n]) {
			continue
		}
		if count > mostCustom {
			s.leaveOut(l, count)
			continue
		}
		lists[l] = true
	}
}

// leaveOut notes that so many objects are not read.
func (s *relationSource) leaveOut(l list, count int) {
	if !s.listed[l] {
		s.listed[l] = true
		message := fmt.Sprintf("%d objects, which were not read for what they refer to", count)
		s.incomplete = append(s.incomplete, tooMany(l, message))
	}
}

func tooMany(l list, message string) cluster.Incomplete {
	return cluster.Incomplete{
		Group: l.kind.Group, Version: l.kind.Version, Resource: l.kind.Resource, Namespace: l.namespace,
		Reason: cluster.ReasonTooMany, Message: message,
	}
}

// customCounts are the lists of custom resources of which the graph holds objects, and how many.
func (s *relationSource) customCounts() map[list]int {
	if s.custom == nil {
		s.custom = map[list]int{}
		kinds := map[*cluster.Kind]bool{}
		for _, n := range s.graph.nodes {
			custom, known := kinds[n.Kind]
			if !known {
				custom = isCustom(n.Kind)
				kinds[n.Kind] = custom
			}
			if custom {
				s.custom[list{kind: n.Kind, namespace: n.Namespace}]++
			}
		}
	}
	return s.custom
}

// attachedLists adds the lists that hold what names the nodes as its users.
func (s *relationSource) attachedLists(nodes []*Node, lists map[list]bool) {
	for attached, r := range relating {
		if len(r.userKinds) == 0 {
			continue
		}
		kind := s.graph.listable(attached)
		if kind == nil {
			continue
		}
		for _, n := range nodes {
			if slices.Contains(r.userKinds, n.Kind.GroupKind().String()) && (r.alwaysListed || s.asked[n]) {
				lists[userList(kind, n)] = true
			}
		}
	}
}

// listable is a kind that is served and may be listed; nil for others. What discovery could not find out is in
// Graph.Incomplete.
func (g *Graph) listable(of schema.GroupKind) *cluster.Kind {
	found, served, err := g.kinds.Lookup(of.WithVersion(""))
	if err != nil || !served || !found.Can("list") {
		return nil
	}
	return g.share(found)
}

// userList is where the users of a kind are that may use the node.
func userList(kind *cluster.Kind, n *Node) list {
	l := list{kind: kind, namespace: n.Namespace}
	switch {
	case !kind.Namespaced, n.Kind.Kind == "ServiceAccount" && kind.Group == rbacv1.GroupName:
		l.namespace = "" // a binding may name accounts of other namespaces
	case n.Kind.Kind == "Node" && kind.Kind == "Pod":
		l.fields = "spec.nodeName=" + n.Name
	}
	return l
}

// mayUse reports whether objects of a kind may refer to objects of the other.
func mayUse(user referring, used schema.GroupKind) bool {
	return slices.Contains(user.usedKinds, used.String()) ||
		slices.Contains(user.usedKinds, anyScaled) && mayScale(used)
}

// mayScale reports whether objects of a kind may have a scale: kinds of the API server are known, others may.
func mayScale(kind schema.GroupKind) bool {
	switch kind.String() {
	case "Deployment.apps", "ReplicaSet.apps", "StatefulSet.apps", "ReplicationController":
		return true
	}
	return strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
}

// request is a list to read, or if it may not be read the parts that are wanted of it.
type request struct {
	list
	parts []list
	// joined means that only the parts were asked for.
	joined bool
}

// readLists reads what was not read before. Errors are noted.
func (s *relationSource) readLists(ctx context.Context, wanted map[list]bool, used []*Node) {
	var group errgroup.Group
	group.SetLimit(maxConcurrentReads)
	for _, r := range s.requests(wanted, used) {
		s.listed[r.list] = true
		for _, part := range r.parts {
			s.listed[part] = true
		}
		group.Go(func() error {
			s.fulfil(ctx, r)
			return nil
		})
	}
	_ = group.Wait() // errors are noted
}

func (s *relationSource) fulfil(ctx context.Context, r request) {
	err := s.readList(ctx, r.list)
	if err == nil {
		return
	}
	if !r.joined || !apierrors.IsForbidden(err) {
		s.failed(r.kind, r.namespace, err)
	}
	if !apierrors.IsForbidden(err) {
		return
	}
	for _, part := range r.parts {
		if err := s.readList(ctx, part); err != nil {
			s.failed(part.kind, part.namespace, err)
		}
	}
}

// requests leaves out what was read, and what is part of another list, and joins lists of a kind. They are sorted.
func (s *relationSource) requests(wanted map[list]bool, used []*Node) []request {
	kinds := map[*cluster.Kind][]list{}
	for _, l := range sortedLists(wanted) {
		if !s.covered(l) {
			kinds[l.kind] = append(kinds[l.kind], l)
		}
	}
	var out []request
	for kind, lists := range kinds {
		all := list{kind: kind}
		switch {
		case wanted[all] && kind.Namespaced:
			out = append(out, request{list: all, parts: within(kind, lists, used)})
		case s.worthJoining(kind, lists):
			out = append(out, request{list: all, parts: lists, joined: true})
		default:
			for _, l := range lists {
				out = append(out, request{list: l})
			}
		}
	}
	slices.SortFunc(out, func(a, b request) int { return a.compare(b.list) })
	return out
}

func sortedLists(set map[list]bool) []list {
	out := slices.Collect(maps.Keys(set))
	slices.SortFunc(out, list.compare)
	return out
}

// within are the lists that stand in for that of all namespaces: of those of the nodes, and those wanted beside it.
func within(kind *cluster.Kind, lists []list, nodes []*Node) []list {
	out := map[list]bool{}
	for _, l := range lists {
		out[l] = true
	}
	for _, n := range nodes {
		out[list{kind: kind, namespace: n.Namespace}] = true
	}
	delete(out, list{kind: kind})
	return sortedLists(out)
}

// fewLists is up to how many lists of a kind are read one by one.
const fewLists = 4

// worthJoining reports whether to read all objects of a kind rather than these lists: if they are many, and the graph
// has most objects of its kind there, or they are of single nodes.
func (s *relationSource) worthJoining(kind *cluster.Kind, lists []list) bool {
	if len(lists) <= fewLists || !kind.Namespaced {
		return false
	}
	within := map[string]bool{}
	for _, l := range lists {
		within[l.namespace] = true
	}
	if within[""] {
		return true
	}
	if s.graph.scope.Nothing || s.graph.scope.Namespaces != nil {
		return false
	}
	inside, there := 0, 0
	for _, n := range s.graph.nodes {
		if n.Kind == kind {
			there++
			if within[n.Namespace] {
				inside++
			}
		}
	}
	return 2*inside >= there
}
