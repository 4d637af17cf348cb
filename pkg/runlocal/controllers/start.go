package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	certificatesinformers "k8s.io/client-go/informers/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// Deps is what controllers run with. Tap, Informers and Config must be set.
type Deps struct {
	// Tap observes them.
	Tap *tap.Tap
	// Informers must be those of Tap, so that their events are recorded as causes. Others may use them too.
	Informers informers.SharedInformerFactory
	// Config is what each controller's own client is made from, by tap.Controller.Config.
	Config *rest.Config
	// Authority is what controllers sign with and publish.
	Authority Authority
	// Kinds are those of the API. If it is nil, controllers that act on all kinds poll discovery.
	Kinds Kinds
	// Newest returns the resource version of the newest watch event of a resource, 0 if there was none. It is called
	// often, concurrently. It is nil if that is not known.
	Newest func(schema.GroupResource) uint64
	// Collector is called, always from the same goroutine, when what the garbage collector sees has changed. It may be
	// nil.
	Collector func(CollectorView)
	// Unread are kinds of which the API may lack objects, because it is a copy that could not be read whole, and why.
	// The garbage collector destroys nothing because of objects of these kinds that it does not see. The resource "*"
	// means all of its API group.
	Unread []UnlistedKind
	// Autoscaling holds the periods of the horizontal pod autoscaler.
	Autoscaling Autoscaling
	// NodeControllers are the settings of the controllers that look after nodes.
	NodeControllers NodeControllerOptions
	// Workers is how many reconciles of a controller may run at a time; 0 is kube-controller-manager's default.
	Workers int

	// listFailureTimeout is how long the garbage collector waits for a kind whose lists fail; 0 is ten seconds.
	listFailureTimeout time.Duration
}

// Running is a set of controllers that were started.
type Running struct {
	loops     sync.WaitGroup
	informers informers.SharedInformerFactory
	cancel    context.CancelFunc
}

// started is a controller that was built.
type started struct {
	Controller
	run runFunc
}

// Start builds the controllers, starts the informers, waits until these have synced and then runs the controllers until
// ctx ends. If it returns an error, the controllers have ended, and the informers that it started are ending: Shutdown
// of d.Informers waits for them. The error names the controller; it is that of ctx if ctx ended before the informers
// had synced.
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
		r.loops.Go(func() { c.run(d.Tap.Controller(c.Short).Context(ctx), workers) })
	}
	if err != nil {
		r.loops.Wait()
		return nil, err
	}
	return r, nil
}

// FieldManager is the manager of the fields that controllers write: their user agent up to the first slash.
const FieldManager = "kube-controller-manager"

// buildAll builds the controllers. With an error it returns those that were built before: they must be run, with a
// context that has ended, so that what their constructors started ends too.
func buildAll(ctx context.Context, d Deps, cs []Controller) ([]started, error) {
	var built []started
	common := &shared{}
	for _, c := range cs {
		if err := c.Err(); err != nil {
			return built, err
		}
		if missing := c.MissingAuthority(d.Authority); missing != "" {
			return built, &NotRunError{Name: c.Name, Reason: missing}
		}
		observer := d.Tap.Controller(c.Short)
		if c.ClusterScopedWork {
			observer.IgnoreScope()
		}
		config := observer.Config(d.Config)
		config.UserAgent = FieldManager + "/kubectl-reconcile " + c.Short
		config.WarningHandlerWithContext = rest.NoWarnings{} // as kube-controller-manager does
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return built, fmt.Errorf("making the client of %s: %w", c.Name, err)
		}
		err = observer.Build(ctx, func(ctx context.Context) error {
			run, err := c.build(ctx, environment{
				tap: observer, config: config, client: client, informers: d.Informers,
				authority: d.Authority, autoscaling: d.Autoscaling, kinds: d.Kinds, nodeControllers: d.NodeControllers,
				collector: d.Collector, shared: common, newest: d.Newest, listFailureTimeout: d.listFailureTimeout,
				unread: d.Unread,
			})
			if run != nil {
				built = append(built, started{Controller: c, run: run})
			}
			return err
		})
		if err != nil {
			return built, fmt.Errorf("building %s: %w", c.Name, err)
		}
	}
	return built, nil
}

// Wait waits until every goroutine of the controllers and of the informers has ended, which they do when the context of
// Start ends. The informers cannot be started again. Wait may be called more than once.
func (r *Running) Wait() {
	r.loops.Wait()
	r.cancel()
	r.informers.Shutdown()
}

// Names for what upstream's constructors take.
type (
	clientset   = kubernetes.Interface
	csrInformer = certificatesinformers.CertificateSigningRequestInformer
)

// runConcurrently runs all of loops and returns when all have returned. It mirrors concurrentRun of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/controller_utils.go.
func runConcurrently(ctx context.Context, workers int, loops []runFunc) {
	var running sync.WaitGroup
	for _, l := range loops {
		running.Go(func() { l(ctx, workers) })
	}
	running.Wait()
}
