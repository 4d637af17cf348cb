package controllerruntime

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/controllerruntime/website"
)

// operator is a manager with the website controller, as main would run it, and a record of what it did.
type operator struct {
	ctrl.Manager
	// stop ends the manager and returns when it has ended.
	stop func()

	mu         sync.Mutex
	reconciled []string // the name of the Website of each reconcile
	refusing   bool     // whether releasing a host fails
	refused    []string // hosts
	released   []string // hosts
}

// startOperator starts a manager that ends with the test, or before with stop.
func startOperator(t *testing.T, c *rest.Config, configure ...func(*ctrl.Options)) *operator {
	t.Helper()
	options := ctrl.Options{
		Scheme:     newScheme(t),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // the tests of one process may all use the name
	}
	for _, f := range configure {
		f(&options)
	}
	mgr, err := ctrl.NewManager(c, options)
	if err != nil {
		t.Fatal(err)
	}
	o := &operator{Manager: mgr}
	if err := website.SetupWithManager(t.Context(), mgr, o.recording(&website.Reconciler{
		Client: mgr.GetClient(), Events: mgr.GetEventRecorder("website"), ReleaseHost: o.releaseHost,
	})); err != nil {
		t.Fatal(err)
	}
	o.stop = inBackground(t, mgr.Start)
	return o
}

// inBackground runs start until the test ends or the returned function is called, which waits for it to return.
func inBackground(t *testing.T, start func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("running in the background: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// recording counts the reconciles of r.
func (o *operator) recording(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		result, err := r.Reconcile(ctx, request)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.reconciled = append(o.reconciled, request.Name)
		return result, err
	})
}

// releaseHost is the outside world of the reconciler.
func (o *operator) releaseHost(_ context.Context, host string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refusing {
		o.refused = append(o.refused, host)
		return errors.New("the registrar is busy")
	}
	o.released = append(o.released, host)
	return nil
}

// refuse reports whether releases fail from here on.
func (o *operator) refuse(refuse bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refusing = refuse
}

// refusals are the hosts of the releases that failed so far.
func (o *operator) refusals() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.refused)
}

// reconciles is how many reconciles of the Website have ended.
func (o *operator) reconciles(name string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, other := range o.reconciled {
		if other == name {
			n++
		}
	}
	return n
}

// releases are the hosts that were released so far.
func (o *operator) releases() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.released)
}
