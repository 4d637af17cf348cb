package api

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator/controller"
)

// repairAddresses keeps an IPAddress object for every address of a Service and none besides, by upstream's controller, until
// ctx ends. Its informers tell nothing again from time to time, as kube-apiserver's do every three minutes: no event gets
// lost on the way from a store in the same process. The controller is made here, for only running it ends the goroutines of
// its queues.
func (a *assembly) repairAddresses(ctx context.Context) {
	const resync = 0
	factory := a.ownInformers()
	defer factory.Shutdown()
	networking := factory.Networking().V1()
	repair := controller.NewRepairIPAddress(
		resync, a.client, factory.Core().V1().Services(), networking.ServiceCIDRs(), networking.IPAddresses())
	factory.StartWithContext(ctx)
	stop := make(chan struct{})
	context.AfterFunc(ctx, func() { close(stop) })
	repair.RunUntil(func() {}, stop)
}

// ownInformers are for a controller that starts late: while those that the server shares are not filled, /readyz does not
// say ok, which it may have said before.
func (a *assembly) ownInformers() informers.SharedInformerFactory {
	return informers.NewSharedInformerFactory(a.client, 0)
}
