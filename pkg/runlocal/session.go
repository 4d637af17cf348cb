package runlocal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Options say what a session runs. With the zero value of all but Controllers, pods become ready as soon as they are
// made, on one simulated node. The fields from API on are for a session in the sandbox: StartCluster does not use them.
type Options struct {
	// Controllers are those to run: see Names.
	Controllers []controllers.Controller
	// Workers is how many keys each controller reconciles at a time; 0 means as kube-controller-manager, and 4 for
	// simulated nodes.
	Workers int
	// QPS and Burst bound the requests a second of each controller, its informers left out; with a QPS of 0 or less
	// there is no bound, with another one Burst must be set too.
	QPS   float32
	Burst int
	// Resync is how often informers send all objects to the controllers again; 0 is never.
	Resync time.Duration
	// Autoscaling are the times of the horizontal pod autoscaler.
	Autoscaling controllers.Autoscaling
	// NodeControllers are the settings of the controllers of nodes.
	NodeControllers controllers.NodeControllerOptions
	// Collector is called from a goroutine of the session when what the garbage collector sees has changed. It may be
	// nil.
	Collector func(controllers.CollectorView)
	// Recorder gets the trace; nil records nothing.
	Recorder *trace.Recorder
	// Verbosity is as in tap.Options.
	Verbosity int
	// HoldKeys lets controllers and nodes start with all keys held: see Session.HoldKeys.
	HoldKeys bool

	// API is for the API server. The session sets its OnCommit, Components, Observe and
	// DefaultServiceAccounts, and with Copy its Objects.
	API api.Options
	// NoDefaultAccounts makes no ServiceAccount `default` in namespaces that are made in the session, unless the
	// controller that makes them runs: pods that name no other account are refused there.
	NoDefaultAccounts bool
	// Copy is the part of a cluster that the API begins with; nil if it begins empty. Of Controllers only those run
	// that ControllersForCopy returns. What was copied stays as it is until a controller or a client changes it: copied
	// pods and nodes are not simulated, though the nodes stay alive, but pods that are made later are, on copied nodes
	// too.
	Copy *seed.Copy
	// Assume is what becomes of pods that are made in the session, later than Copy.
	Assume nodes.Assumption
	// LeaveUndecided is as in nodes.Options: pods whose scheduling depends on what is not simulated stay pending.
	LeaveUndecided bool
	// Metrics serves what simulated pods and nodes use, as metrics.k8s.io. It is served anyway if the horizontal pod
	// autoscaler runs, which reads it.
	Metrics bool
	// Nodes is how many nodes are simulated, beside those of Copy. 0 is one, if Copy has none; NoNodes, and all that is
	// less than 0, is none: then pods stay pending.
	Nodes int
	// NoScheduling leaves out the nodes with the simulated scheduler and kubelet, so that pods are left alone.
	NoScheduling bool
	// PodReadyAfter is how long a simulated pod runs before it is ready.
	PodReadyAfter time.Duration
	// ListOrder is as in tap.Options.
	ListOrder func(namespace, name string) string
	// Warnings gets the API's warnings about objects that are applied; nil logs them.
	Warnings rest.WarningHandler
}

// NoNodes is the value of Options.Nodes for no simulated node.
const NoNodes = -1

// Names returns the controllers of these names, aliases included, for Options.Controllers: see controllers.Select, also
// for "*" and "-name". For a name that no controller has, or one that does not run here, Start and StartCluster return
// the error of Select.
func Names(names ...string) []controllers.Controller { return controllers.ByName(names...) }

// Session is a running API server with controllers and nodes. Its methods may be called concurrently.
type Session struct {
	server      *api.Server  // nil on a cluster
	config      *rest.Config // of an administrator, or of the cluster's user
	tap         *tap.Tap
	controllers *controllers.Running
	nodes       *nodes.Nodes
	provisioner *nodes.RunningProvisioner // nil unless volumes are bound
	meter       *nodes.Meter              // nil if metrics are not served
	signing     *signingAuthority         // nil unless certificates are signed
	listings    *listings                 // of a cluster; nil without
	drain       func()                    // lets what is under way finish
	cancel      context.CancelFunc        // ends controllers and nodes
	end         context.CancelFunc        // ends the server
	watching    sync.WaitGroup            // watches over a cluster's caches until cancel
	working     atomic.Bool               // controllers and nodes run
	// detach ends the connection of the session to the context given to Start. It is nil until Start is done.
	detach atomic.Pointer[func() bool]
	// copyReport is set by Start.
	copyReport CopyReport

	podReadyAfter time.Duration
	collector     atomic.Pointer[controllers.CollectorView] // as last reported; nil before
	countsQuotas  bool                                      // one of the controllers sets the status of quotas

	kinds   atomic.Pointer[cluster.Kinds] // as they were last read; nil before
	dynamic dynamic.Interface
	// reader is dynamic without warnings, for reads that are no request of the user.
	reader dynamic.Interface
	// judged reads what is needed to judge an object, as the commands do that read a cluster.
	judged *cluster.Reader
}

