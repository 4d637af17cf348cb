package api

import (
	"fmt"
	"sync/atomic"

	apiextensionshelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	apiextensionsinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	apiextensionslisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	apiextensionsopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	genericfilters "k8s.io/apiserver/pkg/endpoints/filters"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// customResourceServer builds the server of CustomResourceDefinitions and of the resources that they define. The server
// of the built-in groups passes every path to it that it does not serve itself. It mirrors CreateAPIExtensionsConfig of
// k8s.io/kubernetes/pkg/controlplane/apiserver/apiextensions.go.
func (a *assembly) customResourceServer(
	groups aggregated.ResourceManager,
) (*apiextensionsserver.CustomResourceDefinitions, error) {
	generic := a.genericConfig(genericOptions{
		definitions: apiextensionsopenapi.GetOpenAPIDefinitions,
		schemes:     []*runtime.Scheme{legacyscheme.Scheme, apiextensionsserver.Scheme, a.apiServiceScheme},
		served:      apiextensionsserver.DefaultAPIResourceConfigSource(),
		storage:     crdStorage{a.backend},
		discovery:   groups,
	})
	config := apiextensionsserver.Config{
		GenericConfig: &genericapiserver.RecommendedConfig{Config: *generic, SharedInformerFactory: a.informers},
		ExtraConfig: apiextensionsserver.ExtraConfig{
			CRDRESTOptionsGetter: customResourceStorage{a.backend},
			MasterCount:          1,
			ServiceResolver:      noServices{a.ctx, a.client},
			AuthResolverWrapper: webhook.NewDefaultAuthenticationInfoResolverWrapper(noNetwork(), nil, a.loopback,
				a.tracer),
		},
	}
	notFound := notfoundhandler.New(generic.Serializer, genericfilters.NoMuxAndDiscoveryIncompleteKey)
	server, err := config.Complete().New(genericapiserver.NewEmptyDelegateWithCustomHandler(notFound))
	if err != nil {
		return nil, fmt.Errorf("building the server of custom resources: %w", err)
	}
	return server, nil
}

// Kinds are the custom resources that a server serves, as the handler of their requests knows them: discovery follows a
// moment later. Its methods may be called concurrently.
type Kinds struct {
	definitions apiextensionslisters.CustomResourceDefinitionLister
	changes     atomic.Uint64
}

// newKinds returns the kinds that an informer's CustomResourceDefinitions define. The informer must not be started yet.
func newKinds(definitions apiextensionsinformers.CustomResourceDefinitionInformer) (*Kinds, error) {
	k := &Kinds{definitions: definitions.Lister()}
	count := func() { k.changes.Add(1) }
	_, err := definitions.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { count() }, UpdateFunc: func(_, _ any) { count() }, DeleteFunc: func(any) { count() },
	})
	return k, err
}

// Changes returns a number that grows whenever a kind may have been added or removed.
func (k *Kinds) Changes() uint64 { return k.changes.Load() }

// Custom returns the custom resources that are served at this moment, in no order.
func (k *Kinds) Custom() []schema.GroupResource {
	all, err := k.definitions.List(labels.Everything())
	if err != nil {
		return nil // a lister of a cache has no errors
	}
	var out []schema.GroupResource
	for _, definition := range all {
		if apiextensionshelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established) {
			out = append(out, schema.GroupResource{Group: definition.Spec.Group,
				Resource: definition.Status.AcceptedNames.Plural})
		}
	}
	return out
}

// Kinds returns the custom resources that the server serves.
func (s *Server) Kinds() *Kinds { return s.kinds }
