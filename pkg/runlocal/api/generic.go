package api

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/healthz"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	utilopenapi "k8s.io/apiserver/pkg/util/openapi"
	openapicommon "k8s.io/kube-openapi/pkg/common"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// storageTimeout is kube-apiserver's default --storage-initialization-timeout.
const storageTimeout = time.Minute

// part is what differs between the server of the built-in groups and that of custom resources.
type part struct {
	definitions openapicommon.GetOpenAPIDefinitions
	schemes     []*runtime.Scheme
	served      *serverstorage.ResourceConfig
	storage     generic.RESTOptionsGetter
	discovery   aggregated.ResourceManager
}

// genericConfig mirrors BuildGenericConfig of pkg/controlplane/apiserver/config.go.
func (a *assembly) genericConfig(p part) *genericapiserver.Config {
	c := genericapiserver.NewConfig(legacyscheme.Codecs)
	c.EffectiveVersion = a.version
	c.ExternalAddress = a.address
	c.LoopbackClientConfig = a.loopback
	c.MergedResourceConfig = p.served
	c.RESTOptionsGetter = p.storage
	c.AggregatedDiscoveryGroupManager = p.discovery
	c.AdmissionControl = a.gate
	c.Authentication.Authenticator = a.identity.authenticator
	c.Authentication.APIAudiences = audiences()
	c.Authorization.Authorizer = a.identity.authorizer
	c.RuleResolver = a.identity.rules
	c.BuildHandlerChainFunc = handlerChain
	c.LongRunningFunc = serverfilters.BasicLongRunningRequestCheck(
		sets.NewString("watch", "proxy"), sets.NewString("attach", "exec", "proxy", "log", "portforward"))
	c.EnableProfiling = false
	c.FlowControl = a.flows
	c.DisabledPostStartHooks.Insert("priority-and-fairness-config-consumer") // Start runs it
	c.StorageObjectCountTracker = a.backend.counts
	c.StorageInitializationTimeout = storageTimeout
	basic := []healthz.HealthChecker{healthz.PingHealthz, a.logs}
	c.HealthzChecks, c.LivezChecks, c.ReadyzChecks = slices.Clone(basic), slices.Clone(basic), slices.Clone(basic)
	addStorageChecks(c, a.backend.store)

	definitions := utilopenapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(p.definitions)
	namer := openapinamer.NewDefinitionNamer(p.schemes...)
	c.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	c.OpenAPIConfig.Info.Title = "Kubernetes"
	c.OpenAPIConfig.SecurityDefinitions = a.identity.security
	c.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	c.OpenAPIV3Config.Info.Title = "Kubernetes"
	c.OpenAPIV3Config.SecuritySchemes = a.identity.schemes
	return c
}
