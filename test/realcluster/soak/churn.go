package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// slots is how many objects of each kind a client has at most.
	slots = 5
	// pace is how long a client rests between two changes.
	pace = 200 * time.Millisecond
	// requestTime bounds a request: the server may be away.
	requestTime = 5 * time.Second
)

// churn is a client that changes the objects of one namespace. Only one goroutine may use it.
type churn struct {
	client    kubernetes.Interface
	namespace string
	random    *rand.Rand
	revision  int

	changes, refused int
}

func newChurn(client kubernetes.Interface, n int, seed uint64) *churn {
	random := rand.New(rand.NewPCG(seed, uint64(n))) //nolint:gosec // the same changes for the same seed
	return &churn{client: client, namespace: fmt.Sprintf("%s%d", prefix, n), random: random}
}

// prefix begins the names of all namespaces that are made here.
const prefix = "soak-"

// run changes things until ctx ends. What is refused or gets no answer is counted: clients do not give up either.
func (c *churn) run(ctx context.Context) {
	for wait(ctx, pace) == nil {
		limited, cancel := context.WithTimeout(ctx, requestTime)
		err := c.change(limited)
		cancel()
		switch {
		case err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err):
			c.changes++
		case ctx.Err() == nil:
			c.refused++
		}
	}
}

// change makes one change.
func (c *churn) change(ctx context.Context) error {
	if err := c.ensureNamespace(ctx); err != nil {
		return err
	}
	name := fmt.Sprintf("slot-%d", c.random.IntN(slots))
	kinds := c.kinds()
	k := kinds[c.random.IntN(len(kinds))]
	switch what := c.random.IntN(10); {
	case what < 4:
		return k.create(ctx, name)
	case what < 7 && k.change != nil:
		return k.change(ctx, name)
	case what < 9:
		return k.remove(ctx, name, metav1.DeleteOptions{PropagationPolicy: new(c.propagation())})
	}
	return c.killPod(ctx)
}

func (c *churn) propagation() metav1.DeletionPropagation {
	if c.random.IntN(2) == 0 {
		return metav1.DeletePropagationBackground
	}
	return metav1.DeletePropagationForeground
}

// ensureNamespace makes the namespace, and seldom removes it with all that is in it: then it is made again later.
func (c *churn) ensureNamespace(ctx context.Context) error {
	namespaces := c.client.CoreV1().Namespaces()
	if c.random.IntN(300) == 0 {
		return namespaces.Delete(ctx, c.namespace, metav1.DeleteOptions{})
	}
	_, err := namespaces.Get(ctx, c.namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
		_, err = namespaces.Create(ctx, namespace, metav1.CreateOptions{})
	}
	return err
}

// killPod deletes one of the pods.
func (c *churn) killPod(ctx context.Context) error {
	pods, err := c.client.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{Limit: 20})
	if err != nil || len(pods.Items) == 0 {
		return err
	}
	victim := pods.Items[c.random.IntN(len(pods.Items))]
	return c.client.CoreV1().Pods(c.namespace).Delete(ctx, victim.Name, metav1.DeleteOptions{})
}

// replicas is a patch of the number of replicas.
func (c *churn) replicas() []byte {
	return fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, c.random.IntN(5))
}

// rollout is a patch of the pods' template.
func (c *churn) rollout() []byte {
	c.revision++
	return fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"soak/revision":"%d"}}}}}`, c.revision)
}

// scaled is one of the two patches.
func (c *churn) scaled() []byte {
	if c.random.IntN(2) == 0 {
		return c.replicas()
	}
	return c.rollout()
}
