package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api/memstore"
)

// The steps of a start, by the name of the health check that a kube-apiserver has for each. Most are post-start hooks
// there.
const (
	stepAdmission       = "poststarthook/start-apiserver-admission-initializer"
	stepNamespaces      = "poststarthook/start-system-namespaces-controller"
	stepAuthentication  = "poststarthook/start-cluster-authentication-info-controller"
	stepTokenTracking   = "poststarthook/start-legacy-token-tracking-controller"
	stepPriorityClasses = "poststarthook/scheduling/bootstrap-system-priority-classes"
	stepServiceRange    = "poststarthook/start-kubernetes-service-cidr-controller"
	stepService         = "poststarthook/bootstrap-controller"
	stepAddresses       = "poststarthook/start-service-ip-repair-controllers"
	stepRoles           = "poststarthook/rbac/bootstrap-roles"
	stepFlowControl     = "poststarthook/priority-and-fairness-config-consumer"
	stepFlowSchemas     = "poststarthook/priority-and-fairness-config-producer"
	stepRegistry        = "poststarthook/start-kube-aggregator-informers"
	stepAvailability    = "poststarthook/apiservice-status-local-available-controller"
	stepRegistration    = "poststarthook/kube-apiserver-autoregistration"
	stepRegistered      = "autoregister-completion"
)

// startSteps are the steps of a start, each a check of /healthz, /livez and /readyz.
type startSteps []*startStep

func newStartSteps() startSteps {
	var steps startSteps
	for _, name := range []string{
		stepAdmission, stepNamespaces, stepAuthentication, stepTokenTracking, stepAddresses, stepRoles,
		stepPriorityClasses, stepFlowSchemas, stepFlowControl, stepService, stepServiceRange, stepRegistry,
		stepAvailability, stepRegistration, stepRegistered,
	} {
		steps = append(steps, &startStep{name: name, done: make(chan struct{})})
	}
	return steps
}

// finish marks steps as done. It must be called once for each step.
func (s startSteps) finish(names ...string) {
	for _, step := range s {
		if slices.Contains(names, step.name) {
			close(step.done)
		}
	}
}

// wait returns nil when the named steps are done, or all if none are named, and the error of ctx if that ends before.
func (s startSteps) wait(ctx context.Context, names ...string) error {
	for _, step := range s {
		if len(names) > 0 && !slices.Contains(names, step.name) {
			continue
		}
		select {
		case <-step.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// addHealthChecks adds the checks of the start steps, which stand in for upstream's post-start hooks, and the hook that
// checks the storage of each resource.
func (s *Server) addHealthChecks() error {
	errs := []error{s.generic.AddPostStartHook("storage-readiness", s.generic.StorageReadinessHook.Hook)}
	for _, step := range s.steps {
		errs = append(errs, s.generic.AddBootSequenceHealthChecks(step))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("adding the health checks: %w", err)
	}
	return nil
}

// startStep is a health check that fails until a step of the start is done.
type startStep struct {
	name string
	done chan struct{}
}

var _ healthz.HealthChecker = (*startStep)(nil)

// Name implements healthz.HealthChecker.
func (s *startStep) Name() string { return s.name }

// Check implements healthz.HealthChecker, with the error of upstream's hooks.
func (s *startStep) Check(*http.Request) error {
	select {
	case <-s.done:
		return nil
	default:
		return errors.New("not finished")
	}
}

const (
	// flushInterval is how often the log is flushed, and flushTimeout how old the last success may be: those of
	// healthz.LogHealthz.
	flushInterval = time.Minute
	flushTimeout  = 2 * time.Minute
)

// logCheck is a health check that fails while logging is blocked. It mirrors log.Check of
// k8s.io/apiserver/pkg/server/healthz/healthz.go, whose goroutine never ends.
type logCheck struct {
	flush    func()
	verified atomic.Pointer[time.Time] // when flush last returned; nil before run
}

var _ healthz.HealthChecker = (*logCheck)(nil)

func newLogCheck() *logCheck { return &logCheck{flush: klog.Flush} }

// Name implements healthz.HealthChecker.
func (*logCheck) Name() string { return "log" }

// Check implements healthz.HealthChecker.
func (c *logCheck) Check(*http.Request) error {
	if verified := c.verified.Load(); verified != nil && time.Since(*verified) >= flushTimeout {
		return errors.New("logging blocked")
	}
	return nil
}

// run flushes the log periodically until ctx ends.
func (c *logCheck) run(ctx context.Context) {
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for {
		c.verified.Store(new(time.Now()))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.flush()
		}
	}
}

// addStorageChecks adds the checks that a kube-apiserver has of etcd, by their names there, which clients request.
func addStorageChecks(c *genericapiserver.Config, store *memstore.Store) {
	check := func(*http.Request) error { return store.Ready() }
	c.AddHealthChecks(healthz.NamedGroupedCheck("etcd", "etcd", check))
	c.AddReadyzChecks(healthz.NamedGroupedCheck("etcd-readiness", "etcd-readiness", check))
}
