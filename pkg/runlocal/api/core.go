package api

import (
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/kubernetes"
	kubeletclient "k8s.io/kubernetes/pkg/kubelet/client"
	"k8s.io/kubernetes/pkg/probe"
	"k8s.io/kubernetes/pkg/registry/core/componentstatus"
	endpointsstore "k8s.io/kubernetes/pkg/registry/core/endpoint/storage"
	limitrangestore "k8s.io/kubernetes/pkg/registry/core/limitrange/storage"
	nodestore "k8s.io/kubernetes/pkg/registry/core/node/storage"
	volumestore "k8s.io/kubernetes/pkg/registry/core/persistentvolume/storage"
	claimstore "k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim/storage"
	podstore "k8s.io/kubernetes/pkg/registry/core/pod/storage"
	podtemplatestore "k8s.io/kubernetes/pkg/registry/core/podtemplate/storage"
	rcstore "k8s.io/kubernetes/pkg/registry/core/replicationcontroller/storage"
	corerest "k8s.io/kubernetes/pkg/registry/core/rest"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
	servicestore "k8s.io/kubernetes/pkg/registry/core/service/storage"
	serviceaccountstore "k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api/memstore"
)

// Kube-apiserver's defaults, which kubeadm's match: services get addresses of serviceRange and ports of nodePorts.
const (
	serviceRange  = "10.96.0.0/12"
	nodePortBase  = 30000
	nodePortCount = 2768
)

// coreProvider assembles core/v1. Upstream's corerest.New opens an etcd client for its allocators, so that half is done
// here, with node ports in memory; the other half, corerest.GenericConfig, is upstream's.
type coreProvider struct {
	corerest.GenericConfig
	authorizer authorizer.Authorizer
	client     kubernetes.Interface
	slices     proxy.EndpointSliceGetter
	components func() map[string]componentstatus.Server
	// serviceRanges are assembly.serviceRanges, ports those that Services may have on nodes, and nodePorts those of
	// them that are taken already.
	serviceRanges []string
	ports         utilnet.PortRange
	nodePorts     []int32
	// inMemory is set if the allocator of addresses must not need objects; clusterIPs are taken then.
	inMemory   bool
	clusterIPs []string
}

func (a *assembly) coreProvider() *coreProvider {
	p := &coreProvider{
		GenericConfig: corerest.GenericConfig{
			EventTTL:              a.eventTTL(),
			ServiceAccountIssuer:  a.auth.issuer,
			ExtendExpiration:      true,
			MaxExtendedExpiration: maxExtendedExpiration,
			APIAudiences:          a.auth.audiences,
			LoopbackClientConfig:  a.loopback,
			Informers:             a.informers,
		},
		authorizer: a.auth.authorizer,
		client:     a.client,
		slices:     a.endpointSlices,

		serviceRanges: a.serviceRanges, nodePorts: nodePorts(a.options.Objects),
		ports:    utilnet.PortRange{Base: nodePortBase, Size: nodePortCount},
		inMemory: a.recorded != nil, clusterIPs: clusterIPs(a.options.Objects),
		components: func() map[string]componentstatus.Server {
			return components(a.options.Components, a.backend.store)
		},
	}
	if line := a.options.CommandLine; line != nil {
		accounts := line.Authentication.ServiceAccounts
		p.ports = line.ServiceNodePortRange
		p.ExtendExpiration, p.MaxExtendedExpiration = accounts.ExtendExpiration, accounts.MaxExtendedExpiration
		p.ServiceAccountMaxExpiration = line.ServiceAccountTokenMaxExpiration
	}
	return p
}

