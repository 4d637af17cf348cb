package api

import (
	"context"
	"fmt"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	applynetworkingv1 "k8s.io/client-go/applyconfigurations/networking/v1"
	"k8s.io/client-go/informers"
	networkinginformers "k8s.io/client-go/informers/networking/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator/controller"
	netutils "k8s.io/utils/net"
)

const (
	// defaultServiceCIDR and serviceCIDRManager are DefaultServiceCIDRName and controllerName of
	// pkg/controlplane/controller/defaultservicecidr, which polls and so is not run here.
	defaultServiceCIDR = "kubernetes"
	serviceCIDRManager = "kubernetes-service-cidr-controller"

	// allocatorPollInterval is the time between two tries to create the first Service, until the allocator has received
	// the range of addresses.
	allocatorPollInterval = time.Millisecond
	// allocatorTimeout is how long it is tried.
	allocatorTimeout = 10 * time.Second
)

// serviceAddresses returns upstream's allocators of cluster addresses, one for each family of the service ranges, and
// the primary family: a Service's address is an IPAddress object, and ranges are ServiceCIDR objects. They run until
// the storage of services is destroyed.
func (p *coreProvider) serviceAddresses() (map[core.IPFamily]ipallocator.Interface, core.IPFamily, error) {
	networking := p.Informers.Networking().V1()
	allocators := map[core.IPFamily]ipallocator.Interface{}
	for _, text := range p.serviceRanges {
		allocator, err := ipallocator.NewMetaAllocator(p.client.NetworkingV1(), serviceCIDRs{networking.ServiceCIDRs()},
			networking.IPAddresses(), familyOf(text) == core.IPv6Protocol, nil)
		if err != nil {
			return nil, "", err
		}
		allocator.EnableMetrics()
		allocators[familyOf(text)] = allocator
	}
	return allocators, familyOf(p.serviceRanges[0]), nil
}

// familyOf returns the family of the addresses of a range.
func familyOf(cidr string) core.IPFamily {
	if netutils.IsIPv6CIDRString(cidr) {
		return core.IPv6Protocol
	}
	return core.IPv4Protocol
}

// serviceCIDRs is an informer that reports at once that it has synced. The allocator polls its two informers every 100
// ms before it handles ranges, which would delay the first Service, and with it readiness. It need not wait for ranges,
// for it handles their events. It still waits for the other informer before it allocates an address.
type serviceCIDRs struct {
	networkinginformers.ServiceCIDRInformer
}

// Informer returns the shared informer, which reports that it has synced.
func (s serviceCIDRs) Informer() cache.SharedIndexInformer {
	return syncedInformer{s.ServiceCIDRInformer.Informer()}
}

// syncedInformer is an informer whose HasSynced is always true.
type syncedInformer struct{ cache.SharedIndexInformer }

// HasSynced implements cache.SharedIndexInformer. It is always true.
func (syncedInformer) HasSynced() bool { return true }

// createServiceRange creates the default range of cluster addresses, unless the server begins with ranges. It mirrors
// Controller.sync and Controller.syncStatus of
// k8s.io/kubernetes/pkg/controlplane/controller/defaultservicecidr/default_servicecidr_controller.go.
func (a *assembly) createServiceRange(ctx context.Context) error {
	if a.serviceRangesGiven {
		return nil
	}
	ranges := a.client.NetworkingV1().ServiceCIDRs()
	_, err := ranges.Create(ctx, &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: defaultServiceCIDR},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: a.serviceRanges},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating service range %q: %w", defaultServiceCIDR, err)
	}
	status := applynetworkingv1.ServiceCIDRStatus().WithConditions(applymetav1.Condition().
		WithType(networkingv1.ServiceCIDRConditionReady).
		WithStatus(metav1.ConditionTrue).
		WithMessage("Kubernetes default Service CIDR is ready").
		WithLastTransitionTime(metav1.Now()))
	apply := applynetworkingv1.ServiceCIDR(defaultServiceCIDR).WithStatus(status)
	if _, err := ranges.ApplyStatus(ctx, apply,
		metav1.ApplyOptions{FieldManager: serviceCIDRManager, Force: true}); err != nil {
		return fmt.Errorf("declaring service range %q ready: %w", defaultServiceCIDR, err)
	}
	return nil
}

// retryUntilAddressable calls create, which creates a Service, until the allocator knows the range of its address.
// Upstream retries every 100 ms.
func retryUntilAddressable(ctx context.Context, create func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, allocatorPollInterval, allocatorTimeout, true,
		func(ctx context.Context) (bool, error) {
			last = create(ctx)
			if apierrors.IsInvalid(last) {
				return false, nil
			}
			return true, last
		})
	if wait.Interrupted(err) && last != nil {
		return last
	}
	return err
}

// repairInterval is how often all Services are checked. It mirrors repairLoopInterval of
// k8s.io/kubernetes/pkg/controlplane/instance.go. Only then, or when the Service changes, is an IPAddress created again
// that was deleted.
const repairInterval = 3 * time.Minute

// repairPause is the time between the end of a failed repair controller and the start of the next.
const repairPause = time.Second

// repairAddresses runs upstream's controller that keeps exactly one IPAddress object for every address of a Service,
// until ctx ends. It calls repaired once, when the first check is complete. A controller whose first check fails ends,
// and with it a kube-apiserver: here another one is started.
func (a *assembly) repairAddresses(ctx context.Context, repaired func()) {
	repaired = sync.OnceFunc(repaired)
	for ctx.Err() == nil {
		a.repairAddressesOnce(ctx, repaired)
		select {
		case <-ctx.Done():
		case <-time.After(repairPause):
		}
	}
}

// repairAddressesOnce runs a controller until it fails or ctx ends. It also creates it, since only running it ends the
// goroutines of its queues.
func (a *assembly) repairAddressesOnce(ctx context.Context, repaired func()) {
	factory := newInformerFactory(a.client, repairInterval)
	defer factory.Shutdown()
	ctx, cancel := context.WithCancel(ctx) // ends the informers
	defer cancel()
	networking := factory.Networking().V1()
	repair := controller.NewRepairIPAddress(
		repairInterval, a.client, factory.Core().V1().Services(), networking.ServiceCIDRs(), networking.IPAddresses())
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx) // otherwise the controller polls every 100 ms whether they have synced
	stop := make(chan struct{})
	context.AfterFunc(ctx, func() { close(stop) })
	repair.RunUntil(repaired, stop)
}

// newInformerFactory returns a separate factory for a controller that is started late. Its informers must not be added
// to the factory that the server shares: /readyz, which may have said ok before, would fail until they have synced. A
// resync of 0 means never.
func newInformerFactory(client kubernetes.Interface, resync time.Duration) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactory(client, resync)
}
