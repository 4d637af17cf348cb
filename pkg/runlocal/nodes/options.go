package nodes

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// Options say how many nodes there are and how fast their pods move. Config and Informers are needed.
type Options struct {
	// Config reaches the API, which must let its user do anything with pods, nodes, leases and events. Its rate limits hold.
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
	// Volumes says that the scheduler looks at the volumes of pods and has their claims bound: for that the volume binder
	// must run. Without it volumes do not count.
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