// NewRESTStorage mirrors legacyProvider.NewRESTStorage of k8s.io/kubernetes/pkg/registry/core/rest/storage_core.go.
func (p *coreProvider) NewRESTStorage(
	served serverstorage.APIResourceConfigSource, getter generic.RESTOptionsGetter,
) (genericapiserver.APIGroupInfo, error) {
	info, err := p.GenericConfig.NewRESTStorage(served, getter)
	if err != nil {
		return info, err
	}
	storage := info.VersionedResourcesStorageMap[corev1.SchemeGroupVersion.Version]
	nodes, err := p.nodes(getter, storage)
	if err != nil {
		return info, err
	}
	pods, err := p.pods(getter, nodes, storage)
	if err != nil {
		return info, err
	}
	for _, add := range []func() error{
		func() error { return p.services(getter, pods, storage) },
		func() error { return p.serviceAccounts(getter, pods, nodes, storage) },
		func() error { return volumes(getter, storage) },
		func() error { return simpleResources(getter, storage) },
		func() error { return replicationControllers(getter, storage) },
	} {
		if err := add(); err != nil {
			return info, err
		}
	}
	storage["componentstatuses"] = componentstatus.NewStorage(p.components)
	return info, nil
}

func (p *coreProvider) nodes(
	getter generic.RESTOptionsGetter, storage map[string]rest.Storage,
) (*nodestore.NodeStorage, error) {
	kubelet := kubeletclient.KubeletClientConfig{PreferredAddressTypes: []string{string(corev1.NodeInternalIP)}}
	nodes, err := nodestore.NewStorage(getter, kubelet, noNetwork())
	if err != nil {
		return nil, fmt.Errorf("building the storage of nodes: %w", err)
	}
	nodes.Proxy.Connection = noKubelet{nodes.KubeletConnectionInfo}
	storage["nodes"], storage["nodes/status"], storage["nodes/proxy"] = nodes.Node, nodes.Status, nodes.Proxy
	return nodes, nil
}

func (p *coreProvider) pods(
	getter generic.RESTOptionsGetter, nodes *nodestore.NodeStorage, storage map[string]rest.Storage,
) (podstore.PodStorage, error) {
	pods, err := podstore.NewStorage(getter, noKubelet{nodes.KubeletConnectionInfo}, noNetwork(), p.client.PolicyV1(),
		p.authorizer)
	if err != nil {
		return pods, fmt.Errorf("building the storage of pods: %w", err)
	}
	maps.Copy(storage, map[string]rest.Storage{
		"pods": pods.Pod, "pods/status": pods.Status, "pods/binding": pods.Binding, "pods/eviction": pods.Eviction,
		"pods/ephemeralcontainers": pods.EphemeralContainers, "pods/resize": pods.Resize,
		"pods/log": pods.Log, "pods/exec": pods.Exec, "pods/attach": pods.Attach, "pods/portforward": pods.PortForward,
		"pods/proxy": pods.Proxy, "bindings": pods.LegacyBinding,
	})
	return pods, nil
}

func (p *coreProvider) services(
	getter generic.RESTOptionsGetter, pods podstore.PodStorage, storage map[string]rest.Storage,
) error {
	addresses := p.serviceAddresses
	if p.inMemory {
		addresses = p.memoryAddresses
	}
	ips, primary, err := addresses()
	if err != nil {
		return fmt.Errorf("building the allocator of cluster addresses: %w", err)
	}
	ports, err := portallocator.NewInMemory(p.ports)
	if err != nil {
		return fmt.Errorf("building the allocator of node ports: %w", err)
	}
	ports.EnableMetrics()
	for _, port := range p.nodePorts {
		_ = ports.Allocate(int(port)) // of a range that is the cluster's, not this one
	}
	service, status, proxied, err := servicestore.NewREST(getter, primary, ips, ports, p.slices, pods.Pod, noNetwork())
	if err != nil {
		return fmt.Errorf("building the storage of services: %w", err)
	}
	storage["services"], storage["services/status"], storage["services/proxy"] = service, status, proxied
	return nil
}

