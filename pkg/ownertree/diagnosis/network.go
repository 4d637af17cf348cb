package diagnosis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// typed reads an object into the Go type of its kind; false if it was not read, or is not as its kind promises.
func (s *Situation) typed(n *ownertree.Node, into any) bool {
	obj := s.objects[n.UID]
	return obj != nil && runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, into) == nil
}

// service returns why a Service has no endpoints.
func (d *diagnoser) service(n *ownertree.Node) []inspect.Cause {
	var s corev1.Service
	if n.Deleting != nil || !d.typed(n, &s) || s.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	endpoints := d.endpointSlices(n)
	if len(s.Spec.Selector) == 0 {
		if len(endpoints) > 0 || d.hasEndpoints(n) || len(s.Spec.Ports) == 0 {
			return d.podsGone(endpoints)
		}
		return []inspect.Cause{{
			Type: NoEndpoints, Certainty: inspect.Likely, Weight: inspect.Specific,
			Detail:   "it has no selector, and nothing else has given it endpoints",
			Evidence: []inspect.Evidence{{Source: inspect.FromField, Name: "spec.selector", Text: "not set"}},
		}}
	}
	all := d.selected(n)
	pods := slices.DeleteFunc(slices.Clone(all), d.isReplaced)
	owner := d.podless[n]
	switch some, known := d.graph.PodSelector()(n.Namespace, s.Spec.Selector); {
	case owner.Name != "" && owner.replicas == 0 && len(pods) == 0:
		return []inspect.Cause{podsDoNotExist(owner, s.Spec.Selector)}
	case known && !some, len(all) > 0 && len(pods) == 0:
		if owner.Name != "" {
			return []inspect.Cause{podsDoNotExist(owner, s.Spec.Selector)}
		}
		return []inspect.Cause{d.noPodSelected(n, s.Spec.Selector)}
	case len(pods) == 0:
		return nil
	}
	var out []inspect.Cause
	if ready := readyPods(d.facts, pods); len(ready) > 0 {
		out = append(out, d.missingPorts(&s, ready)...)
		isSpecific := func(c inspect.Cause) bool { return c.Weight == inspect.Specific }
		if !slices.ContainsFunc(out, isSpecific) && len(endpoints) == 0 && d.listed("endpointslices") {
			out = append(out, inspect.Cause{
				Type: NoEndpoints, Certainty: inspect.Likely, Weight: inspect.Specific,
				Detail: "no EndpointSlice was written for its ready pods: its controller does not run, or is behind",
				Evidence: []inspect.Evidence{{
					Source: inspect.FromObject, Name: "EndpointSlice", Text: "there is none of this Service",
				}},
			})
		}
		return out
	}
	return []inspect.Cause{{
		Type: NoEndpoints, Certainty: inspect.Certain, Weight: inspect.Symptom,
		Detail: fmt.Sprintf("none of its %d pods is ready", len(pods)),
	}}
}

// listed reports whether the objects of a resource were listed.
func (d *diagnoser) listed(resource string) bool {
	return !slices.ContainsFunc(d.Incomplete, func(i cluster.Incomplete) bool { return i.Resource == resource })
}

// selected are the pods that a Service selects.
func (s *Situation) selected(n *ownertree.Node) []*ownertree.Node {
	var out []*ownertree.Node
	for _, r := range s.relations[n] {
		if isPod(r.To) && !r.Missing {
			out = append(out, r.To)
		}
	}
	return out
}

// readyPods are those of the pods that can be endpoints. One that has completed is as its spec requests, and is none.
func readyPods(facts treestatus.FactsByUID, pods []*ownertree.Node) []*ownertree.Node {
	return slices.DeleteFunc(slices.Clone(pods), func(n *ownertree.Node) bool {
		f := facts.Of(n)
		resized := slices.ContainsFunc(f.Conditions, func(c inspect.Condition) bool {
			return c.Type == "Ready" && c.Status == "True" && !f.Ended
		})
		return !f.Current() && !resized || strings.HasPrefix(f.Ready, "0/") || n.Deleting != nil
	})
}

