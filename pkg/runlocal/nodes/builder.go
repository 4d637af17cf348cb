package nodes

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// builder makes scheduler, kubelet and what they need, from complete Options.
type builder struct {
	Options
	schedulerTap, kubeletTap       *tap.Controller
	schedulerClient, kubeletClient kubernetes.Interface
	schedulerEvents, kubeletEvents *recorder // nil without events

	reportNow chan struct{} // receives when a node's conditions are to be reported at once
}

// newBuilder makes the clients and recorders. busy reports whether reconciles wait, which recorders yield to.
func newBuilder(o Options, busy func() bool) (*builder, error) {
	b := &builder{
		Options: o, schedulerTap: o.Tap.Controller(SchedulerName), kubeletTap: o.Tap.Controller(KubeletName),
		reportNow: make(chan struct{}, 1),
	}
	var err error
	if b.schedulerClient, err = client(b.schedulerTap, "kube-scheduler", o); err != nil {
		return nil, err
	}
	if b.kubeletClient, err = client(b.kubeletTap, "kubelet", o); err != nil {
		return nil, err
	}
	if !o.NoEvents {
		b.schedulerEvents = newRecorder(schedulerEvents{b.schedulerClient.EventsV1()}, o.Clock, busy)
		b.kubeletEvents = newRecorder(kubeletEvents{b.kubeletClient.CoreV1()}, o.Clock, busy)
	}
	return b, nil
}

// client makes a client whose field manager is agent.
func client(c *tap.Controller, agent string, o Options) (kubernetes.Interface, error) {
	config := c.Config(o.Config)
	config.UserAgent = agent + "/kubectl-reconcile simulated"
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of %s: %w", c.Name(), err)
	}
	return set, nil
}

// makeNodes makes the Node objects, as the kubelets do when they register.
func (b *builder) makeNodes(ctx context.Context) error {
	for n := range b.Count {
		node := newNode(n, b.Capacity, b.Version, b.Clock.Now())
		if _, err := ensureNode(ctx, b.kubeletClient.CoreV1().Nodes(), node); err != nil {
			return err
		}
	}
	return nil
}

// scheduler makes the scheduler and registers its event handlers. It is not started.
func (b *builder) scheduler(ctx context.Context) (*engine.Controller, error) {
	s := &scheduler{
		pods:    b.Informers.Core().V1().Pods().Lister(),
		nodes:   b.Informers.Core().V1().Nodes().Lister(),
		client:  b.schedulerClient,
		clock:   b.Clock,
		events:  b.schedulerEvents,
		copied:  b.Copied,
		cache:   newSchedulerCache(),
		waiting: map[engine.Request]schedulingAttempts{},

		leaveUndecided: b.LeaveUndecided && b.Assume != AssumeReady,
	}
	for _, pod := range b.Neighbours {
		s.cache.setPod(pod)
	}
	c, err := b.controller(b.schedulerTap, s)
	if err != nil {
		return nil, err
	}
	s.enqueueAfter = c.EnqueueAfter
	if b.Volumes {
		if err := b.watchVolumes(ctx, c, s); err != nil {
			return nil, err
		}
	}
	return c, b.watch(ctx, b.schedulerTap, c, s.onNode, s.onPod)
}

// watchVolumes registers the handlers of claims, volumes and classes. On an error it stops c.
func (b *builder) watchVolumes(ctx context.Context, c *engine.Controller, s *scheduler) error {
	return b.build(ctx, b.schedulerTap, c, func(ctx context.Context) (err error) {
		if s.volumes, err = newVolumeBinder(ctx, b.schedulerClient, b.Informers); err != nil {
			return err
		}
		core := b.Informers.Core().V1()
		return errors.Join(
			c.Watch(ctx, core.PersistentVolumeClaims().Informer(), s.onClaim, 0),
			c.Watch(ctx, core.PersistentVolumes().Informer(), s.onVolume, 0),
			c.Watch(ctx, b.Informers.Storage().V1().StorageClasses().Informer(), s.onClass, 0),
		)
	})
}

// kubelet makes the kubelet and registers its event handlers. It is not started.
func (b *builder) kubelet(ctx context.Context) (*engine.Controller, error) {
	k := &kubelet{
		pods:       b.Informers.Core().V1().Pods().Lister(),
		nodes:      b.Informers.Core().V1().Nodes().Lister(),
		client:     b.kubeletClient,
		clock:      b.Clock,
		events:     b.kubeletEvents,
		readyAfter: b.PodReadyAfter,
		stopAfter:  b.PodStopAfter,
		runFor:     b.RunFor,
		copied:     b.Copied,
		assume:     b.Assume,
		reportNow:  b.reportNow,
		addresses:  newPodAddresses(),
		states:     map[types.UID]*podState{},
	}
	for _, pod := range b.Neighbours {
		k.addresses.reserve(pod.Status.PodIP)
	}
	c, err := b.controller(b.kubeletTap, k)
	if err != nil {
		return nil, err
	}
	return c, b.watch(ctx, b.kubeletTap, c, k.onNode, k.onPod)
}

// controller makes an engine for the reconciler, which retries a failed key without a limit and is observed by c.
func (b *builder) controller(c *tap.Controller, r engine.Reconciler) (*engine.Controller, error) {
	return engine.New(engine.Options{
		Name: c.Name(), Reconciler: r, Workers: b.Workers, MaxRetries: -1, Clock: b.Clock, Observer: tapObserver{c},
	})
}

// watch registers the handlers of nodes and pods. On an error it stops c.
func (b *builder) watch(
	ctx context.Context, tapped *tap.Controller, c *engine.Controller, onNode, onPod engine.MapFunc,
) error {
	return b.build(ctx, tapped, c, func(ctx context.Context) error {
		return errors.Join(
			c.Watch(ctx, b.Informers.Core().V1().Nodes().Informer(), onNode, 0),
			c.Watch(ctx, b.Informers.Core().V1().Pods().Informer(), onPod, 0),
		)
	})
}

// build calls register, whose handlers are recorded as those of the tapped controller. On an error it stops c.
func (b *builder) build(
	ctx context.Context, tapped *tap.Controller, c *engine.Controller, register func(context.Context) error,
) error {
	if err := tapped.Build(ctx, register); err != nil {
		c.Stop()
		return errors.Join(err, c.Wait())
	}
	return nil
}

// leaseRenewer makes what sends the heartbeats. It must not run before the informer of nodes has synced.
func (b *builder) leaseRenewer() *leaseRenewer {
	return &leaseRenewer{
		copied:    b.Copied,
		leases:    b.kubeletClient.CoordinationV1().Leases(corev1.NamespaceNodeLease),
		status:    b.kubeletClient.CoreV1().Nodes(),
		nodes:     b.Informers.Core().V1().Nodes().Lister(),
		clock:     b.Clock,
		reportNow: b.reportNow,
	}
}
