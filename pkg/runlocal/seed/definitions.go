package seed

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// definition is what Read looks at of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Versions []struct {
			Name    string `json:"name"`
			Served  bool   `json:"served"`
			Storage bool   `json:"storage"`
		} `json:"versions"`
		Conversion struct {
			Strategy string `json:"strategy"`
		} `json:"conversion"`
	} `json:"spec"`
}

// readDefinitions reads the definitions of all custom resources that were read, and of those that the options name, and
// reads custom resources again that were not read in the version in which they are stored: the copy stores them in it,
// too. Custom resources without a definition are left out.
func (r *reading) readDefinitions(ctx context.Context) error {
	definitionKind, ok := r.kind(definitions.WithVersion("").GroupVersion().WithKind("CustomResourceDefinition"))
	var running sync.WaitGroup
	for _, kind := range r.customKinds() {
		running.Go(func() {
			name := kind.GroupResource().String()
			err := fmt.Errorf("the cluster serves no definitions")
			if ok {
				err = r.get(ctx, r.decodable(definitionKind), "", name)
			}
			switch {
			case err == nil:
				r.readStored(ctx, kind)
			case ok && apierrors.IsNotFound(err):
				r.drop(kind, ReasonAggregated, "another API server serves them")
			default:
				r.drop(kind, ReasonUndefined, "their CustomResourceDefinition could not be read")
			}
		})
	}
	running.Wait()
	return nil
}

// customKinds returns the custom resources whose definitions are needed, in the version in which they were read.
func (r *reading) customKinds() []cluster.Kind {
	kinds := map[schema.GroupResource]cluster.Kind{}
	for _, name := range r.o.Definitions {
		if kind, ok := r.kind(name.WithVersion("")); ok && !api.BuiltIn(kind.Group) {
			kinds[kind.GroupResource()] = kind
		}
	}
	for _, object := range r.objects {
		if !api.BuiltIn(object.Kind.Group) {
			kinds[object.Kind.GroupResource()] = object.Kind
		}
	}
	return slices.Collect(maps.Values(kinds))
}

// readStored reads custom resources, whose definition was read, in the version in which they are stored, unless they
// were. If that is not served, or only a webhook can convert to other versions, the copy serves a single version.
func (r *reading) readStored(ctx context.Context, kind cluster.Kind) {
	k := key{resource: definitions, name: kind.GroupResource().String()}
	r.mu.Lock()
	object := r.objects[k]
	r.mu.Unlock()
	d, ok := r.definitionOf(kind, object)
	if !ok {
		return
	}
	stored := ""
	for _, v := range d.Spec.Versions {
		if v.Storage && v.Served {
			stored = v.Name
		}
	}
	if stored != "" && stored != kind.Version {
		gvk := kind.GroupVersionKind
		gvk.Version = stored
		if at, ok := r.kind(gvk); ok {
			kind = at
			r.readAgain(ctx, kind)
		}
	}
	r.serveVersion(kind, object, d)
}

// definitionOf decodes the definition of a custom resource; if it cannot be, the custom resource is left out.
func (r *reading) definitionOf(kind cluster.Kind, object Object) (*definition, bool) {
	d := &definition{}
	if err := json.Unmarshal(object.JSON, d); err != nil {
		r.drop(kind, ReasonUndefined, "their CustomResourceDefinition could not be decoded")
		return nil, false
	}
	return d, true
}

// serveVersion makes the definition of a custom resource, whose objects are in the version of kind, that of a copy: it
// serves this version alone unless it is the one in which they are stored, and no webhook converts to others. d is
// object, the definition, decoded.
func (r *reading) serveVersion(kind cluster.Kind, object Object, d *definition) {
	stored, others := false, []string{}
	for _, v := range d.Spec.Versions {
		stored = stored || v.Storage && v.Served && v.Name == kind.Version
		if v.Served && v.Name != kind.Version {
			others = append(others, v.Name)
		}
	}
	if stored && d.Spec.Conversion.Strategy != "Webhook" {
		return
	}
	single, err := withSingleVersion(object.JSON, kind.Version)
	if err != nil {
		r.drop(kind, ReasonUndefined, "their CustomResourceDefinition could not be decoded")
		return
	}
	object.JSON = single
	r.mu.Lock()
	r.objects[object.key()] = object
	r.mu.Unlock()
	if len(others) > 0 {
		r.leaveOut(LeftOut{
			Group: kind.Group, Resource: kind.Resource, Reason: ReasonConversion,
			Message: fmt.Sprintf("they are served as %s only, not as %s, which takes a conversion in the cluster",
				kind.Version, strings.Join(others, ", ")),
		})
	}
}

// readAgain reads the objects of a kind in another version.
func (r *reading) readAgain(ctx context.Context, kind cluster.Kind) {
	if kind.Namespaced && r.o.AllNamespaces {
		r.list(ctx, cluster.Target{Kind: kind}, nil)
		return
	}
	r.mu.Lock()
	var single []string
	within := map[string]bool{}
	for k := range r.objects {
		switch {
		case k.resource != kind.GroupResource():
		case kind.Namespaced:
			within[k.namespace] = true
		default:
			single = append(single, k.name)
		}
	}
	r.mu.Unlock()
	for namespace := range within {
		r.list(ctx, cluster.Target{Kind: kind, Namespace: namespace}, nil)
	}
	for _, name := range single {
		_ = r.get(ctx, kind, "", name) // recorded
	}
}

// drop removes all objects of a kind, and records that they are left out, if there are any.
func (r *reading) drop(kind cluster.Kind, reason Reason, message string) {
	dropped := 0
	r.mu.Lock()
	for k, object := range r.objects {
		if k.resource == kind.GroupResource() {
			delete(r.objects, k)
			delete(r.uids, object.UID)
			dropped++
		}
	}
	r.mu.Unlock()
	r.leaveOut(LeftOut{
		Group: kind.Group, Resource: kind.Resource, Objects: dropped, Reason: reason, Message: message,
	})
}

// withSingleVersion returns a CustomResourceDefinition that serves and stores a single version and converts nothing.
func withSingleVersion(data json.RawMessage, version string) (json.RawMessage, error) {
	var object map[string]any
	if err := decodeJSON(data, &object); err != nil {
		return nil, err
	}
	spec, _ := object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	versions = slices.DeleteFunc(versions, func(v any) bool {
		fields, ok := v.(map[string]any)
		if !ok || fields["name"] != version {
			return true
		}
		fields["served"], fields["storage"] = true, true
		return false
	})
	if len(versions) == 0 {
		return nil, fmt.Errorf("there is no version %q", version)
	}
	spec["versions"] = versions
	spec["conversion"] = map[string]any{"strategy": "None"}
	if status, ok := object["status"].(map[string]any); ok {
		status["storedVersions"] = []any{version}
	}
	return json.Marshal(object)
}
