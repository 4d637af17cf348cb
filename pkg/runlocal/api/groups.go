package api

import (
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	admissionregistrationrest "k8s.io/kubernetes/pkg/registry/admissionregistration/rest"
	appsrest "k8s.io/kubernetes/pkg/registry/apps/rest"
	authenticationrest "k8s.io/kubernetes/pkg/registry/authentication/rest"
	authorizationrest "k8s.io/kubernetes/pkg/registry/authorization/rest"
	autoscalingrest "k8s.io/kubernetes/pkg/registry/autoscaling/rest"
	batchrest "k8s.io/kubernetes/pkg/registry/batch/rest"
	certificatesrest "k8s.io/kubernetes/pkg/registry/certificates/rest"
	coordinationrest "k8s.io/kubernetes/pkg/registry/coordination/rest"
	discoveryrest "k8s.io/kubernetes/pkg/registry/discovery/rest"
	eventsrest "k8s.io/kubernetes/pkg/registry/events/rest"
	flowcontrolrest "k8s.io/kubernetes/pkg/registry/flowcontrol/rest"
	networkingrest "k8s.io/kubernetes/pkg/registry/networking/rest"
	noderest "k8s.io/kubernetes/pkg/registry/node/rest"
	policyrest "k8s.io/kubernetes/pkg/registry/policy/rest"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	resourcerest "k8s.io/kubernetes/pkg/registry/resource/rest"
	schedulingrest "k8s.io/kubernetes/pkg/registry/scheduling/rest"
	storagerest "k8s.io/kubernetes/pkg/registry/storage/rest"
	storagemigrationrest "k8s.io/kubernetes/pkg/registry/storagemigration/rest"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// eventTTL is kube-apiserver's default --event-ttl.
const eventTTL = time.Hour

// servedVersions returns the API versions that kube-apiserver serves by default, except apiregistration.k8s.io: that is
// the aggregation layer's upstream, and in aggregation.go here. A test compares it with DefaultAPIResourceConfigSource
// of pkg/controlplane, which is not imported here because it links all of the aggregator, leader election and the
// scheduler's helpers.
func servedVersions() *serverstorage.ResourceConfig {
	served := serverstorage.NewResourceConfig()
	served.EnableVersions(
		admissionregistrationv1.SchemeGroupVersion,
		appsv1.SchemeGroupVersion,
		authenticationv1.SchemeGroupVersion,
		authorizationv1.SchemeGroupVersion,
		autoscalingv1.SchemeGroupVersion,
		autoscalingv2.SchemeGroupVersion,
		batchv1.SchemeGroupVersion,
		certificatesv1.SchemeGroupVersion,
		coordinationv1.SchemeGroupVersion,
		corev1.SchemeGroupVersion,
		discoveryv1.SchemeGroupVersion,
		eventsv1.SchemeGroupVersion,
		flowcontrolv1.SchemeGroupVersion,
		networkingv1.SchemeGroupVersion,
		nodev1.SchemeGroupVersion,
		policyv1.SchemeGroupVersion,
		rbacv1.SchemeGroupVersion,
		resourcev1.SchemeGroupVersion,
		schedulingv1.SchemeGroupVersion,
		storagev1.SchemeGroupVersion,
		storagemigrationv1.SchemeGroupVersion,
	)
	return served
}

// eventTTL returns how long Events are kept.
func (a *assembly) eventTTL() time.Duration {
	if line := a.options.CommandLine; line != nil {
		return line.EventTTL
	}
	return eventTTL
}

// groupProvider is upstream's RESTStorageProvider.
type groupProvider interface {
	GroupName() string
	NewRESTStorage(
		serverstorage.APIResourceConfigSource, generic.RESTOptionsGetter,
	) (genericapiserver.APIGroupInfo, error)
}

// groupProviders returns the API groups. It mirrors CompletedConfig.StorageProviders of
// k8s.io/kubernetes/pkg/controlplane/instance.go. The order is that of discovery, and decides which group an
// unqualified resource name means.
func (a *assembly) groupProviders() []groupProvider {
	authz, authn := a.auth.authorizer, a.auth.authenticator
	return []groupProvider{
		a.coreProvider(),
		authenticationrest.RESTStorageProvider{Authenticator: authn, APIAudiences: a.auth.audiences},
		authorizationrest.RESTStorageProvider{Authorizer: authz, RuleResolver: a.auth.rules},
		autoscalingrest.RESTStorageProvider{},
		batchrest.RESTStorageProvider{},
		certificatesrest.RESTStorageProvider{Authorizer: authz},
		coordinationrest.RESTStorageProvider{},
		discoveryrest.StorageProvider{},
		networkingrest.RESTStorageProvider{},
		noderest.RESTStorageProvider{},
		policyrest.RESTStorageProvider{},
		rbacrest.RESTStorageProvider{Authorizer: authz},
		schedulingrest.RESTStorageProvider{},
		storagerest.RESTStorageProvider{},
		storagemigrationrest.RESTStorageProvider{},
		flowcontrolrest.RESTStorageProvider{InformerFactory: a.informers},
		appsrest.StorageProvider{},
		admissionregistrationrest.RESTStorageProvider{Authorizer: authz, DiscoveryClient: a.client.Discovery()},
		eventsrest.RESTStorageProvider{TTL: a.eventTTL()},
		resourcerest.RESTStorageProvider{NamespaceClient: a.client.CoreV1().Namespaces(), Authorizer: authz},
	}
}

// installGroups serves the API groups. It mirrors Server.InstallAPIs of
// k8s.io/kubernetes/pkg/controlplane/apiserver/apis.go without the providers' post-start hooks: they poll with pauses
// of a second that cannot be interrupted, and end the process when they fail. What they create is created by
// bootstrap.go and bootstrappolicy.go.
func (a *assembly) installGroups(server *genericapiserver.GenericAPIServer, storage generic.RESTOptionsGetter) error {
	evaluator := genericapiserver.ResourceExpirationEvaluatorOptions{
		CurrentVersion: a.version.EmulationVersion(),
		Prerelease:     a.version.BinaryVersion().PreRelease(),
	}
	lifecycle, err := genericapiserver.NewResourceExpirationEvaluatorFromOptions(evaluator)
	if err != nil {
		return fmt.Errorf("reading the lifecycle of the API versions: %w", err)
	}
	registration := a.apiServiceGroup()
	a.recorded.keep(apiregistrationv1.GroupName, &registration)
	groups := []*genericapiserver.APIGroupInfo{&registration}
	for _, provider := range a.groupProviders() {
		name := provider.GroupName()
		info, err := provider.NewRESTStorage(a.served, storage)
		if err != nil {
			return fmt.Errorf("building API group %q: %w", name, err)
		}
		if err := lifecycle.RemoveUnavailableKinds(name, info.Scheme, info.VersionedResourcesStorageMap,
			a.served); err != nil {
			return fmt.Errorf("removing unavailable kinds of API group %q: %w", name, err)
		}
		a.recorded.keep(name, &info)
		if a.options.CheckObjects {
			a.backend.addChecks(name, info.VersionedResourcesStorageMap)
		}
		if len(info.VersionedResourcesStorageMap) == 0 {
			continue
		}
		if name != "" {
			groups = append(groups, &info)
			continue
		}
		if err := server.InstallLegacyAPIGroup(genericapiserver.DefaultLegacyAPIPrefix, &info); err != nil {
			return fmt.Errorf("installing the core API: %w", err)
		}
	}
	if a.options.Metrics != nil {
		usage := a.metricsGroup()
		groups = append(groups, &usage)
	}
	if err := server.InstallAPIGroups(groups...); err != nil {
		return fmt.Errorf("installing the API groups: %w", err)
	}
	return nil
}

// priority orders groups, and versions in a group, in discovery: the highest first.
type priority struct{ group, version int32 }

// priorities mirrors DefaultGenericAPIServicePriorities of k8s.io/kubernetes/pkg/controlplane/apiserver/aggregator.go
// and apiVersionPriorities of k8s.io/kubernetes/cmd/kube-apiserver/app/aggregator.go, for what is served. They decide
// which group an unqualified resource name means, and which version of a group clients prefer.
func priorities() map[schema.GroupVersion]priority {
	return map[schema.GroupVersion]priority{
		corev1.SchemeGroupVersion:                  {18000, 1},
		appsv1.SchemeGroupVersion:                  {17800, 15},
		eventsv1.SchemeGroupVersion:                {17750, 15},
		authenticationv1.SchemeGroupVersion:        {17700, 15},
		authorizationv1.SchemeGroupVersion:         {17600, 15},
		autoscalingv1.SchemeGroupVersion:           {17500, 15},
		autoscalingv2.SchemeGroupVersion:           {17500, 30},
		batchv1.SchemeGroupVersion:                 {17400, 15},
		certificatesv1.SchemeGroupVersion:          {17300, 15},
		networkingv1.SchemeGroupVersion:            {17200, 15},
		policyv1.SchemeGroupVersion:                {17100, 15},
		rbacv1.SchemeGroupVersion:                  {17000, 15},
		storagev1.SchemeGroupVersion:               {16800, 15},
		apiextensionsv1.SchemeGroupVersion:         {16700, 15},
		admissionregistrationv1.SchemeGroupVersion: {16700, 15},
		schedulingv1.SchemeGroupVersion:            {16600, 15},
		coordinationv1.SchemeGroupVersion:          {16500, 15},
		nodev1.SchemeGroupVersion:                  {16300, 15},
		discoveryv1.SchemeGroupVersion:             {16200, 15},
		resourcev1.SchemeGroupVersion:              {16200, 21},
		flowcontrolv1.SchemeGroupVersion:           {16100, 21},
		storagemigrationv1.SchemeGroupVersion:      {15800, 15},
	}
}

// priorities returns the priorities of what this server serves.
func (a *assembly) priorities() map[schema.GroupVersion]priority {
	all := priorities()
	if a.options.Metrics != nil {
		all[metricsv1beta1.SchemeGroupVersion] = priority{100, 100} // as metrics-server registers itself
	}
	return all
}

// registrationPriority mirrors APIRegistrationGroupPriority of
// k8s.io/kube-aggregator/pkg/apiserver/handler_discovery.go.
const registrationPriority = 20001

// setPriorities sets the priorities of all but custom resources, which upstream's controller of their discovery sets.
func setPriorities(manager aggregated.ResourceManager, all map[schema.GroupVersion]priority) {
	// The aggregation layer puts its own group first; it has no APIService.
	manager.SetGroupVersionPriority(metav1.GroupVersion(apiregistrationv1.SchemeGroupVersion), registrationPriority, 0)
	for gv, p := range all {
		manager.SetGroupVersionPriority(metav1.GroupVersion(gv), int(p.group), int(p.version))
	}
}
