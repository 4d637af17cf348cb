// Package trial lets Kubernetes' own controllers reconcile single objects of a cluster once, in dry run, and returns
// how the API server answers what they write: which writes it refuses, and which it would accept. A webhook or a policy
// that refuses a write of a controller need not leave a trace in the cluster; here it is found by trying. [Run] does
// it, for kinds that [CanTry] knows.
//
// Nothing is kept by the server: every write is sent as a dry run, and what does not support that is not sent (package
// guard). Other objects are listed, as the controllers' caches need them, and not reconciled.
//
// The writes are those of the user of the connection, not of the controller's account: a webhook or policy may decide
// otherwise for that, and what the user may not do cannot be tried.
//
// trial.go has the options, the attempts and Run; record.go gathers what the trace tells about them.
package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Object names an object.
type Object struct {
	Kind            schema.GroupKind
	Namespace, Name string
}

// Options say what is tried.
type Options struct {
	// Config is how the cluster is reached. It is not changed.
	Config *rest.Config
	// Objects are those to be reconciled; those for which CanTry is false are ignored.
	Objects []Object
	// Timeout bounds all of it; 0 is DefaultTimeout.
	Timeout time.Duration
}

// DefaultTimeout is Options.Timeout if that is 0: longer than API servers wait for a webhook by default, ten seconds.
const DefaultTimeout = 15 * time.Second

// Attempt is the reconcile of one object.
type Attempt struct {
	Object Object
	// Controller is the short name of its controller, Key the key in its queue.
	Controller, Key string
	// Writes are those that were tried on the server, in their order. Of those that are alike, such as the creation of
	// several pods of a template, there is one.
	Writes []Write
	// Error is what the reconcile failed with; empty if it did not, or only because a write was refused.
	Error string
	// Done reports whether the reconcile ended in time. Without it, Writes may be missing.
	Done bool
	// Unanswered reports whether a write is missing in Writes because it was not decided: there was no answer, or it
	// conflicted with a change by another.
	Unanswered bool
}

// Write is a write that was tried.
type Write struct {
	// Verb is the API's: create, update, patch, delete.
	Verb string
	// Resource is that of the object, with the subresource if there is one: "pods", "deployments.apps/status".
	Resource string
	// Name is that of the object, or the prefix from which it is generated, with a * after it.
	Name string
	// Code is the HTTP status of the answer, Message its error; empty if it would be accepted.
	Code    int
	Message string
	// NotPermitted means that the user may not do it, so that nothing is known of what the controller may.
	NotPermitted bool
	// NotSupported means that a webhook does not support dry runs, so that the write was not tried to its end.
	NotSupported bool
}

// Accepted reports whether the API server would accept the write.
func (w *Write) Accepted() bool { return w.Message == "" && w.Code < 400 }

// Refused reports whether the API server would refuse the write to the controller, too, as far as is known.
func (w *Write) Refused() bool { return !w.Accepted() && !w.NotPermitted && !w.NotSupported }

// controllerOf returns the short name of the controller that is tried for objects of a kind; empty if none is.
func controllerOf(kind schema.GroupKind) string {
	if kind == (schema.GroupKind{Kind: "Pod"}) {
		return "job" // which releases those whose Job is gone
	}
	c, ok := controllers.For(kind)
	if !ok || !c.IndependentKeys {
		return ""
	}
	return c.Short
}

// CanTry reports whether objects of a kind can be tried; of pods those that are being deleted, and whose Job is gone.
func CanTry(kind schema.GroupKind) bool { return controllerOf(kind) != "" }