// Start starts a session and returns when the API serves, the caches of all controllers are filled and their workers
// run. It ends with Stop, or when ctx does; Stop must be called either way.
func Start(ctx context.Context, o Options) (*Session, error) {
	s := &Session{
		podReadyAfter: o.PodReadyAfter, countsQuotas: countsQuotas(o.Controllers),
		tap: tap.New(tap.Options{Recorder: o.Recorder, Verbosity: o.Verbosity, ListOrder: o.ListOrder}),
	}
	s.HoldKeys(o.HoldKeys)
	return s.begin(ctx, o.Controllers, func(life, running context.Context) error { return s.start(life, running, o) })
}

// begin has start do its work. The session's server lives until the end of life, its controllers until that of running,
// which comes first; neither ends with ctx by itself, so that what a controller has begun to write is not cut off. A
// session that cannot start is stopped.
func (s *Session) begin(
	ctx context.Context, run []controllers.Controller, start func(life, running context.Context) error,
) (*Session, error) {
	for _, c := range run {
		if err := c.Err(); err != nil {
			return nil, err
		}
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	running, cancel := context.WithCancel(life)
	s.cancel, s.end = cancel, end
	s.drain = drainer(life, s.tap)
	interrupted := context.AfterFunc(ctx, end)
	err := start(life, running)
	if !interrupted() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	forget := context.AfterFunc(ctx, func() { _ = s.Stop() })
	s.detach.Store(&forget)
	return s, nil
}

func (s *Session) start(life, running context.Context, o Options) error {
	if o.Copy != nil {
		s.beginWith(&o)
	}
	o.API.OnCommit, o.API.Components, o.API.Observe = s.tap.Committed, s.components(o), s.tap.Handler
	if o.API.Metrics == nil && (o.Metrics || autoscales(o.Controllers)) {
		s.meter = nodes.NewMeter(nil)
		o.API.Metrics = s.meter
	}
	err := s.prepare(&o)
	if err != nil {
		return err
	}
	if s.server, err = api.Start(life, o.API); err != nil {
		return err
	}
	s.config = s.server.Config()
	if err := s.clients(o.Warnings); err != nil {
		return err
	}
	if o.Copy != nil {
		if err := s.finishCopy(life, o.Copy); err != nil {
			return err
		}
	}
	return s.runControllers(running, o)
}

// clients makes the clients that the session itself uses.
func (s *Session) clients(warnings rest.WarningHandler) error {
	config := rest.AddUserAgent(s.Config(), FieldManager)
	if warnings != nil {
		config.WarningHandler = warnings
	}
	var err error
	if s.judged, err = cluster.NewReader(s.Config()); err != nil {
		return fmt.Errorf("making a client of the API: %w", err)
	}
	if s.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client of the API: %w", err)
	}
	reading := rest.CopyConfig(config)
	reading.WarningHandler, reading.WarningHandlerWithContext = nil, rest.NoWarnings{}
	if s.reader, err = dynamic.NewForConfig(reading); err != nil {
		return fmt.Errorf("making a client of the API: %w", err)
	}
	return nil
}

