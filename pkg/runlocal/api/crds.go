package api

import (
	"fmt"

	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	apiextensionsopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	genericfilters "k8s.io/apiserver/pkg/endpoints/filters"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// customResourceServer builds the server of CustomResourceDefinitions and of the resources that they define. The server of
// the built-in groups hands it every path that it does not know. Mirrors pkg/controlplane/apiserver/apiextensions.go.
func (a *assembly) customResourceServer(groups aggregated.ResourceManager) (*apiextensionsserver.CustomResourceDefinitions, error) {
	generic := a.genericConfig(part{
		definitions: apiextensionsopenapi.GetOpenAPIDefinitions,
		schemes:     []*runtime.Scheme{legacyscheme.Scheme, apiextensionsserver.Scheme, a.registration},
		served:      apiextensionsserver.DefaultAPIResourceConfigSource(),
		storage:     definitions{a.backend},
		discovery:   groups,
	})
	config := apiextensionsserver.Config{
		GenericConfig: &genericapiserver.RecommendedConfig{Config: *generic, SharedInformerFactory: a.informers},
		ExtraConfig: apiextensionsserver.ExtraConfig{
			CRDRESTOptionsGetter: customResources{a.backend},
			MasterCount:          1,
			ServiceResolver:      noServices{a.life, a.client},
			AuthResolverWrapper:  webhook.NewDefaultAuthenticationInfoResolverWrapper(noNetwork(), nil, a.loopback, a.tracer),
		},
	}
	notFound := notfoundhandler.New(generic.Serializer, genericfilters.NoMuxAndDiscoveryIncompleteKey)
	server, err := config.Complete().New(genericapiserver.NewEmptyDelegateWithCustomHandler(notFound))
	if err != nil {
		return nil, fmt.Errorf("building the server of custom resources: %w", err)
	}
	return server, nil
}
