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

// flushTimeout is how long Events that were not written yet may delay the end after Stop.
const flushTimeout = 500 * time.Millisecond

// Nodes is a running scheduler and kubelet. Its methods may be called concurrently.
type Nodes struct {
	scheduler, kubelet *engine.Controller

	stopping   chan struct{} // closed when both reconcilers have ended: recorders then write what they hold and end
	cancel     context.CancelFunc
	background sync.WaitGroup // recorders and leaseRenewer
	finished   chan struct{}
	err        error
}

// tapObserver has a tap observe an engine.
type tapObserver struct{ *tap.Controller }

var _ engine.Observer = tapObserver{}

// Queue implements engine.Observer.
func (t tapObserver) Queue(q engine.Queue) engine.Queue {
	return tap.WrapQueue(t.Controller, "", q, engine.Request.String)
}

// Start makes the nodes, and begins to schedule pods and to run those on simulated nodes. It blocks only to make the
// nodes. When ctx ends, the informers end too, and everything stops as after Stop. After an error nothing is left
// running, but nodes may have been made.
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
		return nil, err // cannot happen: neither was started before
	}
	n.startBackground(background, b)
	go n.run(o.Clock)
	return n, nil
}

// startBackground starts the recorders, which end when they have written all, and the leaseRenewer. All of them end
// with ctx too.
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

// busy reports whether scheduler or kubelet have keys in their queues.
func (n *Nodes) busy() bool { return n.scheduler.Len()+n.kubelet.Len() > 0 }

// run waits until both reconcilers have ended, and then for what runs in the background.
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

// ignoreNotSynced returns err, or nil if it is the error of a stop before the informers had synced.
func ignoreNotSynced(err error) error {
	if errors.Is(err, engine.ErrNotSynced) {
		return nil
	}
	return err
}

// Stop has scheduler and kubelet stop and does not wait for that: pods stay as they are. It may be called more than
// once.
func (n *Nodes) Stop() {
	n.scheduler.Stop()
	n.kubelet.Stop()
}

// Wait waits until everything has stopped and pending Events are written, and returns why a reconciler did not stop in
// order. It may be called more than once, and concurrently.
func (n *Nodes) Wait() error {
	<-n.finished
	return n.err
}

// Options say how many nodes there are and how fast their pods move. Config and Informers are needed.
type Options struct {
	// Config reaches the API, which must let its user do anything with pods, nodes, leases and events. Its rate limits
	// hold.
	Config *rest.Config
	// Informers provide pods and nodes; if they are those of Tap, their events are recorded. Start starts all informers
	// that were requested before.
	Informers informers.SharedInformerFactory
	// Tap observes scheduler and kubelet, under SchedulerName and KubeletName. It may be nil.
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
	// Volumes has the scheduler consider the volumes of pods and wait for their claims to be bound, for which the
	// volume binder must run. Without it volumes are ignored.
	Volumes bool
	// Copied are the nodes and pods of the copy of a cluster that the API begins with; nil if it begins with none.
	Copied *Copied
	// Neighbours are pods that the API does not have and that take room and addresses on nodes all the same. They are
	// not changed.
	Neighbours []*corev1.Pod
	// Assume is what becomes of pods that are not in Copied.
	Assume Assumption
	// LeaveUndecided leaves pods without a node, and says so in their condition PodScheduled, for which
	// RequiredIgnoredFields returns any fields, unless Assume is AssumeReady. Without it these fields are ignored.
	LeaveUndecided bool
	// NoEvents leaves out the Events of scheduler and kubelet.
	NoEvents bool
	// Clock drives all timers and timestamps; nil means the real clock.
	Clock clock.WithTicker
}

// complete returns the options with their defaults, or why they are invalid.
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
