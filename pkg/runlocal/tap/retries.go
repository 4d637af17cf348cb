package tap

import "k8s.io/client-go/util/workqueue"

// retriesOf takes the counter behind workqueue_retries_total out of client-go's delaying queue (util/workqueue's
// delaying_queue.go and metrics.go): delays do not reach that queue here. It is nil if q has no name and counts nothing, or
// keeps it elsewhere.
func retriesOf[K comparable](q workqueue.TypedRateLimitingInterface[K]) workqueue.CounterMetric {
	counter, err := privateField[workqueue.CounterMetric](q, "TypedDelayingInterface.metrics.retries")
	if err != nil {
		return nil
	}
	return *counter
}

// countRetry counts as client-go does: every addition that goes by way of a delay, however short.
func (q *queue[K]) countRetry() {
	if q.retries != nil && !q.ShuttingDown() {
		q.retries.Inc()
	}
}