// Run has each object reconciled once, and returns an attempt for each of them, in their order. Objects that do not
// exist have an attempt that is not Done, and so have those that are not reconciled when the time is over. The error is
// not nil if the controllers could not be started: a *runlocal.CacheError if the user may not list what they read, or
// that the time was over before they ran; or that of ctx.
func Run(ctx context.Context, o Options) (attempts []Attempt, err error) {
	attempts, selected, err := begin(o.Objects)
	if err != nil || len(attempts) == 0 {
		return attempts, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, cmp.Or(o.Timeout, DefaultTimeout), errTimeout)
	defer cancel()
	record := newRecord(attempts)
	var namespaces []string
	for _, a := range attempts {
		if !slices.Contains(namespaces, a.Object.Namespace) {
			namespaces = append(namespaces, a.Object.Namespace)
		}
	}
	session, err := runlocal.StartCluster(limited, runlocal.ClusterOptions{
		Config: endingWith(limited, o.Config), Namespaces: namespaces,
	}, runlocal.Options{
		Controllers: selected, Workers: 1, HoldKeys: true, Recorder: trace.NewRecorder(clock.RealClock{}, record),
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && errors.Is(context.Cause(limited), errTimeout):
		return nil, fmt.Errorf("starting the controllers: %w", errTimeout)
	case err != nil:
		return nil, fmt.Errorf("starting the controllers: %w", err)
	}
	defer func() { err = errors.Join(err, session.Stop()) }()
	release(limited, session, record)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return record.attempts(), nil
}

// endingWith returns a copy of config whose requests end when ctx does: a session that is stopped waits for those that
// are under way.
func endingWith(ctx context.Context, config *rest.Config) *rest.Config {
	out := rest.CopyConfig(config)
	out.Wrap(func(next http.RoundTripper) http.RoundTripper { return ending{ctx, next} })
	return out
}

type ending struct {
	ctx  context.Context
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (e ending) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(e.ctx, func() { cancel(context.Cause(e.ctx)) })
	release := func() {
		stop()
		cancel(nil)
	}
	resp, err := e.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		release()
		return nil, err
	}
	resp.Body = &endingBody{resp.Body, release}
	return resp, nil
}

// endingBody is the body of an answer, with which its request ends.
type endingBody struct {
	io.ReadCloser
	release func()
}

// Close implements io.Closer.
func (b *endingBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// errTimeout is that Options.Timeout is over.
var errTimeout = errors.New("the time is over")

// begin returns an attempt for each object that can be tried, each once, and the controllers that they need.
func begin(objects []Object) ([]Attempt, []controllers.Controller, error) {
	var attempts []Attempt
	var names []string
	for _, obj := range objects {
		name := controllerOf(obj.Kind)
		if name == "" || slices.ContainsFunc(attempts, func(a Attempt) bool { return a.Object == obj }) {
			continue
		}
		attempts = append(attempts, Attempt{Object: obj, Controller: name, Key: obj.Namespace + "/" + obj.Name})
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil, nil
	}
	selected, err := controllers.Select(names)
	if err != nil {
		return nil, nil, fmt.Errorf("selecting controllers: %w", err)
	}
	return attempts, selected, nil
}

// release has the keys of the attempts reconciled, each once, and returns when all are that are there, or ctx ends.
// When handlers have handled all that was listed, the key of an object that exists is held.
func release(ctx context.Context, session *runlocal.Session, record *record) {
	if session.WaitHeld(ctx) != nil {
		return
	}
	queues := map[string][]string{} // of a controller
	for _, c := range session.State().Controllers {
		for _, q := range c.Queues {
			queues[c.Name] = append(queues[c.Name], q.Queue)
		}
	}
	for _, k := range record.keys() {
		for _, queue := range queues[k.controller] {
			if session.ReleaseKey(k.controller, queue, k.key) {
				break
			}
		}
	}
	_ = session.WaitHeld(ctx) // what has not ended is not Done
}

// isNotPermitted reports whether a message is that of the authorizer about the user (NewForbidden of
// k8s.io/apiserver/pkg/endpoints/handlers/responsewriters), and not of admission.
func isNotPermitted(message string) bool {
	_, after, found := strings.Cut(message, `User "`)
	return found && strings.Contains(after, " cannot ") && strings.Contains(after, " resource ")
}

// isNotSupported reports whether a message is that of a webhook that has side effects (NewDryRunUnsupportedErr of
// k8s.io/apiserver/pkg/admission/plugin/webhook/errors).
func isNotSupported(message string) bool {
	return strings.Contains(message, "does not support dry run")
}
