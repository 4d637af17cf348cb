package treestatus

import (
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

// BackendsOf reads the backends of an object; zero for kinds that have none, and if they cannot be read.
func BackendsOf(kind *cluster.Kind, obj *unstructured.Unstructured) Backends {
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

// JudgeBackends returns the facts with those of Services and Ingresses replaced that have no backend that can answer:
// Services that select no pod, or none of whose endpoints is ready as far as the facts have their EndpointSlices;
// Ingresses with a Service that does not exist. It does not change f.
func (f FactsByUID) JudgeBackends(g *ownertree.Graph, nodes []*ownertree.Node) FactsByUID {
	out := maps.Clone(f)
	selects, exists := g.PodSelector(), g.Exists(schema.GroupKind{Kind: "Service"})
	for _, n := range nodes {
		facts := f[n.UID]
		if facts == nil || len(facts.Selector)+len(facts.Services) == 0 || n.Deleting != nil ||
			facts.Status.Status != inspect.Current && facts.Status.Status != inspect.InProgress {
			continue
		}
		reason := ""
		if len(facts.Selector) > 0 {
			switch some, known := selects(n.Namespace, facts.Selector); {
			case known && !some:
				reason = "selects no pod"
			default:
				reason = f.noneReady(n)
			}
		}
		for _, name := range facts.Services {
			if there, known := exists(n.Namespace, name); known && !there && reason == "" {
				reason = "Service/" + name + " does not exist"
			}
		}
		if reason != "" {
			judged := *facts
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
