package api

import (
	"sync/atomic"

	apiextensionshelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	apiextensionslisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// Kinds are the kinds that a server serves beside the built-in ones, as the handler of their requests sees them: discovery
// follows a moment later. Its methods may be called concurrently.
type Kinds struct {
	definitions apiextensionslisters.CustomResourceDefinitionLister
	changes     atomic.Uint64
}

// newKinds returns the kinds that the definitions of an informer define, which was not started.
func newKinds(definitions apiextensionsinformers.CustomResourceDefinitionInformer) (*Kinds, error) {
	k := &Kinds{definitions: definitions.Lister()}
	count := func() { k.changes.Add(1) }
	_, err := definitions.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { count() }, UpdateFunc: func(_, _ any) { count() }, DeleteFunc: func(any) { count() },
	})
	return k, err
}

// Changes is a number that grows whenever a kind may have come or gone.
func (k *Kinds) Changes() uint64 { return k.changes.Load() }

// Custom lists the custom resources that are served at this moment, in no order.
func (k *Kinds) Custom() []schema.GroupResource {
	all, err := k.definitions.List(labels.Everything())
	if err != nil {
		return nil // a lister of a cache has no errors
	}
	var out []schema.GroupResource
	for _, definition := range all {
		if apiextensionshelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established) {
			out = append(out, schema.GroupResource{Group: definition.Spec.Group, Resource: definition.Status.AcceptedNames.Plural})
		}
	}
	return out
}

// Kinds are those that the server serves beside the built-in ones.
func (s *Server) Kinds() *Kinds { return s.kinds }
