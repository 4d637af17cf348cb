package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// Kinds knows which kinds an API serves beside the built-in ones. Its methods are called often, and concurrently.
type Kinds interface {
	// Changes returns a number that changes when the API may have begun or ceased to serve a kind.
	Changes() uint64
	// Custom lists the custom resources that are served at this moment.
	Custom() []schema.GroupResource
}

// Deps is what controllers run with. All but Authority, Autoscaling, Collector, Hosts, Kinds, Newest and Workers must be set.
type Deps struct {
	// Tap observes them.
	Tap *tap.Tap
	// Informers are the Tap's, so that events are known as causes. Other users may share them.
	Informers informers.SharedInformerFactory
	// Config is what each controller's own client is made from, by tap.Controller.Config.
	Config *rest.Config
	// Authority is what those of the controllers sign with that sign.
	Authority Authority
	// Kinds are the API's. If it is nil, controllers that act on all kinds ask the API from time to time.
	Kinds Kinds
	// Newest returns the version of the newest watch event of a resource, 0 if it never had any; nil if that is not known. It is
	// called often, concurrently.
	Newest func(schema.GroupResource) uint64
	// Collector is called when what the garbage collector sees has changed, from one goroutine; nil is not.
	Collector func(CollectorView)
	// Autoscaling are the times of the horizontal pod autoscaler.
	Autoscaling Autoscaling
	// NodeControllers are the settings of the controllers of nodes.
	NodeControllers NodeControllerOptions
	// Workers is how many reconciles of a controller may run at a time; 0 is kube-controller-manager's default.
	Workers int

	// unlistedAfter is after how long the garbage collector does without a kind that cannot be listed; 0 is ten seconds.
	unlistedAfter time.Duration
}

// Running are controllers that were started.
type Running struct {
	loops     sync.WaitGroup
	informers informers.SharedInformerFactory
	cancel    context.CancelFunc
}

// started is a controller that was built.
type started struct {
	Controller
	loop loop
}

// Start builds the controllers, starts the informers, waits until these have synced and then runs the controllers until
// ctx ends. On an error the controllers have ended, and the informers that it has started are ending: Shutdown of
// d.Informers waits for them. The error names the controller, and is the context's if it ended while informers were
// waited for.
func Start(ctx context.Context, d Deps, cs []Controller) (*Running, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &Running{informers: d.Informers, cancel: cancel}
	built, err := buildAll(ctx, d, cs)
	if err == nil {
		d.Informers.StartWithContext(ctx)
		if err = d.Informers.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
			err = fmt.Errorf("waiting for the controllers' informers: %w", err)
		}
	}
	if err != nil {
		cancel() // a controller ends what its constructor has started only if it is run
	}
	for _, c := range built {
		workers := c.workers
		if d.Workers > 0 {
			workers = d.Workers
		}
		r.loops.Go(func() { c.loop(d.Tap.Controller(c.Short).Context(ctx), workers) })
	}
	if err != nil {
		r.loops.Wait()
		return nil, err
	}
	return r, nil
}

// FieldManager is the manager of the fields that controllers write: their user agent up to the first slash.
const FieldManager = "kube-controller-manager"

// buildAll returns those that were built, also with an error.
func buildAll(ctx context.Context, d Deps, cs []Controller) ([]started, error) {
	var built []started
	together := &shared{}
	for _, c := range cs {
		if !c.Runs() {
			return built, &NotRunError{Name: c.Name, Reason: c.NotRun}
		}
		if lack := c.Lacks(d.Authority); lack != "" {
			return built, &NotRunError{Name: c.Name, Reason: lack}
		}
		observer := d.Tap.Controller(c.Short)
		if c.ClusterScopedWork {
			observer.IgnoreScope()
		}
		config := observer.Config(d.Config)
		config.UserAgent = FieldManager + "/kubectl-reconcile " + c.Short
		config.WarningHandlerWithContext = rest.NoWarnings{} // as kube-controller-manager: they are for who chose the API's version
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return built, fmt.Errorf("making the client of %s: %w", c.Name, err)
		}
		err = observer.Build(ctx, func(ctx context.Context) error {
			run, err := c.build(ctx, environment{
				tap: observer, config: config, client: client, informers: d.Informers,
				authority: d.Authority, autoscaling: d.Autoscaling, kinds: d.Kinds, hosts: d.NodeControllers, collector: d.Collector,
				shared: together, newest: d.Newest, unlistedAfter: d.unlistedAfter,
			})
			if run != nil {
				built = append(built, started{Controller: c, loop: run})
			}
			return err
		})
		if err != nil {
			return built, fmt.Errorf("building %s: %w", c.Name, err)
		}
	}
	return built, nil
}

// Wait returns when every goroutine of the controllers and of the informers has ended, which they do when the context
// of Start ends. The informers cannot be started again. It may be called more than once.
func (r *Running) Wait() {
	r.loops.Wait()
	r.cancel()
	r.informers.Shutdown()
}
