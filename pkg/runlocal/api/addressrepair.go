package api

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator/controller"
)

// repairInterval is how often every Service is looked at again, repairLoopInterval of k8s.io/kubernetes/pkg/controlplane/instance.go:
// that the object of an address was deleted is seen only then, or when its Service changes.
const repairInterval = 3 * time.Minute

// repairPause is how long after a controller that gave up the next one begins.
const repairPause = time.Second

// repairAddresses keeps an IPAddress object for every address of a Service and none besides, by upstream's controller, until
// ctx ends. It calls repaired once, when all have been looked at for the first time. A controller whose first look fails ends, and
// with it a kube-apiserver: here another one begins.
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

// repairAddressesOnce runs a controller until it gives up or ctx ends. It is made here, for only running it ends the goroutines of its
// queues.
func (a *assembly) repairAddressesOnce(ctx context.Context, repaired func()) {
	factory := ownInformers(a.client, repairInterval)
	defer factory.Shutdown()
	ctx, cancel := context.WithCancel(ctx) // ends the informers
	defer cancel()
	networking := factory.Networking().V1()
	repair := controller.NewRepairIPAddress(
		repairInterval, a.client, factory.Core().V1().Services(), networking.ServiceCIDRs(), networking.IPAddresses())
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx) // the controller would look every 100 ms whether they have synced
	stop := make(chan struct{})
	context.AfterFunc(ctx, func() { close(stop) })
	repair.RunUntil(repaired, stop)
}

// ownInformers are for a controller that starts late: while those that the server shares are not filled, /readyz does not
// say ok, which it may have said before. They tell all again after each resync, 0 for never.
func ownInformers(client kubernetes.Interface, resync time.Duration) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactory(client, resync)
}
