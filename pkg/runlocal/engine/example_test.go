package engine_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
)

// A controller that reconciles a ReplicaSet whenever one of its pods changes.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	// Informers mostly come from a factory; this one reads from a list made by hand.
	pods := cachetesting.NewFakeControllerSource()
	pods.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-x",
		Labels: map[string]string{"app": "web"}}})
	informer := cache.NewSharedIndexInformer(pods, &corev1.Pod{}, 0, cache.Indexers{})

	reconciled := make(chan engine.Request)
	c, err := engine.New(engine.Options{
		Name: "replicas",
		Reconciler: engine.Func(func(_ context.Context, r engine.Request) (engine.Result, error) {
			reconciled <- r
			return engine.Result{}, nil
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	byApp := func(e engine.Event) []engine.Request {
		o := e.Object()
		return []engine.Request{{Namespace: o.GetNamespace(), Name: o.GetLabels()["app"]}}
	}
	if err := c.Watch(ctx, informer, byApp, 0); err != nil {
		fmt.Println(err)
		return
	}
	informed := make(chan struct{})
	go func() {
		defer close(informed)
		informer.RunWithContext(ctx)
	}()
	if err := c.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-reconciled)

	c.Stop()
	fmt.Println("stopped:", c.Wait())
	cancel()
	<-informed
	pods.Shutdown()
	// Output:
	// default/web
	// stopped: <nil>
}
