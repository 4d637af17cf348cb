package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/telemetry"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/serving"
)

// Telemetry serves health, metrics, profiles and the trace of a session from before it starts until it has ended. Its
// methods do nothing on nil.
type Telemetry struct {
	address, tokenFile string

	metrics *telemetry.Metrics
	stream  *telemetry.Stream
	server  *serving.Server
	files   clientFiles
	cancel  context.CancelFunc

	target      Target
	session     atomic.Pointer[runlocal.Session]         // nil until it has started
	controllers atomic.Pointer[[]controllers.Controller] // that are to run; a start may leave some of them out
	ending      atomic.Bool
}

func newTelemetry(address, tokenFile string) *Telemetry {
	return &Telemetry{address: address, tokenFile: tokenFile, metrics: telemetry.NewMetrics(),
		stream: telemetry.NewStream()}
}

// open begins to serve and writes where. It adds sinks to out, and so must be called before the recorder is made. close
// must be called, also after an error.
func (t *Telemetry) open(ctx context.Context, target Target, out *Outputs) error {
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
	if t.files, token, err = writeClientFiles(t.tokenFile, t.server.CA); err != nil {
		return err
	}
	out.sinks = append(out.sinks, t.metrics, t.stream)
	t.setTarget(target)
	// The server outlives ctx, so that clients see how the session ends.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t.cancel = cancel
	t.server.Serve(life, telemetry.NewHandler(telemetry.Options{
		Metrics: t.metrics, Stream: t.stream, Token: token, Session: t.running, Ready: t.checks,
		Findings: out.found.Findings,
	}))
	out.Summaryf("serving %s: /healthz /readyz /metrics /trace /debug/pprof; token in %s", t.server.URL, t.files.token)
	out.Summaryf("  curl --cacert %s -H @%s %s/metrics",
		cli.ShellQuoted(filepath.Join(t.files.dir, "ca.crt")), cli.ShellQuoted(filepath.Join(t.files.dir, "header")),
		t.server.URL)
	return nil
}

// running returns the session, if it has started.
func (t *Telemetry) running() telemetry.Session {
	if s := t.session.Load(); s != nil {
		return s
	}
	return nil
}

func (t *Telemetry) setTarget(target Target) {
	t.target = target
	t.setControllers(target.Controllers())
}

func (t *Telemetry) setControllers(these []controllers.Controller) { t.controllers.Store(&these) }

// started is called when the session has started, which may have left controllers out.
func (t *Telemetry) started(s *runlocal.Session) {
	if t != nil {
		t.setControllers(t.target.Controllers())
		t.session.Store(s)
	}
}

// stopping is called when the session is about to stop.
func (t *Telemetry) stopping() {
	if t != nil {
		t.ending.Store(true)
	}
}

// close stops the server when clients that read the trace have read its end.
func (t *Telemetry) close(ctx context.Context) error {
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

// checks returns what is ready: the session, what the target adds, and each controller. It may be called concurrently,
// as soon as open has set the target.
func (t *Telemetry) checks() []telemetry.Check {
	session := telemetry.Check{Name: "session"}
	s := t.session.Load()
	switch {
	case t.ending.Load():
		session.Problem = "it is ending"
	case s == nil:
		session.Problem = "it is starting"
	}
	checks := append([]telemetry.Check{session}, t.target.Checks()...)
	for _, c := range *t.controllers.Load() {
		checks = append(checks, telemetry.Check{Name: c.Short, Problem: problem(s, c)})
	}
	return checks
}

// problem is why a controller does not see what it acts on; empty if it does.
func problem(s *runlocal.Session, c controllers.Controller) string {
	if s == nil {
		return "it has not started"
	}
	if unreadable := unreadableText(c, s.Unreadable()); unreadable != "" {
		return unreadable
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

// unreadableText says which of these resources a controller reads; empty if none. Those that no controller reads by
// name are read by the controllers that act on all kinds.
func unreadableText(c controllers.Controller, all []runlocal.Listing) string {
	allKinds := slices.Contains(c.Needs, controllers.NeedsMetadata) && slices.Contains(c.Needs, controllers.NeedsMapper)
	var names []string
	var reason error
	for _, l := range all {
		if slices.Contains(l.Controllers, c.Short) || len(l.Controllers) == 0 && allKinds {
			if names == nil {
				reason = l.Err
			}
			names = append(names, l.Resource.String())
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("it cannot read %s (%s)", cli.Enumerate(names), apierrors.ReasonForError(reason))
}

// minTokenLength keeps a file that is not meant to hold a token, such as an empty one, from being taken for one.
const minTokenLength = 16

// readToken reads the token in a file, or creates the file with one.
func readToken(path string) (string, error) {
	data, err := os.ReadFile(path) //nolint:gosec // G304: the user names it
	if errors.Is(err, os.ErrNotExist) {
		token := telemetry.NewToken()
		if err := serving.WritePrivate(path, []byte(token+"\n")); err != nil {
			return "", fmt.Errorf("writing the token file %q: %w", path, err)
		}
		return token, nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the token file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minTokenLength || strings.ContainsAny(token, " \t\r\n") {
		err := fmt.Errorf("reading the token file %q: it holds no token of %d characters or more, without blanks", path,
			minTokenLength)
		return "", cli.WithHint(err, "name a file that does not exist, and it is created with a token")
	}
	return token, nil
}

// clientFiles are what clients need, in a folder that other users cannot read.
type clientFiles struct {
	dir   string // removed at the end
	token string // the path of the file with the token
}

// writeClientFiles writes the certificate to trust, the token if path names no file for it, and the header for curl.
func writeClientFiles(path string, ca []byte) (files clientFiles, token string, err error) {
	if files.dir, err = os.MkdirTemp("", "kubectl-reconcile-"); err != nil {
		return files, "", fmt.Errorf("making a folder for the token: %w", err)
	}
	if files.token = path; path == "" {
		files.token = filepath.Join(files.dir, "token")
	}
	if token, err = readToken(files.token); err != nil {
		return files, "", errors.Join(err, files.remove())
	}
	for name, data := range map[string][]byte{"ca.crt": ca, "header": []byte("Authorization: Bearer " + token + "\n")} {
		if err := serving.WritePrivate(filepath.Join(files.dir, name), data); err != nil {
			return files, "", errors.Join(fmt.Errorf("writing what clients need to %q: %w", files.dir, err),
				files.remove())
		}
	}
	return files, token, nil
}

// remove removes the folder; a token file elsewhere stays.
func (f clientFiles) remove() error {
	if f.dir == "" {
		return nil
	}
	return os.RemoveAll(f.dir)
}
