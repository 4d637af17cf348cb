package nodes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// Names of the two reconcilers in a trace.
const (
	SchedulerName = "scheduler"
	KubeletName   = "kubelet"
)

// flushTimeout is how long Events that were not written yet may hold up a stop.
const flushTimeout = 500 * time.Millisecond

// Nodes are the running simulation. Its methods may be called concurrently.
type Nodes struct {
	scheduler, kubelet *engine.Controller

	stopping   chan struct{} // closed when reconciling has ended: recorders write what they have, and end
	cancel     context.CancelFunc
	background sync.WaitGroup // recorders and heart
	finished   chan struct{}
	err        error
}

// tapObserver lets a tap observe the engine.
type tapObserver struct{ *tap.Controller }

var _ engine.Observer = tapObserver{}

// Queue implements engine.Observer.
func (t tapObserver) Queue(q engine.Queue) engine.Queue {
	return tap.WrapQueue(t.Controller, "", q, engine.Request.String)
}

// Start makes the nodes, and begins to schedule pods and to move those on simulated nodes. It blocks only to make the
// nodes. The end of ctx is a Stop, and ends the informers too. After an error nothing is left running, but nodes may
// have been made.
func Start(ctx context.Context, o Options) (*Nodes, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	n := &Nodes{stopping: make(chan struct{}), finished: make(chan struct{})}
	b, err := newBuilder(o, n.busy)
	if err != nil {
		return nil, err
	}
	if err := b.makeNodes(ctx); err != nil {
		return nil, err
	}
	if n.scheduler, err = b.scheduler(ctx); err != nil {
		return nil, err
	}
	if n.kubelet, err = b.kubelet(ctx); err != nil {
		n.scheduler.Stop()
		return nil, errors.Join(err, n.scheduler.Wait())
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n.cancel = cancel
	o.Informers.StartWithContext(ctx)
	if err := errors.Join(n.scheduler.Start(ctx), n.kubelet.Start(ctx)); err != nil {
		cancel()
		return nil, err // cannot be: both have just been made
	}
	n.startBackground(background, b)
	go n.run(o.Clock)
	return n, nil
}

// startBackground starts what works beside the reconcilers: recorders until they have written all, the heart until ctx
// ends.
func (n *Nodes) startBackground(ctx context.Context, b *builder) {
	if !b.NoEvents {
		n.background.Go(func() { b.schedulerEvents.run(b.schedulerTap.Context(ctx), n.stopping) })
		n.background.Go(func() { b.kubeletEvents.run(b.kubeletTap.Context(ctx), n.stopping) })
	}
	n.background.Go(func() {
		select {
		case <-b.Informers.Core().V1().Nodes().Informer().HasSyncedChecker().Done():
			b.leaseRenewer().run(b.kubeletTap.Context(ctx), n.stopping)
		case <-n.stopping:
		}
	})
}

// busy reports whether pods wait for either of the two.
func (n *Nodes) busy() bool { return n.scheduler.Len()+n.kubelet.Len() > 0 }

// run waits for the end and puts everything away.
func (n *Nodes) run(clk clock.Clock) {
	defer close(n.finished)
	defer n.cancel()
	n.err = errors.Join(ignoreNotSynced(n.scheduler.Wait()), ignoreNotSynced(n.kubelet.Wait()))
	close(n.stopping)
	idle := make(chan struct{})
	go func() {
		n.background.Wait()
		close(idle)
	}()
	flush := clk.NewTimer(flushTimeout)
	defer flush.Stop()
	select {
	case <-idle:
	case <-flush.C():
		n.cancel()
		<-idle
	}
}

// ignoreNotSynced forgives a stop that came before there was anything to do.
func ignoreNotSynced(err error) error {
	if errors.Is(err, engine.ErrNotSynced) {
		return nil
	}
	return err
}

// Stop begins a stop and does not wait for it: pods stay as they are. It may be called more than once.
func (n *Nodes) Stop() {
	n.scheduler.Stop()
	n.kubelet.Stop()
}

// Wait waits until all has stopped, Events that were still to be written included, and reports what did not stop in
// order. Several may wait.
func (n *Nodes) Wait() error {
	<-n.finished
	return n.err
}

// Options say how many nodes there are and how fast their pods move. Config and Informers are needed.
type Options struct {
	// Config reaches the API, which must let its user do anything with pods, nodes, leases and events. Its rate limits
	// hold.
	Config *rest.Config
	// Informers give pods and nodes; those of Tap are observed. Start starts the informers that were asked for by then.
	Informers informers.SharedInformerFactory
	// Tap observes scheduler and kubelet under these names; nil means nobody does.
	Tap *tap.Tap
	// Count is how many nodes Start makes. With 0 only nodes that others make with SimulatedLabel are simulated.
	Count int
	// Capacity of each node; nil means DefaultCapacity.
	Capacity corev1.ResourceList
	// Version is the Kubernetes version that the nodes' kubelets claim, such as v1.37.1; empty means v0.0.0.
	Version string
	// PodReadyAfter is the time from a pod's binding to Ready, over its phases; with 0 it is Ready by a single write.
	PodReadyAfter time.Duration
	// PodStopAfter is the time a deleted pod's containers take to stop, if its grace is as long; 0 means none.
	PodStopAfter time.Duration
	// RunFor is how long containers run that are to end and have no RunForAnnotation; 0 means one second.
	RunFor time.Duration
	// Workers is how many pods each of the two may work on at once; 0 means 4.
	Workers int
	// Volumes says that the scheduler looks at the volumes of pods and has their claims bound: for that the volume
	// binder must run. Without it volumes do not count.
	Volumes bool
	// NoEvents leaves out the Events of scheduler and kubelet.
	NoEvents bool
	// Clock is the time that all of it takes; nil means the real one.
	Clock clock.WithTicker
}

func (o Options) complete() (Options, error) {
	switch {
	case o.Config == nil || o.Informers == nil:
		return o, errors.New("starting nodes: a config and informers are needed")
	case o.Count < 0 || o.Count > maxNodes:
		return o, fmt.Errorf("starting %d nodes: there may be 0 to %d", o.Count, maxNodes)
	case o.PodReadyAfter < 0 || o.PodStopAfter < 0 || o.RunFor < 0:
		return o, errors.New("starting nodes: a time is less than 0")
	}
	if o.Capacity == nil {
		o.Capacity = DefaultCapacity()
	}
	if o.Version == "" {
		o.Version = "v0.0.0"
	}
	if o.RunFor == 0 {
		o.RunFor = time.Second
	}
	if o.Workers <= 0 {
		o.Workers = 4
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Tap == nil {
		o.Tap = tap.New(tap.Options{Clock: o.Clock})
	}
	return o, nil
}
