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
	// Each revision is a ReplicaSet, all but the last scaled to 0: as many old ones as a Deployment keeps by default.
	revisions = 11
	pods      = 10 // of the last ReplicaSet
	// FamilySize is how many objects a Deployment, its ReplicaSets and its pods are.
	FamilySize = 1 + revisions + pods
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
	// First is the number of the first Deployment: as many as were made before, to make more. The n-th Deployment of
	// all is called web-000n and belongs to the namespace of number n modulo Namespaces.
	First int
	// Owners are the owners of the n-th Deployment; it may be nil.
	Owners func(n int) []metav1.OwnerReference
	// Parallel is how many Deployments are made at a time.
	Parallel int
	// Etcd is the address of the API server's store. If it is given, only one Deployment and what it owns are made by
	// the API; their like are written to the store, as the API server would have: many times faster.
	Etcd string
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
	case o.First < 0:
		return fmt.Errorf("the number of the first Deployment, %d, is negative", o.First)
	case o.Parallel <= 0:
		return fmt.Errorf("the number of Deployments at a time, %d, is not positive", o.Parallel)
	case o.Prefix == "":
		return fmt.Errorf("the namespaces have no name")
	}
	return nil
}

// Families is how many Deployments o asks for.
func (o Options) Families() int { return (o.Objects + FamilySize - 1) / FamilySize }

// Fill makes the objects by the API that config reaches, and returns how many there are then. On an error some of them
// are there.
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
	f := &filler{client: client, made: o.Made, owners: o.Owners}
	if o.Etcd != "" {
		err = f.fillStore(ctx, o)
	} else {
		err = f.fillAPI(ctx, o)
	}
	return int(f.count.Load()), err
}

// fillAPI makes all objects by requests.
func (f *filler) fillAPI(ctx context.Context, o Options) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.Parallel)
	for n := o.First; n < o.First+o.Families(); n++ {
		group.Go(func() error {
			_, err := f.family(ctx, o.namespace(n), n)
			return err
		})
	}
	return group.Wait()
}

func (o Options) namespace(n int) string { return fmt.Sprintf("%s-%d", o.Prefix, n%o.Namespaces+1) }

// makeNamespace makes it with the ServiceAccount that pods need, unless they are there.
func makeNamespace(ctx context.Context, client kubernetes.Interface, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making namespace %q: %w", name, err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = client.CoreV1().ServiceAccounts(name).Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making the ServiceAccount of namespace %q: %w", name, err)
	}
	return nil
}
