package load

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"golang.org/x/sync/errgroup"
)

// A family is a Deployment with all that it owns.
const (
	oldReplicaSets = 10 // scaled to 0, as many as a Deployment keeps by default
	pods           = 10 // of the ReplicaSet that is not old
	// FamilySize is how many objects a Deployment, its ReplicaSets and its pods are.
	FamilySize = 1 + oldReplicaSets + 1 + pods
)

// Options say how much there shall be.
type Options struct {
	// Objects is how many Deployments, ReplicaSets and pods are made, over all namespaces: at least that many, as
	// Deployments come with all that they own, FamilySize objects in all.
	Objects int
	// Namespaces are shared alike. They are called Prefix-1, Prefix-2, …
	Namespaces int
	// Prefix begins the names of namespaces.
	Prefix string
	// Parallel is how many Deployments are made at a time.
	Parallel int
	// Made is called with the number of objects made so far, from many goroutines; it may be nil.
	Made func(objects int)
}

// Validate says what is wrong with o.
func (o Options) Validate() error {
	switch {
	case o.Objects <= 0:
		return fmt.Errorf("the number of objects, %d, is not positive", o.Objects)
	case o.Namespaces <= 0:
		return fmt.Errorf("the number of namespaces, %d, is not positive", o.Namespaces)
	case o.Parallel <= 0:
		return fmt.Errorf("the number of Deployments at a time, %d, is not positive", o.Parallel)
	case o.Prefix == "":
		return fmt.Errorf("the namespaces have no name")
	}
	return nil
}

// Families is how many Deployments o asks for.
func (o Options) Families() int { return (o.Objects + FamilySize - 1) / FamilySize }

// Fill makes the objects by the API that config reaches, and returns how many there are then. On an error some of them are
// there.
func Fill(ctx context.Context, config *rest.Config, o Options) (int, error) {
	if err := o.Validate(); err != nil {
		return 0, err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return 0, fmt.Errorf("making a client: %w", err)
	}
	for n := range o.Namespaces {
		if err := makeNamespace(ctx, client, o.namespace(n)); err != nil {
			return 0, err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.Parallel)
	f := &filler{client: client, made: o.Made}
	for n := range o.Families() {
		group.Go(func() error { return f.family(ctx, o.namespace(n%o.Namespaces), n) })
	}
	err = group.Wait()
	return int(f.count.Load()), err
}

func (o Options) namespace(n int) string { return fmt.Sprintf("%s-%d", o.Prefix, n%o.Namespaces+1) }

// makeNamespace makes it with the ServiceAccount that pods need, unless they are there.
func makeNamespace(ctx context.Context, client kubernetes.Interface, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making namespace %q: %w", name, err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err := client.CoreV1().ServiceAccounts(name).Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making the ServiceAccount of namespace %q: %w", name, err)
	}
	return nil
}
