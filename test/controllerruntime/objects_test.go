package controllerruntime

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/controllerruntime/website"
)

// namespace is where the tests work: each has an API server to itself.
const namespace = "default"

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, website.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// newClient makes a client that reads from the server, not from a cache.
func newClient(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(config, client.Options{Scheme: newScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newSite(name string) *website.Website {
	return &website.Website{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec:       website.Spec{Host: name + ".example.com", Content: "files"},
	}
}

func newContent(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Data:       map[string]string{"index.html": "hello"},
	}
}

func create(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatalf("creating %T %q: %v", obj, obj.GetName(), err)
		}
	}
}

func get(t *testing.T, c client.Reader, obj client.Object) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatalf("reading %T %q: %v", obj, obj.GetName(), err)
	}
}

// update reads obj, lets mutate change it, and writes it, again if another client was faster.
func update(t *testing.T, c client.Client, obj client.Object, mutate func()) {
	t.Helper()
	write(t, c, obj, mutate, func() error { return c.Update(t.Context(), obj) })
}

// updateStatus is update for the status.
func updateStatus(t *testing.T, c client.Client, obj client.Object, mutate func()) {
	t.Helper()
	write(t, c, obj, mutate, func() error { return c.Status().Update(t.Context(), obj) })
}

func write(t *testing.T, c client.Reader, obj client.Object, mutate func(), send func() error) {
	t.Helper()
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		mutate()
		return send()
	}); err != nil {
		t.Fatalf("updating %T %q: %v", obj, obj.GetName(), err)
	}
}

// eventually waits until check returns nil. If it never does, the test fails with its last error.
func eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	var missing error
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		missing = check(ctx)
		return missing == nil, nil
	})
	if err != nil {
		t.Fatalf("%v: %v", err, missing)
	}
}

// eventuallyObject reads obj until check is satisfied with it.
func eventuallyObject[T client.Object](t *testing.T, c client.Reader, obj T, check func(T) error) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		return check(obj)
	})
}

// eventuallyGone reads obj until it is not there.
func eventuallyGone(t *testing.T, c client.Reader, obj client.Object) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if err == nil {
			return fmt.Errorf("%T %q is there", obj, obj.GetName())
		}
		return client.IgnoreNotFound(err)
	})
}

// wantReady says what is missing until the condition Ready has the reason, for the current generation.
func wantReady(reason string) func(*website.Website) error {
	return func(site *website.Website) error {
		for _, c := range site.Status.Conditions {
			if c.Type == website.Ready && c.Reason == reason && c.ObservedGeneration == site.Generation {
				return nil
			}
		}
		return fmt.Errorf("website %q at generation %d is not Ready for the reason %s: %+v", site.Name, site.Generation, reason, site.Status)
	}
}
