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

// builder makes the parts of Nodes from complete Options.
type builder struct {
	Options
	scheduling, running            *tap.Controller
	schedulerClient, kubeletClient kubernetes.Interface
	schedulerEvents, kubeletEvents *recorder // nil without events

	changed chan struct{} // a node's kubelet has something to say
}

// newBuilder makes the clients. busy is asked by the recorders.
func newBuilder(o Options, busy func() bool) (*builder, error) {
	b := &builder{Options: o, scheduling: o.Tap.Controller(SchedulerName), running: o.Tap.Controller(KubeletName), changed: make(chan struct{}, 1)}
	var err error
	if b.schedulerClient, err = client(b.scheduling, "kube-scheduler", o); err != nil {
		return nil, err
	}
	if b.kubeletClient, err = client(b.running, "kubelet", o); err != nil {
		return nil, err
	}
	if !o.NoEvents {
		b.schedulerEvents = newRecorder(schedulerEvents{b.schedulerClient.EventsV1()}, o.Clock, busy)
		b.kubeletEvents = newRecorder(kubeletEvents{b.kubeletClient.CoreV1()}, o.Clock, busy)
	}
	return b, nil
}

// client makes a client of which the API says that agent manages the fields that it writes.
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
		if _, err := ensureNode(ctx, b.kubeletClient.CoreV1().Nodes(), newNode(n, b.Capacity, b.Version, b.Clock.Now())); err != nil {
			return err
		}
	}
	return nil
}

// scheduler makes the scheduler, which is told of pods and nodes but not started.
func (b *builder) scheduler(ctx context.Context) (*engine.Controller, error) {
	s := &scheduler{
		pods:    b.Informers.Core().V1().Pods().Lister(),
		nodes:   b.Informers.Core().V1().Nodes().Lister(),
		client:  b.schedulerClient,
		clock:   b.Clock,
		events:  b.schedulerEvents,
		cluster: newCluster(),
		waiting: map[engine.Request]attempts{},
	}
	c, err := b.controller(b.scheduling, s)
	if err != nil {
		return nil, err
	}
	s.enqueueAfter = c.EnqueueAfter
	if b.Volumes {
		if err := b.watchVolumes(ctx, c, s); err != nil {
			return nil, err
		}
	}
	return c, b.watch(ctx, b.scheduling, c, s.onNode, s.onPod)
}

// watchVolumes lets the scheduler know of volumes; after an error c is put away.
func (b *builder) watchVolumes(ctx context.Context, c *engine.Controller, s *scheduler) error {
	return b.build(ctx, b.scheduling, c, func(ctx context.Context) (err error) {
		if s.volumes, err = newVolumes(ctx, b.schedulerClient, b.Informers); err != nil {
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

// kubelet makes the kubelet, which is told of pods and nodes but not started.
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
		changed:    b.changed,
		addresses:  newAddresses(),
		machines:   map[types.UID]*machine{},
	}
	c, err := b.controller(b.running, k)
	if err != nil {
		return nil, err
	}
	return c, b.watch(ctx, b.running, c, k.onNode, k.onPod)
}

func (b *builder) controller(c *tap.Controller, r engine.Reconciler) (*engine.Controller, error) {
	return engine.New(engine.Options{Name: c.Name(), Reconciler: r, Workers: b.Workers, MaxRetries: -1, Clock: b.Clock, Observer: tapped{c}})
}

// watch registers the handlers of c; after an error c is put away.
func (b *builder) watch(ctx context.Context, tapped *tap.Controller, c *engine.Controller, onNode, onPod engine.MapFunc) error {
	return b.build(ctx, tapped, c, func(ctx context.Context) error {
		return errors.Join(
			c.Watch(ctx, b.Informers.Core().V1().Nodes().Informer(), onNode, 0),
			c.Watch(ctx, b.Informers.Core().V1().Pods().Informer(), onPod, 0),
		)
	})
}

// build registers handlers of c, known to be those of the tapped controller; after an error c is put away.
func (b *builder) build(ctx context.Context, tapped *tap.Controller, c *engine.Controller, register func(context.Context) error) error {
	if err := tapped.Build(ctx, register); err != nil {
		c.Stop()
		return errors.Join(err, c.Wait())
	}
	return nil
}

func (b *builder) heart() *heart {
	return &heart{
		leases:  b.kubeletClient.CoordinationV1().Leases(corev1.NamespaceNodeLease),
		status:  b.kubeletClient.CoreV1().Nodes(),
		nodes:   b.Informers.Core().V1().Nodes().Lister(),
		clock:   b.Clock,
		changed: b.changed,
	}
}
