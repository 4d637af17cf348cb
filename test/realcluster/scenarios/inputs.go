package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// user is the field manager of all inputs but those that play a kubelet's part.
const user = "user"

// made is an object outside of its namespace that a scenario made.
type made struct {
	resource  schema.GroupVersionResource
	namespace string
	name      string
}

func (p *play) create(ctx context.Context, manifests []json.RawMessage) error {
	return p.each(manifests, func(client dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		_, err := client.Create(ctx, o, metav1.CreateOptions{FieldManager: user})
		return err
	})
}

func (p *play) apply(ctx context.Context, manifests []json.RawMessage) error {
	return p.each(manifests, func(client dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		_, err := client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: user, Force: true})
		return err
	})
}

// kubectlApply has kubectl apply the manifests of the step.
func (p *play) kubectlApply(ctx context.Context, s *Step) error {
	if p.Kubectl == nil {
		return fmt.Errorf("applying objects by kubectl: %q has none", p.name)
	}
	objects, err := p.manifests(s.Kubectl)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if _, err := p.claim(object); err != nil {
			return err
		}
	}
	return p.Kubectl(ctx, p.scenario.Name, s.Flags, objects)
}

func (p *play) each(
	manifests []json.RawMessage, send func(dynamic.ResourceInterface, *unstructured.Unstructured) error,
) error {
	for _, manifest := range manifests {
		objects, err := p.manifests([]json.RawMessage{manifest}) // each with what those before it have made
		if err != nil {
			return err
		}
		object := objects[0]
		mapping, err := p.claim(object)
		if err != nil {
			return err
		}
		if err := send(p.at(mapping, object), object); err != nil {
			return fmt.Errorf("writing %s %q: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// manifests reads manifests, with what is only known now.
func (p *play) manifests(manifests []json.RawMessage) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, manifest := range manifests {
		text, err := p.fill(string(manifest))
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON([]byte(text)); err != nil {
			return nil, fmt.Errorf("reading manifest %s: %w", text, err)
		}
		out = append(out, object)
	}
	return out, nil
}

// claim finds the resource of an object that is about to be made. One that is not in the scenario's namespace is the
// scenario's from now on.
func (p *play) claim(object *unstructured.Unstructured) (*meta.RESTMapping, error) {
	gvk := object.GroupVersionKind()
	mapping, err := p.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, fmt.Errorf("finding the resource of %v: %w", gvk, err)
	}
	if elsewhere := mapping.Scope.Name() == meta.RESTScopeNameRoot || object.GetNamespace() != ""; elsewhere {
		m := made{mapping.Resource, object.GetNamespace(), object.GetName()}
		p.made = append(p.made, m)
		p.observer.adopt(p.scenario.Name, place{m.resource.GroupResource(), m.namespace, m.name})
	}
	return mapping, nil
}

// at is the client for an object, in the scenario's namespace if it has one and names no other.
func (p *play) at(mapping *meta.RESTMapping, object *unstructured.Unstructured) dynamic.ResourceInterface {
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return p.client.Resource(mapping.Resource)
	}
	if namespace := object.GetNamespace(); namespace != "" {
		return p.client.Resource(mapping.Resource).Namespace(namespace)
	}
	return p.client.Resource(mapping.Resource).Namespace(p.scenario.Name)
}

// placeholder is {{ns}}, or {{uid RESOURCE.GROUP/NAME}}.
var placeholder = regexp.MustCompile(`\{\{(ns|uid ([^}]+))\}\}`)

// fill puts in what is known only when the scenario is played.
func (p *play) fill(text string) (string, error) {
	var missing []error
	filled := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		if parts[1] == "ns" {
			return p.scenario.Name
		}
		named := p.observer.pick(p.scenario.Name, Selection{Object: strings.TrimSpace(parts[2])})
		if len(named) != 1 {
			missing = append(missing, fmt.Errorf("filling in %s: there are %d such objects", found, len(named)))
			return ""
		}
		return string(named[0].GetUID())
	})
	return filled, errors.Join(missing...)
}

// selected returns the objects and the client for each; none is an error.
func (p *play) selected(
	s Selection,
) (client func(*unstructured.Unstructured) dynamic.ResourceInterface, objects []*unstructured.Unstructured, err error) {
	resource, _ := s.parts()
	full, err := p.mapper.ResourceFor(resource.WithVersion(""))
	if err != nil {
		return nil, nil, fmt.Errorf("finding resource %q: %w", resource, err)
	}
	objects = p.observer.pick(p.scenario.Name, s)
	if len(objects) == 0 {
		return nil, nil, fmt.Errorf("finding %s %s: there is none", s.Object, s.Selector)
	}
	client = func(o *unstructured.Unstructured) dynamic.ResourceInterface {
		return p.client.Resource(full).Namespace(o.GetNamespace())
	}
	return client, objects, nil
}

func (p *Patch) patchType() (types.PatchType, error) {
	switch p.Type {
	case "", "merge":
		return types.MergePatchType, nil
	case "json":
		return types.JSONPatchType, nil
	case "strategic":
		return types.StrategicMergePatchType, nil
	}
	return "", fmt.Errorf("patch type %q is none of merge, json, strategic", p.Type)
}

func (p *play) patch(ctx context.Context, patch *Patch) error {
	kind, err := patch.patchType()
	if err != nil {
		return err
	}
	body, err := p.fill(string(patch.Body))
	if err != nil {
		return err
	}
	client, objects, err := p.selected(patch.Selection)
	if err != nil {
		return err
	}
	var subresources []string
	if patch.Subresource != "" {
		subresources = append(subresources, patch.Subresource)
	}
	options := metav1.PatchOptions{FieldManager: user}
	for _, o := range objects {
		_, err := client(o).Patch(ctx, o.GetName(), kind, []byte(body), options, subresources...)
		if err != nil {
			return fmt.Errorf("patching %s %q: %w", patch.Object, o.GetName(), err)
		}
	}
	return nil
}

func (p *play) delete(ctx context.Context, d *Delete) error {
	client, objects, err := p.selected(d.Selection)
	if err != nil {
		return err
	}
	options := metav1.DeleteOptions{GracePeriodSeconds: d.Grace}
	if d.Propagation != "" {
		policy := metav1.DeletionPropagation(d.Propagation)
		options.PropagationPolicy = &policy
	}
	for _, o := range objects {
		if err := client(o).Delete(ctx, o.GetName(), options); err != nil {
			return fmt.Errorf("deleting %s %q: %w", d.Object, o.GetName(), err)
		}
	}
	return nil
}

// tidy removes what was made elsewhere, so that other scenarios do not meet it.
func (p *play) tidy(ctx context.Context) error {
	var errs []error
	for _, m := range p.made {
		err := p.client.Resource(m.resource).Namespace(m.namespace).Delete(ctx, m.name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("deleting %s %q: %w", m.resource.Resource, m.name, err))
		}
	}
	return errors.Join(errs...)
}
