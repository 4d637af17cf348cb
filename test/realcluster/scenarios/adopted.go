package scenarios

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// place says where an object is: its resource, namespace and name. The namespace is empty for one that has none.
type place struct {
	resource  schema.GroupResource
	namespace string
	name      string
}

// adopted are what scenarios have made outside their namespaces: it counts as if it were in them.
type adopted struct {
	objects    map[place]string  // the scenario's namespace by object
	namespaces map[string]string // and by namespace of which all counts
}

// namespaces is the resource of namespaces.
var namespaces = schema.GroupResource{Resource: "namespaces"}

// adopt tells that an object is the scenario's, which is about to make it. With a namespace all that is in it is
// adopted too.
func (o *observer) adopt(scenario string, at place) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.adopted.objects == nil {
		o.adopted = adopted{objects: map[place]string{}, namespaces: map[string]string{}}
	}
	o.adopted.objects[at] = scenario
	if at.resource == namespaces {
		o.adopted.namespaces[at.name] = scenario
	}
}

// home is the namespace of the scenario that an object counts for; empty for one of none. A volume counts for that of
// its claim.
func (a adopted) home(resource schema.GroupResource, u *unstructured.Unstructured) string {
	if scenario, ok := a.objects[place{resource, u.GetNamespace(), u.GetName()}]; ok {
		return scenario
	}
	if namespace := u.GetNamespace(); namespace != "" {
		return a.within(namespace)
	}
	claimed, _, err := unstructured.NestedString(u.Object, "spec", "claimRef", "namespace")
	if err != nil {
		return ""
	}
	return a.within(claimed)
}

// within is home for whatever is in a namespace.
func (a adopted) within(namespace string) string {
	if scenario, ok := a.namespaces[namespace]; ok {
		return scenario
	}
	return namespace
}

// concerns reports whether a write is one of those that count for the scenario: its reader finds them by namespace.
func (a adopted) concerns(scenario string, w Write) bool {
	return a.objects[place{w.Resource, w.Namespace, w.Name}] == scenario || a.within(w.Namespace) == scenario
}

// elsewhere are the namespaces beside its own in which the scenario has made something, sorted; empty for none.
func (a adopted) elsewhere(scenario string) []string {
	var out []string
	for at, of := range a.objects {
		if of == scenario {
			out = append(out, at.namespace)
		}
	}
	for namespace, of := range a.namespaces {
		if of == scenario {
			out = append(out, namespace)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(namespace string) bool { return namespace == scenario })
}

// written are the writes that count for the scenario, oldest first.
func (p *play) written() ([]Write, error) {
	all, err := p.writes(p.scenario.Name)
	if err != nil {
		return nil, err
	}
	p.observer.mu.Lock()
	adopted := p.observer.adopted
	elsewhere := adopted.elsewhere(p.scenario.Name)
	p.observer.mu.Unlock()
	for _, namespace := range elsewhere {
		writes, err := p.writes(namespace)
		if err != nil {
			return nil, err
		}
		p.observer.mu.Lock()
		for _, w := range writes {
			if adopted.concerns(p.scenario.Name, w) {
				all = append(all, w)
			}
		}
		p.observer.mu.Unlock()
	}
	slices.SortStableFunc(all, func(a, b Write) int { return a.At.Compare(b.At) })
	return all, nil
}
