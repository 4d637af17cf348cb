package api

import (
	"context"
	"net/http"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	flowcontrolrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

const (
	// requestsAtOnce is the sum of kube-apiserver's defaults for --max-requests-inflight and
	// --max-mutating-requests-inflight.
	requestsAtOnce = 600
	// countInterval is kube-apiserver's default --etcd-count-metric-poll-period: how often the objects of each resource
	// are counted. What a list costs is estimated by it.
	countInterval = time.Minute
)

// flowControl is API priority and fairness: it decides which requests are served, queued and rejected, and keeps the
// status of flow schemas. Requests of system:masters, the administrator's among them, are exempt.
type flowControl struct {
	flowcontrol.Interface
	informers informers.SharedInformerFactory // of flow schemas and levels
}

// newFlowControl returns a flowControl that must be run, since only running it ends the goroutines of its queue.
func newFlowControl(client kubernetes.Interface, atOnce int) *flowControl {
	factory := newInformerFactory(client, 0)
	return &flowControl{flowcontrol.New(factory, client.FlowcontrolV1(), atOnce), factory}
}

// run applies the flow schemas and priority levels of the API until ctx ends. It starts when ready returns, which waits
// until the default ones exist; until then the mandatory ones are in force, which upstream's code contains.
func (f *flowControl) run(ctx context.Context, ready func(context.Context) error) {
	if ready(ctx) == nil {
		f.informers.StartWithContext(ctx)
		defer f.informers.Shutdown()
		f.informers.WaitForCacheSyncWithContext(ctx) // otherwise upstream polls every 100 ms whether they have synced
	}
	if err := f.Run(ctx.Done()); err != nil && ctx.Err() == nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Following the flow schemas")
	}
}

// withFlowControl adds the filter of c.FlowControl to h. It mirrors DefaultBuildHandlerChain of
// k8s.io/apiserver/pkg/server/config.go.
func withFlowControl(h http.Handler, c *genericapiserver.Config) http.Handler {
	estimate := flowcontrolrequest.NewWorkEstimator(c.StorageObjectCountTracker.Get,
		c.FlowControl.GetInterestedWatchCount,
		flowcontrolrequest.DefaultWorkEstimatorConfig(), c.FlowControl.GetMaxSeats)
	return serverfilters.WithPriorityAndFairness(h, c.LongRunningFunc, c.FlowControl, estimate, c.RequestTimeout/4)
}
