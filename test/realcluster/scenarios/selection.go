package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resource and name are the parts of Object; the name is empty for several objects.
func (s Selection) parts() (schema.GroupResource, string) {
	resource, name, _ := strings.Cut(s.Object, "/")
	return schema.ParseGroupResource(resource), name
}

func (s Selection) validate() error {
	resource, name := s.parts()
	if resource.Resource == "" {
		return fmt.Errorf("selection %q names no resource", s.Object)
	}
	if name != "" && s.Selector != "" {
		return fmt.Errorf("selection %q has both a name and a selector", s.Object)
	}
	if s.Order != "" && s.Order != "oldest" && s.Order != "newest" {
		return fmt.Errorf("selection %q: order %q is neither oldest nor newest", s.Object, s.Order)
	}
	if _, err := labels.Parse(s.Selector); err != nil {
		return fmt.Errorf("selection %q: %w", s.Object, err)
	}
	return nil
}

// pick returns what is selected of the namespace's objects, sorted as First says. It must be valid.
func (s Selection) pick(objects []*seen) []*unstructured.Unstructured {
	resource, name := s.parts()
	selector, err := labels.Parse(s.Selector)
	if err != nil {
		return nil // validate has refused it
	}
	var picked []*seen
	for _, o := range objects {
		named := name == "" || o.object.GetName() == name
		if o.resource == resource && named && selector.Matches(labels.Set(o.object.GetLabels())) {
			picked = append(picked, o)
		}
	}
	slices.SortFunc(picked, compareAge)
	if s.Order == "newest" {
		slices.Reverse(picked)
	}
	if s.First > 0 && s.First < len(picked) {
		picked = picked[:s.First]
	}
	out := make([]*unstructured.Unstructured, len(picked))
	for i, o := range picked {
		out[i] = o.object
	}
	return out
}

// compareAge sorts by the step in which objects came to be: times have whole seconds only, and would not tell steps
// apart that follow each other fast. Within a step the owner's name decides, which is no more random than the scenario
// is.
func compareAge(a, b *seen) int {
	return cmp.Or(
		cmp.Compare(a.step, b.step),
		cmp.Compare(owner(a.object), owner(b.object)),
		cmp.Compare(a.object.GetName(), b.object.GetName()),
	)
}

func owner(o *unstructured.Unstructured) string {
	for _, r := range o.GetOwnerReferences() {
		if r.Controller != nil && *r.Controller {
			return r.Kind + "/" + r.Name
		}
	}
	return ""
}
