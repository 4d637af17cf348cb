package api

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	schedulingapiv1 "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/pkg/controlplane/controller/clusterauthenticationtrust"
	netutils "k8s.io/utils/net"
)

const (
	kubernetesService = "kubernetes"
	httpsPort         = 443
	// unroutable is the address in the endpoints of the Service kubernetes if the server's address cannot be: endpoints
	// must not have a loopback address. It is reserved for documentation (RFC 5737), so nothing answers there.
	unroutable = "192.0.2.1"
)

// systemNamespaces returns the namespaces that a kube-apiserver creates.
func systemNamespaces() []string {
	return []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}
}

// createSystemObjects creates the objects that a kube-apiserver has when it is ready, and, unless
// Options.NoDefaultAccounts is set, the ServiceAccount default of its namespaces, which a cluster gets from the
// serviceaccount controller. Upstream creates them in controllers that poll; here it is done once. What the server
// begins with is left as it is.
func (a *assembly) createSystemObjects(ctx context.Context) error {
	client := a.client
	if err := a.createServiceRange(ctx); err != nil {
		return err
	}
	for _, name := range systemNamespaces() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		if unlessExists(err) != nil {
			return fmt.Errorf("creating namespace %q: %w", name, err)
		}
		if a.options.NoDefaultAccounts {
			continue
		}
		if err := createDefaultAccount(ctx, client, name); err != nil {
			return err
		}
	}
	_, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Create(ctx, tokenTrackingConfigMap(),
		metav1.CreateOptions{})
	if unlessExists(err) != nil {
		return fmt.Errorf("creating the config map of token tracking: %w", err)
	}
	for _, class := range schedulingapiv1.SystemPriorityClasses() {
		_, err := client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
		if unlessExists(err) != nil {
			return fmt.Errorf("creating priority class %q: %w", class.Name, err)
		}
	}
	return a.createKubernetesService(ctx)
}

// unlessExists returns err, or nil if it is that of an object that is there already.
func unlessExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// publishAuthorities runs upstream's controller of the ConfigMap extension-apiserver-authentication, from which other
// API servers read whose client certificates to accept, until ctx ends. It calls started when the controller runs.
// A server that begins with the objects of a cluster leaves that alone: the authorities are not the cluster's.
func (a *assembly) publishAuthorities(ctx context.Context, started func()) {
	if a.copied {
		started()
		return
	}
	info := clusterauthenticationtrust.ClusterAuthenticationInfo{ClientCA: a.auth.clientCA}
	publisher := clusterauthenticationtrust.NewClusterAuthenticationTrustController(info, a.client)
	started()
	publisher.Run(ctx, 1)
}

// createDefaultAccount creates the ServiceAccount default of a namespace unless it exists.
func createDefaultAccount(ctx context.Context, client kubernetes.Interface, namespace string) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: defaultAccount, Namespace: namespace}}
	_, err := client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
	if unlessExists(err) != nil {
		return fmt.Errorf("creating service account %q in %q: %w", account.Name, namespace, err)
	}
	return nil
}

// createKubernetesService creates the Service kubernetes with its endpoints. It mirrors
// Controller.CreateOrUpdateMasterServiceIfNeeded of
// k8s.io/kubernetes/pkg/controlplane/controller/kubernetesservice/controller.go, and endpointSliceFromEndpoints and
// setSkipMirrorTrue of k8s.io/kubernetes/pkg/controlplane/reconcilers/endpointsadapter.go: the Service kubernetes has
// the first address of the range, its Endpoints and its EndpointSlice have the server's. What exists is left as it is.
func (a *assembly) createKubernetesService(ctx context.Context) error {
	client := a.client
	host, port, err := endpointOf(a.advertised)
	if err != nil {
		return err
	}
	service, err := a.kubernetesServiceObject(port)
	if err != nil {
		return err
	}
	err = retryUntilAddressable(ctx, func(ctx context.Context) error {
		// One that exists has the address, so that creating it would fail by the address.
		services := client.CoreV1().Services(service.Namespace)
		if _, err := services.Get(ctx, service.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		_, err := services.Create(ctx, service, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("creating service %q: %w", kubernetesService, err)
	}
	name, protocol := "https", corev1.ProtocolTCP
	endpoints := &corev1.Endpoints{ //nolint:staticcheck // SA1019: kube-apiserver makes this one object still.
		ObjectMeta: metav1.ObjectMeta{Name: kubernetesService,
			Labels: map[string]string{discoveryv1.LabelSkipMirror: "true"}},
		Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // as above
			Addresses: []corev1.EndpointAddress{{IP: host}},
			Ports:     []corev1.EndpointPort{{Name: name, Port: port, Protocol: protocol}},
		}},
	}
	_, err = client.CoreV1().Endpoints(metav1.NamespaceDefault).Create(ctx, endpoints, metav1.CreateOptions{})
	if unlessExists(err) != nil {
		return fmt.Errorf("creating endpoints %q: %w", kubernetesService, err)
	}
	ready := true
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: kubernetesService,
			Labels: map[string]string{discoveryv1.LabelServiceName: kubernetesService}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{host},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}},
	}
	if netutils.IsIPv6String(host) {
		slice.AddressType = discoveryv1.AddressTypeIPv6
	}
	_, err = client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Create(ctx, slice, metav1.CreateOptions{})
	if unlessExists(err) != nil {
		return fmt.Errorf("creating endpoint slice %q: %w", kubernetesService, err)
	}
	return nil
}

// kubernetesServiceObject returns the Service kubernetes, at the first address of the service range.
func (a *assembly) kubernetesServiceObject(port int32) (*corev1.Service, error) {
	_, addresses, err := net.ParseCIDR(a.serviceRanges[0])
	if err != nil {
		return nil, err
	}
	first, err := netutils.GetIndexedIP(addresses, 1)
	if err != nil {
		return nil, fmt.Errorf("finding the first service address: %w", err)
	}
	single := corev1.IPFamilyPolicySingleStack
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:      kubernetesService,
			Namespace: metav1.NamespaceDefault,
			Labels:    map[string]string{"provider": "kubernetes", "component": "apiserver"},
		},
		Spec: corev1.ServiceSpec{
			Ports: []corev1.ServicePort{{Name: "https", Protocol: corev1.ProtocolTCP, Port: httpsPort,
				TargetPort: intstr.FromInt32(port)}},
			ClusterIP:       first.String(),
			IPFamilyPolicy:  &single,
			SessionAffinity: corev1.ServiceAffinityNone,
			Type:            corev1.ServiceTypeClusterIP,
		},
	}, nil
}

// endpointOf splits address into what endpoints may have: a host that must not be a loopback address, and a port.
func endpointOf(address string) (host string, port int32, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("reading the server's address %q: %w", address, err)
	}
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return "", 0, fmt.Errorf("reading the port of the server's address %q: %w", address, err)
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() {
		host = unroutable
	}
	return host, int32(number), nil
}

// tokenTrackingConfigMap returns the ConfigMap that says since when the use of tokens in secrets is recorded, which
// upstream's authenticator does here too. It mirrors Controller.syncConfigMap of
// k8s.io/kubernetes/pkg/controlplane/controller/legacytokentracking/controller.go.
func tokenTrackingConfigMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver-legacy-service-account-token-tracking"},
		Data:       map[string]string{"since": time.Now().UTC().Format(time.DateOnly)},
	}
}
