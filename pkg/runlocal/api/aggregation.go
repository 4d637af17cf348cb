package api

import (
	"context"
	"fmt"
	"sync"

	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationhelper "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/kube-aggregator/pkg/client/informers/externalversions"
	"k8s.io/kube-aggregator/pkg/controllers/autoregister"
	localavailability "k8s.io/kube-aggregator/pkg/controllers/status/local"
	availabilitymetrics "k8s.io/kube-aggregator/pkg/controllers/status/metrics"
	apiservicestorage "k8s.io/kube-aggregator/pkg/registry/apiservice/etcd"
	"k8s.io/kubernetes/pkg/controlplane/controller/crdregistration"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api/memstore"
)

// apiServiceStorage is the RESTOptionsGetter of APIServices. It mirrors CreateAggregatorConfig of
// k8s.io/kubernetes/pkg/controlplane/apiserver/aggregator.go.
type apiServiceStorage struct {
	*backend
	codecs serializer.CodecFactory
}

var _ generic.RESTOptionsGetter = apiServiceStorage{}

// GetRESTOptions is called once, for apiservices.
func (g apiServiceStorage) GetRESTOptions(gr schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	version := apiregistrationv1.SchemeGroupVersion
	config := storagebackend.NewDefaultConfig(registryPrefix, g.codecs.LegacyCodec(version))
	config.EncodeVersioner = version
	return g.options(gr, resourceStorage{customPrefix(gr), memstore.Objects, config.ForResource(gr), false}), nil
}

// apiServiceGroup returns the API group apiregistration.k8s.io. It mirrors NewRESTStorage of
// k8s.io/kube-aggregator/pkg/registry/apiservice/rest/storage_apiservice.go.
func (a *assembly) apiServiceGroup() genericapiserver.APIGroupInfo {
	codecs := serializer.NewCodecFactory(a.apiServiceScheme)
	info := genericapiserver.NewDefaultAPIGroupInfo(apiregistration.GroupName, a.apiServiceScheme,
		metav1.ParameterCodec, codecs)
	services := apiservicestorage.NewREST(a.apiServiceScheme, apiServiceStorage{a.backend, codecs})
	info.VersionedResourcesStorageMap[apiregistrationv1.SchemeGroupVersion.Version] = map[string]rest.Storage{
		"apiservices": services, "apiservices/status": apiservicestorage.NewStatusREST(a.apiServiceScheme, services),
	}
	return info
}

// newScheme returns a scheme with the types that install adds and the unversioned types of requests and responses, as
// the scheme of k8s.io/kube-aggregator/pkg/apiserver has them after the package's init.
func newScheme(install func(*runtime.Scheme)) *runtime.Scheme {
	scheme := runtime.NewScheme()
	install(scheme)
	version := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, version)
	scheme.AddUnversionedTypes(version, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{},
		&metav1.APIGroup{}, &metav1.APIResourceList{})
	return scheme
}

// runAPIServiceControllers runs upstream's controllers that keep an APIService for every served version, custom
// resources included, until ctx ends. That is the part of the aggregation layer that concerns its own API server;
// requests for other API servers are not forwarded. It calls finish with the steps of the start that are done. It also
// creates the controllers, since only running them ends the goroutines of their queues.
func runAPIServiceControllers(ctx context.Context, loopback *restclient.Config,
	custom *apiextensionsserver.CustomResourceDefinitions,
	served map[schema.GroupVersion]priority, finish func(steps ...string),
) {
	r, err := newAPIServiceControllers(loopback, custom, served, func() { finish(stepRegistered) })
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Registering the API versions")
		return
	}
	r.run(ctx, finish)
}

// apiServiceControllers are the controllers of APIServices, with the informers that they need.
type apiServiceControllers struct {
	informers   externalversions.SharedInformerFactory
	controllers []interface {
		Run(workers int, stop <-chan struct{})
	}
}

