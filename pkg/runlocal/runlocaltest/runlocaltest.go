// Package runlocaltest runs sessions of Kubernetes' controllers in tests. A session ends with its test, which fails if
// goroutines of it are left, and has the trace in its log if it fails.
//
// [Start] starts a session, [ApplyReady] has its controllers make objects ready, and [AssertQuiescent] finds those that
// do not come to rest; [MaxReconciles] bounds how often a controller may reconcile. What a session can do beside is in
// package runlocal, what its pods do in package nodes. The controllers under test are Kubernetes' own; others are
// clients, by the Config of the session.
//
// What Kubernetes' own code logs goes to klog: klog.SetLogger(logr.Discard()) in TestMain silences it, and not the
// trace.
package runlocaltest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

const (
	// settleTimeout is how long ApplyReady waits until objects are ready, and AssertQuiescent until nothing is left to
	// do.
	settleTimeout = time.Minute
	// quietTime is how long AssertQuiescent looks on then.
	quietTime = time.Second
)

// Session is a session of a test. Its methods may be called concurrently.
type Session struct {
	*runlocal.Session
	// History has the trace; nil if Options.Recorder was set.
	History *trace.History
}

// Start starts a session that is stopped when the test and its subtests end. The test fails if the session cannot start
// or stop, or if goroutines are left that were not there before: those of other tests count, and so tests that start
// sessions must not run in parallel. If the test has failed, the trace is in its log, one event a line, as JSON;
// unless Options.Recorder is set, which gets the trace then.
func Start(t testing.TB, o runlocal.Options) *Session {
	t.Helper()
	before := goleak.IgnoreCurrent()
	s := &Session{}
	if o.Recorder == nil {
		s.History = &trace.History{}
		o.Recorder = trace.NewRecorder(clock.RealClock{}, s.History)
	}
	var err error
	// Stop ends the session, in order: the context of the test ends before its cleanup functions are called.
	if s.Session, err = runlocal.Start(context.WithoutCancel(t.Context()), o); err != nil {
		t.Fatalf("starting a session: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stopping the session: %v", err)
		}
		goleak.VerifyNone(t, before)
		if t.Failed() && s.History != nil {
			t.Logf("the trace of the session:\n%s", traceText(s.History))
		}
	})
	return s
}

// ApplyReady applies the objects of YAML documents or of JSON, and returns them when they are ready, workloads with all
// their pods: runlocal.ParseManifests, Session.Apply and Session.WaitReady in one call. The test ends at once if one of
// these fails, or if they are not ready within a minute.
func ApplyReady(t testing.TB, s *Session, namespace, manifests string) []runlocal.Applied {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleTimeout)
	defer cancel()
	objects, err := runlocal.ParseManifests(strings.NewReader(manifests))
	if err != nil {
		t.Fatalf("reading objects: %v", err)
	}
	applied, err := s.Apply(ctx, namespace, objects)
	if err != nil {
		t.Fatalf("applying objects: %v", err)
	}
	if err := s.WaitReady(ctx, applied); err != nil {
		t.Fatalf("waiting until objects are ready: %v", err)
	}
	return applied
}

// AssertQuiescent fails the test if the controllers go on writing though nothing has happened that they would have to
// act on, as two that undo each other's writes do: if the session does not settle within a minute, or if there are
// writes within a second after that. Then it names what repeats without progress, as package findings finds it.
// Leases, which nodes renew, and Events do not count. Session.History must not be nil.
func AssertQuiescent(t testing.TB, s *Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleTimeout)
	defer cancel()
	began := s.lastEvent()
	err := s.WaitSettled(ctx)
	if ctx.Err() == nil && err == nil {
		began = s.lastEvent()
		select {
		case <-time.After(quietTime):
		case <-ctx.Done():
		}
	}
	switch written := s.writesAfter(began); {
	case err != nil:
		t.Errorf("the controllers have not settled: %v; meanwhile they wrote:\n%s%s", err, written, s.findings())
	case written != "":
		t.Errorf("the controllers had settled, and go on writing:\n%s%s", written, s.findings())
	}
}

// MaxReconciles fails the test if a controller has reconciled more than n times since the session began, and lists the
// keys of its queues. The test ends at once if the session has no controller of that short name. Session.History must
// not be nil.
func MaxReconciles(t testing.TB, s *Session, controller string, n int) {
	t.Helper()
	var names []string
	for _, c := range s.State().Controllers {
		names = append(names, c.Name)
	}
	if !slices.Contains(names, controller) {
		t.Fatalf("the session has no controller %q, but %s", controller, strings.Join(names, ", "))
	}
	total, keys := 0, map[string]int{}
	for e := range s.History.All() {
		if e.Type() == trace.TypeStart && e.Controller == controller {
			total++
			keys[e.Key]++
		}
	}
	if total > n {
		t.Errorf("%s has reconciled %d times, more than %d:\n%s", controller, total, n, countLines(keys))
	}
}

// findings lists what repeated without progress in the session; empty if nothing did.
func (s *Session) findings() string {
	detector := findings.NewDetector(nil, nil)
	for e := range s.History.All() {
		detector.Record(&e)
	}
	var out strings.Builder
	for _, f := range detector.Findings() {
		fmt.Fprintf(&out, "\n%s: ", f.Type)
		if f.Object != nil {
			fmt.Fprintf(&out, "%s %s/%s by %s", f.Object.Kind, f.Object.Namespace, f.Object.Name,
				strings.Join(f.Writers, " and "))
		} else {
			fmt.Fprintf(&out, "%s %s", f.Controller, strings.Join(f.Keys, ", "))
		}
		for _, a := range f.Fields {
			fmt.Fprintf(&out, ", %s", a.Field)
		}
	}
	return out.String()
}

// lastEvent returns the Seq of the newest event.
func (s *Session) lastEvent() (seq uint64) {
	for e := range s.History.All() {
		seq = e.Seq
	}
	return seq
}

// writesAfter lists the writes of controllers after an event, a line for all that are alike; empty if there are none.
func (s *Session) writesAfter(seq uint64) string {
	counts := map[string]int{}
	for e := range s.History.All() {
		r, ok := e.Detail.(*trace.Request)
		if ok && e.Seq > seq && r.ChangesObjects() && r.Resource != "leases" {
			name := strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
			counts[fmt.Sprintf("%s of %s: %s %s %s", e.Controller, e.Key, r.Verb, r.Resource, name)]++
		}
	}
	return countLines(counts)
}

// countLines lists what was counted, a line each.
func countLines(counts map[string]int) string {
	var lines []string
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%4d × %s", counts[line], line))
	}
	return strings.Join(lines, "\n")
}

// traceText returns the events, each as a line of JSON.
func traceText(h *trace.History) string {
	var out bytes.Buffer
	w := trace.NewWriter(&out)
	for e := range h.All() {
		w.Record(&e)
	}
	return out.String()
}