// serviceAccounts replaces GenericConfig's storage, which cannot bind a token to a pod or a node.
func (p *coreProvider) serviceAccounts(
	getter generic.RESTOptionsGetter, pods podstore.PodStorage, nodes *nodestore.NodeStorage,
	storage map[string]rest.Storage,
) error {
	secrets, ok := storage["secrets"].(rest.Getter)
	if !ok {
		return fmt.Errorf("building the storage of service accounts: secrets are served by %T", storage["secrets"])
	}
	if replaced := storage["serviceaccounts"]; replaced != nil {
		replaced.Destroy() // or its goroutine that counts objects never ends
	}
	webhooks := p.client.AdmissionregistrationV1()
	accounts, err := serviceaccountstore.NewREST(getter, p.ServiceAccountIssuer, p.APIAudiences, p.authorizer,
		p.ServiceAccountMaxExpiration,
		pods.Pod.Store, secrets, nodes.Node.Store,
		webhooks.ValidatingWebhookConfigurations(), webhooks.MutatingWebhookConfigurations(),
		p.ExtendExpiration, p.MaxExtendedExpiration)
	if err != nil {
		return fmt.Errorf("building the storage of service accounts: %w", err)
	}
	storage["serviceaccounts"] = accounts
	if accounts.Token != nil { // else nothing signs tokens
		storage["serviceaccounts/token"] = accounts.Token
	}
	return nil
}

func volumes(getter generic.RESTOptionsGetter, storage map[string]rest.Storage) error {
	volume, volumeStatus, err := volumestore.NewREST(getter)
	if err != nil {
		return fmt.Errorf("building the storage of volumes: %w", err)
	}
	claim, claimStatus, err := claimstore.NewREST(getter)
	if err != nil {
		return fmt.Errorf("building the storage of volume claims: %w", err)
	}
	storage["persistentvolumes"], storage["persistentvolumes/status"] = volume, volumeStatus
	storage["persistentvolumeclaims"], storage["persistentvolumeclaims/status"] = claim, claimStatus
	return nil
}

// simpleResources adds resources without subresources.
func simpleResources(getter generic.RESTOptionsGetter, storage map[string]rest.Storage) error {
	templates, err := podtemplatestore.NewREST(getter)
	if err != nil {
		return fmt.Errorf("building the storage of pod templates: %w", err)
	}
	limits, err := limitrangestore.NewREST(getter)
	if err != nil {
		return fmt.Errorf("building the storage of limit ranges: %w", err)
	}
	endpoints, err := endpointsstore.NewREST(getter)
	if err != nil {
		return fmt.Errorf("building the storage of endpoints: %w", err)
	}
	storage["podtemplates"], storage["limitranges"], storage["endpoints"] = templates, limits, endpoints
	return nil
}

func replicationControllers(getter generic.RESTOptionsGetter, storage map[string]rest.Storage) error {
	rc, err := rcstore.NewStorage(getter)
	if err != nil {
		return fmt.Errorf("building the storage of replication controllers: %w", err)
	}
	storage["replicationcontrollers"] = rc.Controller
	storage["replicationcontrollers/status"] = rc.Status
	storage["replicationcontrollers/scale"] = rc.Scale
	return nil
}

// The components whose health componentstatuses has, by upstream's names.
const (
	ComponentControllerManager = "controller-manager"
	ComponentScheduler         = "scheduler"
	componentStorage           = "etcd-0"
)

// errNotRunning is the health of a component that is not in Options.Components.
var errNotRunning = errors.New("it is not running")

// components returns all that componentstatuses lists. It mirrors componentStatusStorage.serversToValidate of
// k8s.io/kubernetes/pkg/registry/core/rest/storage_core.go. Upstream requests /healthz at fixed ports of the machine,
// which would be those of another control plane than this one.
func components(given map[string]func() error, store *memstore.Store) map[string]componentstatus.Server {
	all := map[string]func() error{
		ComponentControllerManager: func() error { return errNotRunning },
		ComponentScheduler:         func() error { return errNotRunning },
		componentStorage:           store.Ready,
	}
	maps.Copy(all, given)
	servers := make(map[string]componentstatus.Server, len(all))
	for name, check := range all {
		servers[name] = component(check)
	}
	return servers
}

// component is the health of a component in this process.
type component func() error

var _ componentstatus.Server = component(nil)

// DoServerCheck implements componentstatus.Server.
func (check component) DoServerCheck() (probe.Result, string, error) {
	if err := check(); err != nil {
		return probe.Failure, err.Error(), nil //nolint:nilerr // The error is that of the component, not of the check.
	}
	return probe.Success, "ok", nil
}
