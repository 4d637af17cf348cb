package status

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/watchloop"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// statusTime is when states of tests are read.
var statusTime = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// newFollower follows targets, of widgets, and writes to out.
func newFollower(out io.Writer, clock clock.WithTicker, begins func(), targets ...connect.Target) *statusFollower {
	o := &Options{
		connection: &connect.Connection{Namespace: "shop"}, targets: connect.NewTargetFlags(), named: connect.TargetArgs{Types: []string{"widgets"}},
		streams: genericiooptions.IOStreams{Out: out, ErrOut: out}, clock: clock,
	}
	return newStatusFollower(&statusReader{options: o, cluster: &connect.Cluster{}}, targets, begins)
}

// run has a follower show what comes, until ctx ends.
func run(ctx context.Context, f *statusFollower, interval time.Duration, changes <-chan statusChange) error {
	return watchloop.Run(ctx, f.options.clock, interval, func(ctx context.Context, changed func(statusChange) error) error {
		for {
			select {
			case c := <-changes:
				if err := changed(c); err != nil {
					return err
				}
			case <-ctx.Done():
				return nil
			}
		}
	}, f)
}

// pictures keep the last that a screen drew, and count them.
type pictures struct {
	mu    sync.Mutex
	last  string
	drawn int
}

// Write implements io.Writer: a screen draws a picture in one write.
func (p *pictures) Write(picture []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.drawn = string(picture), p.drawn+1
	return len(picture), nil
}

func (p *pictures) seen() (last string, drawn int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.drawn
}

func TestStatusScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &pictures{}
		clock := testclock.NewFakeClock(statusTime)
		pass := func(d time.Duration) {
			synctest.Wait()
			clock.Step(d)
			synctest.Wait()
		}
		of := connect.Target{Target: cluster.Target{Kind: widgets(), Namespace: "shop"}}
		f := newFollower(out, clock, func() {}, of)
		f.screen = render.NewScreen(out)
		changes := make(chan statusChange)
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- run(ctx, f, coalesce, changes) }()

		changes <- statusChange{target: of, event: watch.Bookmark}
		changes <- statusChange{target: of, items: []statusItem{itemOf("shop", "a", inspect.Current, false)}}
		changes <- statusChange{target: of, event: watch.Added, items: []statusItem{itemOf("shop", "b", inspect.Failed, false)}}
		synctest.Wait()
		if got, _ := out.seen(); strings.Contains(got, "/a") {
			t.Error("it is drawn for each change, and not for all of a short time")
		}
		pass(coalesce)
		got, before := out.seen()
		if !strings.Contains(got, "/b") || strings.Index(got, "/b") > strings.Index(got, "/a") {
			t.Errorf("not both of the changes are there, the worst first: %q", got)
		}
		pass(render.RefreshInterval)
		if _, after := out.seen(); after == before {
			t.Error("ages do not grow")
		}
		changes <- statusChange{target: of, event: watch.Deleted, items: []statusItem{itemOf("shop", "b", inspect.Failed, false)}}
		pass(coalesce)
		if got, _ := out.seen(); strings.Contains(got, "/b") {
			t.Errorf("what is gone is still there: %q", got)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("to be interrupted is no error: %v", err)
		}
	})
}

// TestStatusAges: an object that nothing writes to is shown again when time alone makes it another.
func TestStatusAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &bytes.Buffer{}
		clock := testclock.NewFakeClock(statusTime)
		of := connect.Target{Target: cluster.Target{Kind: widgets(), Namespace: "shop"}}
		f := newFollower(out, clock, func() {}, of)
		item := itemOf("shop", "a", inspect.InProgress, false)
		item.Later = &inspect.Later{
			From: statusTime.Add(30 * time.Second), Drift: inspect.NeverSeen,
			Status: inspect.Status{Status: inspect.InProgress, Reason: "never seen by its controller"},
		}
		changes := make(chan statusChange)
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- run(ctx, f, render.RefreshInterval, changes) }()
		changes <- statusChange{target: of, items: []statusItem{item}}
		changes <- statusChange{target: of, event: watch.Bookmark}
		for range 29 {
			synctest.Wait()
			clock.Step(time.Second)
		}
		synctest.Wait()
		if got := out.String(); strings.Contains(got, "never seen") || !strings.Contains(got, "InProgress") {
			t.Errorf("it is shown too early, or not at all: %q", got)
		}
		clock.Step(time.Second)
		synctest.Wait()
		if got := out.String(); strings.Count(got, "never seen by its controller") != 1 {
			t.Errorf("it is not shown once: %q", got)
		}
		clock.Step(time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := out.String(); strings.Count(got, "never seen by its controller") != 1 {
			t.Errorf("it is shown again: %q", got)
		}
	})
}

func TestStatusFollowBegins(t *testing.T) {
	a, b := connect.Target{Name: "a"}, connect.Target{Name: "b"}
	begun := false
	f := newFollower(io.Discard, testclock.NewFakeClock(statusTime), func() { begun = true }, a, b)
	change := func(c statusChange) {
		if err := f.Changed(t.Context(), c); err != nil {
			t.Error(err)
		}
	}
	change(statusChange{target: a})
	change(statusChange{target: a, event: watch.Bookmark})
	change(statusChange{target: a, event: watch.Added, items: []statusItem{itemOf("shop", "a", inspect.Current, false)}})
	if err := f.Tick(t.Context()); err != nil || begun {
		t.Errorf("changes of one target are taken for those of two, or %v", err)
	}
	change(statusChange{target: b, failure: errors.New("no")})
	if !begun {
		t.Error("one is watched, the other cannot be, and it still waits")
	}
}
