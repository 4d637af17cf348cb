package treestatus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// Backends are what a Service or an Ingress routes requests to: their own status does not tell whether it is there. The
// zero value is nothing.
type Backends struct {
	// Selector is that of a Service; nil if it has none, or is an ExternalName.
	Selector map[string]string
	// Services are those of an Ingress, by their names, sorted.
	Services []string
}

// backendsOf reads the backends of an object; zero for kinds that have none, while it is being deleted, and if they
// cannot be read.
func backendsOf(kind *cluster.Kind, obj *unstructured.Unstructured) Backends {
	if obj.GetDeletionTimestamp() != nil {
		return Backends{}
	}
	switch kind.GroupKind().String() {
	case "Service":
		serviceType, _, _ := unstructured.NestedString(obj.Object, "spec", "type")
		if serviceType == string(corev1.ServiceTypeExternalName) {
			return Backends{}
		}
		selector, _, _ := unstructured.NestedStringMap(obj.Object, "spec", "selector")
		return Backends{Selector: selector}
	case "Ingress.networking.k8s.io":
		var ingress networkingv1.Ingress
		if runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &ingress) != nil {
			return Backends{}
		}
		return Backends{Services: servicesOf(&ingress)}
	}
	return Backends{}
}

// IsZero reports whether there are none.
func (b Backends) IsZero() bool { return len(b.Selector)+len(b.Services) == 0 }

func servicesOf(ingress *networkingv1.Ingress) []string {
	var out []string
	add := func(b *networkingv1.IngressBackend) {
		if b != nil && b.Service != nil && !slices.Contains(out, b.Service.Name) {
			out = append(out, b.Service.Name)
		}
	}
	add(ingress.Spec.DefaultBackend)
	for _, rule := range ingress.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for i := range rule.HTTP.Paths {
			add(&rule.HTTP.Paths[i].Backend)
		}
	}
	slices.Sort(out)
	return out
}

// Routed is an object outside of a tree, for JudgeRouted.
type Routed struct {
	cluster.ObjectID
	// Facts are those by its own fields: see FactsOf.
	Facts *Facts
}

// backendKinds are those that show whether the backends of Services and Ingresses can answer.
var backendKinds = []schema.GroupKind{
	{Kind: "Pod"}, {Kind: "Service"}, {Group: discoveryv1.GroupName, Kind: "EndpointSlice"},
}

// JudgeRouted reads what shows whether the backends of objects can answer, of their namespaces or of all, and judges
// those that have any as ReadFacts does. It returns their facts and what could not be read, and reads nothing if none
// has backends. When ctx ends it returns no facts.
//
// Other than ReadFacts it needs no tree: the owners of the objects, of which there may be very many, are not read.
func JudgeRouted(
	ctx context.Context, reader *cluster.Reader, kinds *cluster.Kinds, objects []Routed, allNamespaces bool,
) (FactsByUID, []cluster.Incomplete) {
	objects = slices.DeleteFunc(slices.Clone(objects), func(o Routed) bool { return o.Facts.Backends.IsZero() })
	if len(objects) == 0 {
		return nil, nil
	}
	scope := ownertree.Scope{
		Kinds: func(kind cluster.Kind) bool { return slices.Contains(backendKinds, kind.GroupKind()) },
	}
	for _, o := range objects {
		if !allNamespaces && !slices.Contains(scope.Namespaces, o.Namespace) {
			scope.Namespaces = append(scope.Namespaces, o.Namespace)
		}
	}
	graph, err := ownertree.Collect(ctx, reader, kinds, scope)
	if err != nil {
		return nil, nil // ctx has ended
	}
	out := make(FactsByUID, len(objects))
	var nodes []*ownertree.Node
	for _, o := range objects {
		out[o.UID] = o.Facts
		n := graph.Find(*o.Kind, o.Namespace, o.Name)
		if n == nil && o.Facts.Backends.Services != nil { // Ingresses are not collected
			n = &ownertree.Node{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID}
		}
		if n != nil && n.UID == o.UID {
			nodes = append(append(nodes, n), n.Dependents...)
		}
	}
	facts, unread := ReadFacts(ctx, reader, graph, nodes, ReadOptions{
		Known: func(n *ownertree.Node) *Facts { return out[n.UID] },
	})
	for uid := range out {
		if judged := facts[uid]; judged != nil {
			out[uid] = judged
		}
	}
	for _, i := range graph.Incomplete() {
		ofBackends := slices.ContainsFunc(backendKinds, func(k schema.GroupKind) bool { return k.Group == i.Group })
		if ofBackends && i.Resource != "" {
			unread = append(unread, i)
		}
	}
	return out, unread
}

// judgeBackends returns the facts with those of Services and Ingresses replaced that have no backend that can answer:
// Services that select no pod, or none of whose endpoints is ready as far as the facts have their EndpointSlices;
// Ingresses with a Service that does not exist. It does not change f.
func (f FactsByUID) judgeBackends(g *ownertree.Graph, nodes []*ownertree.Node) FactsByUID {
	out := maps.Clone(f)
	selects, exists := g.PodSelector(), g.Exists(schema.GroupKind{Kind: "Service"})
	for _, n := range nodes {
		facts := f[n.UID]
		if facts == nil || facts.Backends.IsZero() || n.Deleting != nil ||
			facts.Status.Status != inspect.Current && facts.Status.Status != inspect.InProgress {
			continue
		}
		reason := ""
		if len(facts.Backends.Selector) > 0 {
			switch some, known := selects(n.Namespace, facts.Backends.Selector); {
			case known && !some:
				reason = "selects no pod"
			default:
				reason = f.noneReady(n)
			}
		}
		for _, name := range facts.Backends.Services {
			if there, known := exists(n.Namespace, name); known && !there && reason == "" {
				reason = "Service/" + name + " does not exist"
			}
		}
		if reason != "" {
			judged := *facts
			judged.own = facts
			judged.Status.Status, judged.Reason = inspect.Degraded, reason
			out[n.UID] = &judged
		}
	}
	return out
}

// noneReady returns a text if a Service has endpoints and none of them is ready, by the facts of its EndpointSlices;
// empty if one is, or if that is not known.
func (f FactsByUID) noneReady(service *ownertree.Node) string {
	all := 0
	for _, n := range service.Dependents {
		if n.Kind.GroupKind() != (schema.GroupKind{Group: discoveryv1.GroupName, Kind: "EndpointSlice"}) {
			continue
		}
		facts := f[n.UID]
		if facts == nil {
			return ""
		}
		ready, count, ok := strings.Cut(facts.Ready, "/")
		number, err := strconv.Atoi(count)
		if !ok || ready != "0" || err != nil {
			return ""
		}
		all += number
	}
	switch all {
	case 0:
		return ""
	case 1:
		return "its endpoint is not ready"
	}
	return fmt.Sprintf("none of its %d endpoints is ready", all)
}
