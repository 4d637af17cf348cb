package api

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// defaultAccount is the name of the ServiceAccount that every namespace has.
const defaultAccount = "default"

// defaultAccounts is a controller that creates the ServiceAccount default in every namespace, and again when it is
// deleted. It is for servers without the controller of pkg/controller/serviceaccount.
type defaultAccounts struct {
	client kubernetes.Interface
	queue  workqueue.TypedRateLimitingInterface[string] // names of namespaces
}

// newDefaultAccounts adds handlers to the informers of factory, which the caller must start.
func newDefaultAccounts(
	ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory,
) (*defaultAccounts, error) {
	d := &defaultAccounts{
		client: client,
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	context.AfterFunc(ctx, d.queue.ShutDown) // also if it is never run
	core := factory.Core().V1()
	if _, err := core.Namespaces().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if namespace, ok := obj.(*corev1.Namespace); ok {
				d.queue.Add(namespace.Name)
			}
		},
	}); err != nil {
		return nil, fmt.Errorf("listening to namespaces: %w", err)
	}
	if _, err := core.ServiceAccounts().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: func(obj any) {
			if key, err := cache.DeletionHandlingObjectToName(obj); err == nil && key.Name == defaultAccount {
				d.queue.Add(key.Namespace)
			}
		},
	}); err != nil {
		return nil, fmt.Errorf("listening to service accounts: %w", err)
	}
	return d, nil
}

// run processes namespaces until ctx ends.
func (d *defaultAccounts) run(ctx context.Context) {
	for d.next(ctx) {
	}
}

// next processes one namespace. It returns false when the queue is shut down.
func (d *defaultAccounts) next(ctx context.Context) bool {
	name, down := d.queue.Get()
	if down {
		return false
	}
	defer d.queue.Done(name)
	err := d.ensure(ctx, name)
	if err == nil || ctx.Err() != nil {
		d.queue.Forget(name)
		return true
	}
	utilruntime.HandleErrorWithContext(ctx, err, "Creating a default service account")
	d.queue.AddRateLimited(name)
	return true
}

// ensure creates the account unless the namespace does not exist or is terminating.
func (d *defaultAccounts) ensure(ctx context.Context, name string) error {
	namespace, err := d.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && namespace.Status.Phase == corev1.NamespaceTerminating {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading namespace %q: %w", name, err)
	}
	return createDefaultAccount(ctx, d.client, name)
}