func (s *Session) runControllers(ctx context.Context, o Options) error {
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(s.Config(), "informers"))
	if err != nil {
		return fmt.Errorf("making a client of the API: %w", err)
	}
	informers := s.tap.Informers(client, o.Resync)
	if s.meter != nil {
		s.meter.Watch(informers.Core().V1().Pods(), informers.Core().V1().Nodes())
	}
	if !o.NoScheduling {
		before, err := copied(ctx, client, o.Copy)
		if err != nil {
			return err
		}
		s.nodes, err = nodes.Start(ctx, nodes.Options{
			Tap: s.tap, Informers: unstarted{informers}, Config: s.server.Config(),
			Count: o.nodeCount(), Version: api.KubernetesVersion(), PodReadyAfter: o.PodReadyAfter, Workers: o.Workers,
			Volumes: bindsVolumes(o.Controllers), Copied: before, Assume: o.Assume,
			Neighbours: neighbours(o.Copy), LeaveUndecided: o.LeaveUndecided,
		})
		if err != nil {
			return fmt.Errorf("starting the simulated nodes: %w", err)
		}
	}
	if err := s.startProvisioner(ctx, unstarted{informers}, o); err != nil {
		return err
	}
	authority, err := s.authority()
	if err != nil {
		return err
	}
	s.controllers, err = controllers.Start(ctx, controllers.Deps{
		Tap: s.tap, Informers: informers, Config: bounded(s.server.Config(), o), Workers: o.Workers,
		Authority: authority,
		Kinds:     s.server.Kinds(), Newest: s.server.LastEvent, Collector: s.observeCollector(o.Collector),
		Unread: s.unread(o.Copy),

		Autoscaling:     o.Autoscaling,
		NodeControllers: o.NodeControllers,
	}, o.Controllers)
	s.working.Store(err == nil)
	return err
}

// nodeCount returns how many nodes are simulated.
func (o Options) nodeCount() int {
	if o.Nodes == 0 && (o.Copy == nil || !o.Copy.HasKind(schema.GroupResource{Resource: "nodes"})) {
		return 1
	}
	return max(0, o.Nodes)
}

// unstarted is the factory of informers that controllers.Start starts, when all handlers have been added to them. Some
// of upstream's constructors add handlers before they set the fields that these use, which a running informer would
// call.
type unstarted struct {
	clientinformers.SharedInformerFactory
}

// StartWithContext does nothing.
func (unstarted) StartWithContext(context.Context) {}

// errNotWorking is the health of controllers and nodes while the session starts or stops.
var errNotWorking = errors.New("it is starting or stopping")

// components are what the session runs of a control plane, for the API server to report their health.
func (s *Session) components(o Options) map[string]func() error {
	check := func() error {
		if !s.working.Load() {
			return errNotWorking
		}
		return nil
	}
	running := map[string]func() error{}
	if len(o.Controllers) > 0 {
		running[api.ComponentControllerManager] = check
	}
	if !o.NoScheduling {
		running[api.ComponentScheduler] = check
	}
	return running
}

// autoscales reports whether one of the controllers reads metrics.
func autoscales(cs []controllers.Controller) bool {
	return slices.ContainsFunc(cs, func(c controllers.Controller) bool {
		return c.Name == names.HorizontalPodAutoscalerController
	})
}

// bounded bounds the requests of each client that is made from config, if that has no rate limiter.
func bounded(config *rest.Config, o Options) *rest.Config {
	config.QPS, config.Burst = o.QPS, o.Burst
	if o.QPS <= 0 {
		config.QPS = -1
	}
	return config
}

// Stop ends the session and returns when everything that it started has ended. Reconciles that are under way get ten
// seconds to finish, and no other is begun. It may be called again.
func (s *Session) Stop() error {
	if forget := s.detach.Load(); forget != nil {
		(*forget)()
	}
	s.working.Store(false)
	s.drain()
	s.cancel()
	s.watching.Wait()
	var errs []error
	if s.controllers != nil {
		s.controllers.Wait()
	}
	if s.nodes != nil {
		errs = append(errs, s.nodes.Wait())
	}
	if s.provisioner != nil {
		errs = append(errs, s.provisioner.Wait())
	}
	if s.server != nil {
		errs = append(errs, s.server.Stop())
	}
	s.end()
	return errors.Join(append(errs, s.signing.remove())...)
}

// observeCollector returns Deps.Collector, which calls next, if that is not nil.
func (s *Session) observeCollector(next func(controllers.CollectorView)) func(controllers.CollectorView) {
	return func(v controllers.CollectorView) {
		s.collector.Store(&v)
		if next != nil {
			next(v)
		}
	}
}

// Collector is what the garbage collector sees; ok is false if it does not run, and in the first seconds before it sees
// all.
func (s *Session) Collector() (view controllers.CollectorView, ok bool) {
	if v := s.collector.Load(); v != nil {
		return *v, true
	}
	return view, false
}

// Config returns a copy of a client configuration for the API of the session: an administrator's in process, or on a
// cluster that of its user, which writes no more than the session does.
func (s *Session) Config() *rest.Config { return rest.CopyConfig(s.config) }

// Server is the API server of the session; nil on a cluster.
func (s *Session) Server() *api.Server { return s.server }
