package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/serving"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/telemetry"
)

// telemetryServer serves what is to be known of a session from before it starts until it has ended. Its methods do nothing
// on nil.
type telemetryServer struct {
	address, tokenFile string

	metrics *telemetry.Metrics
	stream  *telemetry.Stream
	server  *serving.Server
	files   accessFiles
	cancel  context.CancelFunc

	session     atomic.Pointer[runlocal.Session]
	controllers atomic.Pointer[[]controllers.Controller] // that are to run; a start may leave some of them out
	ending      atomic.Bool
}

func newTelemetryServer(address, tokenFile string) *telemetryServer {
	return &telemetryServer{address: address, tokenFile: tokenFile, metrics: telemetry.NewMetrics(), stream: telemetry.NewStream()}
}

// Open begins to serve and says where. It feeds on the trace, so it comes before the recorder is made. close must be called,
// also after an error.
func (t *telemetryServer) open(ctx context.Context, o *Options, out *outputs) error {
	if t == nil {
		return nil
	}
	address, _, err := telemetry.Address(t.address)
	if err != nil {
		return err
	}
	if t.server, err = serving.Listen(ctx, serving.Options{Address: address, Name: "kubectl-reconcile"}); err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return cli.WithHint(err, "--serve 0 picks a free port")
		}
		return err
	}
	var token string
	if t.files, token, err = writeAccess(t.tokenFile, t.server.CA); err != nil {
		return err
	}
	out.sinks = append(out.sinks, t.metrics, t.stream)
	t.run(o.controllers())
	// The server outlives ctx: how a session ends is worth a look too.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t.cancel = cancel
	t.server.Serve(life, telemetry.NewHandler(telemetry.Options{
		Metrics: t.metrics, Stream: t.stream, Token: token, Session: t.running,
		Ready: func() []telemetry.Check { return t.checks(o) },
	}))
	out.say("serving %s: /healthz /readyz /metrics /trace /debug/pprof; token in %s", t.server.URL, t.files.token)
	out.say("  curl --cacert %s -H @%s %s/metrics",
		cli.ShellQuoted(filepath.Join(t.files.dir, "ca.crt")), cli.ShellQuoted(filepath.Join(t.files.dir, "header")), t.server.URL)
	return nil
}

// running is what telemetry.Options asks for.
func (t *telemetryServer) running() telemetry.Session {
	if s := t.session.Load(); s != nil {
		return s
	}
	return nil
}

// Run says which controllers run, or are to.
func (t *telemetryServer) run(these []controllers.Controller) { t.controllers.Store(&these) }

// started tells that the session runs, with these controllers.
func (t *telemetryServer) started(s *runlocal.Session, with []controllers.Controller) {
	if t != nil {
		t.run(with)
		t.session.Store(s)
	}
}

// stopping tells that the session is about to end.
func (t *telemetryServer) stopping() {
	if t != nil {
		t.ending.Store(true)
	}
}

// close ends the server, and lets readers of the trace read its end first.
func (t *telemetryServer) close(ctx context.Context) error {
	if t == nil || t.server == nil {
		return nil
	}
	t.stream.Close()
	err := t.server.Close(ctx)
	if t.cancel != nil {
		t.cancel()
	}
	return errors.Join(err, t.files.remove())
}

// checks say what is ready: the API server of a cluster, the session, and each of its controllers. They are asked for
// concurrently, and while the session starts; open comes before.
func (t *telemetryServer) checks(o *Options) []telemetry.Check {
	session := telemetry.Check{Name: "session"}
	s := t.session.Load()
	switch {
	case t.ending.Load():
		session.Problem = "it is ending"
	case s == nil:
		session.Problem = "it is starting"
	}
	checks := []telemetry.Check{session}
	if o.cluster != nil {
		checks = append(checks, o.cluster.reachable())
	}
	for _, c := range *t.controllers.Load() {
		checks = append(checks, telemetry.Check{Name: c.Short, Problem: unready(s, c)})
	}
	return checks
}

// unready says why a controller does not see what it acts on; empty if it does.
func unready(s *runlocal.Session, c controllers.Controller) string {
	if s == nil {
		return "it has not started"
	}
	if lost := unreadableBy(c, s.Unreadable()); lost != "" {
		return lost
	}
	state := s.State()
	var waiting []string
	for _, r := range c.Reads {
		if state.Unsynced[r] {
			waiting = append(waiting, r.String())
		}
	}
	if len(waiting) > 0 {
		slices.Sort(waiting)
		return "waiting for " + strings.Join(waiting, ", ")
	}
	for _, observed := range state.Controllers {
		if observed.Name == c.Short && observed.Preparing {
			return "it does not watch all kinds yet"
		}
	}
	return ""
}

// unreadableBy says what of these a controller reads; empty if nothing. What nobody reads by name is read by those that act on
// whatever kinds there are.
func unreadableBy(c controllers.Controller, all []runlocal.Listing) string {
	anyKinds := slices.Contains(c.Needs, controllers.NeedsMetadata) && slices.Contains(c.Needs, controllers.NeedsMapper)
	var lost []runlocal.Listing
	for _, l := range all {
		if slices.Contains(l.Controllers, c.Short) || len(l.Controllers) == 0 && anyKinds {
			lost = append(lost, l)
		}
	}
	if len(lost) == 0 {
		return ""
	}
	return fmt.Sprintf("it cannot read %s (%s)", cli.Enumerate(listingNames(lost)), apierrors.ReasonForError(lost[0].Err))
}
