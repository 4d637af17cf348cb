package api

import (
	"context"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/util/flowcontrol"
)

// requestsAtOnce is the sum of kube-apiserver's defaults for --max-requests-inflight and --max-mutating-requests-inflight.
const requestsAtOnce = 600

// keepFlowSchemas runs upstream's configuration controller of priority and fairness until ctx ends, for the sake of what it writes:
// the status of flow schemas. Nothing asks it about requests, so it limits nobody. It begins when the default objects are there,
// which is after readiness, and so its informers cost a start no time.
func (a *assembly) keepFlowSchemas(ctx context.Context) {
	factory := a.ownInformers(0)
	defer factory.Shutdown()
	controller := flowcontrol.New(factory, a.client.FlowcontrolV1(), requestsAtOnce)
	factory.StartWithContext(ctx)
	if err := controller.Run(ctx.Done()); err != nil && ctx.Err() == nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Keeping the status of flow schemas")
	}
}