// newAPIServiceControllers mirrors CreateAggregatorServer of
// k8s.io/kubernetes/pkg/controlplane/apiserver/aggregator.go. It calls available once, when the versions that are
// served have been found available.
func newAPIServiceControllers(loopback *restclient.Config, custom *apiextensionsserver.CustomResourceDefinitions,
	served map[schema.GroupVersion]priority, available func(),
) (*apiServiceControllers, error) {
	client, err := clientset.NewForConfig(loopback)
	if err != nil {
		return nil, fmt.Errorf("building the client of API services: %w", err)
	}
	r := &apiServiceControllers{informers: externalversions.NewSharedInformerFactory(client, 0)}
	services := r.informers.Apiregistration().V1().APIServices()
	builtIn := autoregister.NewAutoRegisterController(services, client.ApiregistrationV1())
	pending := sets.New[string]()
	for gv, p := range served {
		service := apiService(gv, p)
		builtIn.AddAPIServiceToSyncOnStart(service)
		pending.Insert(service.Name)
	}
	if err := onAllAvailable(services.Informer(), pending, available); err != nil {
		return nil, err
	}
	metrics, err := availabilityMetrics()
	if err != nil {
		return nil, err
	}
	local, err := localavailability.New(services, client.ApiregistrationV1(), metrics)
	if err != nil {
		return nil, fmt.Errorf("building the controller of API services: %w", err)
	}
	definitions := custom.Informers.Apiextensions().V1().CustomResourceDefinitions()
	registration := crdregistration.NewCRDRegistrationController(definitions, builtIn)
	r.controllers = append(r.controllers, builtIn, local, registration)
	return r, nil
}

// onAllAvailable calls available when each of the pending services has been available at least once, as upstream's
// health check autoregister-completion requires. It takes ownership of pending.
func onAllAvailable(services cache.SharedIndexInformer, pending sets.Set[string], available func()) error {
	see := func(obj any) {
		service, ok := obj.(*apiregistrationv1.APIService)
		if !ok || !pending.Has(service.Name) ||
			!apiregistrationhelper.IsAPIServiceConditionTrue(service, apiregistrationv1.Available) {
			return
		}
		if pending.Delete(service.Name); pending.Len() == 0 {
			available()
		}
	}
	_, err := services.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see,
		UpdateFunc: func(_, obj any) { see(obj) }})
	if err != nil {
		return fmt.Errorf("listening to API services: %w", err)
	}
	return nil
}

// availabilityMetrics returns the metrics that all servers of the process share, as they do upstream's other metrics.
var availabilityMetrics = sync.OnceValues(func() (*availabilitymetrics.Metrics, error) {
	m := availabilitymetrics.New()
	if err := m.Register(legacyregistry.Register, legacyregistry.CustomRegister); err != nil {
		return nil, fmt.Errorf("registering the metrics of API services: %w", err)
	}
	return m, nil
})

// apiService returns the APIService of a version that this server serves.
func apiService(gv schema.GroupVersion, p priority) *apiregistrationv1.APIService {
	service := &apiregistrationv1.APIService{Spec: apiregistrationv1.APIServiceSpec{
		Group: gv.Group, Version: gv.Version, GroupPriorityMinimum: p.group, VersionPriority: p.version,
	}}
	service.Name = gv.Version + "." + gv.Group
	return service
}

// run runs the controllers until ctx ends. The store starts empty, so there are no CustomResourceDefinitions that they
// would have to wait for.
func (r *apiServiceControllers) run(ctx context.Context, finish func(steps ...string)) {
	r.informers.StartWithContext(ctx)
	defer r.informers.Shutdown()
	r.informers.WaitForCacheSyncWithContext(ctx) // the controllers would look every 100 ms whether they have synced
	finish(stepRegistry)
	var running sync.WaitGroup
	for _, controller := range r.controllers {
		running.Go(func() { controller.Run(1, ctx.Done()) })
	}
	finish(stepAvailability, stepRegistration)
	running.Wait()
}