// mostRevisions bounds of how many revisions of the pods of a Service one pod is read.
const mostRevisions = 3

// revision is what pods that were made from the same template have in common.
type revision struct {
	owner types.UID
	hash  string // ReplicaSets are of one revision each, and so their pods need none
}

func revisionOf(pod *ownertree.Node) revision {
	for _, o := range pod.Owners {
		if o.Controller != nil && *o.Controller {
			return revision{o.UID, pod.Labels[appsv1.ControllerRevisionHashLabelKey]}
		}
	}
	return revision{owner: pod.UID}
}

// endpointSlices are those of a Service.
func (s *Situation) endpointSlices(n *ownertree.Node) []*ownertree.Node {
	var out []*ownertree.Node
	for _, other := range s.graph.Nodes() {
		if other.Kind.Kind == "EndpointSlice" && other.Namespace == n.Namespace &&
			other.Labels[discoveryv1.LabelServiceName] == n.Name {
			out = append(out, other)
		}
	}
	return out
}

// hasEndpoints reports whether there are Endpoints of the name of the Service, from which slices are made.
func (d *diagnoser) hasEndpoints(n *ownertree.Node) bool {
	return slices.ContainsFunc(d.graph.Nodes(), func(other *ownertree.Node) bool {
		return other.Kind.Kind == "Endpoints" && other.Namespace == n.Namespace && other.Name == n.Name
	})
}

// podless is a workload without pods.
type podless struct {
	inspect.Reference
	replicas int64 // that it wants; -1 if a DaemonSet wants some
}

// podlessOf finds the workloads whose pods are selected by Services to be explained that have none: by their templates.
func (r *situationReader) podlessOf(ctx context.Context) error {
	for _, n := range r.explained {
		var s corev1.Service
		isPod := func(pod *ownertree.Node) bool { return !r.facts.Of(pod).Ended }
		if n.Kind.GroupKind().String() != "Service" || !r.typed(n, &s) || len(s.Spec.Selector) == 0 ||
			slices.ContainsFunc(r.selected(n), isPod) {
			continue
		}
		selector := labels.SelectorFromSet(s.Spec.Selector)
		for _, name := range []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"} {
			kind := r.kind(appsv1.GroupName, name)
			if kind == nil || r.podless[n].Name != "" {
				continue
			}
			target := cluster.Target{Kind: *kind, Namespace: n.Namespace}
			whole := cluster.ListOptions{Whole: true} // templates are left out else
			err := r.reader.ListObjects(ctx, target, whole, func(obj *unstructured.Unstructured) error {
				template, _, _ := unstructured.NestedStringMap(obj.Object, "spec", "template", "metadata", "labels")
				if !selector.Matches(labels.Set(template)) || r.podless[n].Name != "" {
					return nil
				}
				found := podless{replicas: untyped.Map(obj.Object).Count(1, "spec", "replicas")}
				if name == "DaemonSet" {
					found.replicas = -1
				}
				found.Reference = inspect.Reference{
					Group: appsv1.GroupName, Kind: name, Namespace: n.Namespace, Name: obj.GetName(),
				}
				r.podless[n] = found
				return nil
			})
			if err != nil {
				r.unread = append(r.unread, target.Incomplete(err))
			}
		}
	}
	return nil
}

// podsDoNotExist is the cause of a Service for the pods of a workload that has none.
func podsDoNotExist(owner podless, selector map[string]string) inspect.Cause {
	name := owner.Kind + "/" + owner.Name
	text := "its pods have these labels"
	detail := name + ", whose pods it selects, has none"
	if owner.replicas == 0 {
		detail, text = detail+": it is scaled to 0", text+", spec.replicas is 0"
	}
	return inspect.Cause{
		Type: NoEndpoints, Certainty: inspect.Certain, Weight: inspect.Specific, Detail: detail,
		Refers: &owner.Reference,
		Evidence: []inspect.Evidence{
			{Source: inspect.FromField, Name: "spec.selector", Text: selectorText(selector)},
			{Source: inspect.FromObject, Name: name, Text: text},
		},
	}
}

// noPodSelected is the cause of a Service whose selector matches no pod. It names the pods that match best.
func (d *diagnoser) noPodSelected(n *ownertree.Node, selector map[string]string) inspect.Cause {
	c := inspect.Cause{
		Type: NoPodSelected, Certainty: inspect.Certain, Weight: inspect.Specific, Detail: selectorText(selector),
		Evidence: []inspect.Evidence{{Source: inspect.FromField, Name: "spec.selector", Text: selectorText(selector)}},
	}
	best, matches := (*ownertree.Node)(nil), -1
	for _, pod := range d.graph.Nodes() {
		if !isPod(pod) || pod.Namespace != n.Namespace {
			continue
		}
		count := 0
		for key, value := range selector {
			switch {
			case pod.Labels[key] == value:
				count += 2
			case pod.Labels[key] != "":
				count++
			}
		}
		if count > matches && count > 0 {
			best, matches = pod, count
		}
	}
	if best == nil {
		return c
	}
	var differs []string
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		if value := best.Labels[key]; value != selector[key] {
			differs = append(differs, key+"="+cmp.Or(value, "(not set)"))
		}
	}
	c.Evidence = append(c.Evidence, inspect.Evidence{
		Source: inspect.FromObject, Name: "Pod/" + best.Name, Text: "has " + strings.Join(differs, ", "),
	})
	return c
}

func selectorText(selector map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		out = append(out, key+"="+selector[key])
	}
	return strings.Join(out, ",")
}

// ingress returns backends of an Ingress whose port its Service does not have. That the Service does not exist is found
// by its relation.
func (d *diagnoser) ingress(n *ownertree.Node) []inspect.Cause {
	var i networkingv1.Ingress
	if n.Deleting != nil || !d.typed(n, &i) {
		return nil
	}
	var out []inspect.Cause
	seen := map[string]bool{}
	check := func(path string, b *networkingv1.IngressBackend) {
		if b == nil || b.Service == nil {
			return
		}
		port := cmp.Or(b.Service.Port.Name, fmt.Sprint(b.Service.Port.Number))
		have, ok := d.servicePorts(n, b.Service.Name)
		if !ok || seen[b.Service.Name+":"+port] || slices.Contains(have, port) {
			return
		}
		seen[b.Service.Name+":"+port] = true
		out = append(out, inspect.Cause{
			Type: PortMissing, Certainty: inspect.Certain, Weight: inspect.Specific, Part: path, Detail: port,
			Refers: &inspect.Reference{Kind: "Service", Namespace: n.Namespace, Name: b.Service.Name},
			Evidence: []inspect.Evidence{{
				Source: inspect.FromObject, Name: "Service/" + b.Service.Name,
				Text: "has the ports " + strings.Join(have, ", "),
			}},
		})
	}
	check("default backend", i.Spec.DefaultBackend)
	for _, rule := range i.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for j := range rule.HTTP.Paths {
			p := &rule.HTTP.Paths[j]
			check("path "+rule.Host+cmp.Or(p.Path, "/"), &p.Backend)
		}
	}
	return out
}

// servicePorts are the names and numbers of the ports of a Service in the namespace of a node; false if it was not
// read, or is a name elsewhere, which needs none.
func (d *diagnoser) servicePorts(n *ownertree.Node, name string) ([]string, bool) {
	kind, ok, err := d.kinds.Lookup(schema.GroupVersionKind{Version: "v1", Kind: "Service"})
	if !ok || err != nil {
		return nil, false
	}
	found := d.graph.Find(kind, n.Namespace, name)
	var s corev1.Service
	if found == nil || !d.typed(found, &s) ||
		s.Spec.Type == corev1.ServiceTypeExternalName && len(s.Spec.Ports) == 0 {
		return nil, false
	}
	var out []string
	for _, port := range s.Spec.Ports {
		if port.Name != "" {
			out = append(out, port.Name)
		}
		out = append(out, fmt.Sprint(port.Port))
	}
	return out, true
}
