package tap

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TestUnsynced: readiness is that every informer has listed what there is.
func TestUnsynced(t *testing.T) {
	tap, _ := recording()
	source := newSource(t)
	source.Add(testPod("old", "a"))
	i := podInformer(tap, source)
	want := map[schema.GroupResource]bool{{Resource: "pods"}: true}
	if diff := cmp.Diff(want, tap.State().Unsynced); diff != "" {
		t.Errorf("before the informer runs (-want +got):\n%s", diff)
	}
	start(t, i)
	eventually(t, "the initial list", i.HasSynced)
	if got := tap.State().Unsynced; len(got) > 0 {
		t.Errorf("afterwards %v", got)
	}
}

func TestLoad(t *testing.T) {
	s := State{Controllers: []ControllerState{
		{Name: "a", Queues: []QueueState{{Queued: 3, Running: 1}, {Queued: 4}}},
		{Name: "b", AsyncWork: 1, Requests: 2, Queues: []QueueState{{Running: 2}}}, {Name: "c",
			Queues: []QueueState{{Queued: 1}}},
		{Name: "d", Requests: 1}, {Name: "e", AsyncWork: 1},
	}}
	if queued, running := s.Load(); queued != 8 || running != 5 {
		t.Errorf("%d queued, %d running, want 8 and 5", queued, running)
	}
	if got := strings.Join(s.Busy(), " "); got != "a b d e" {
		t.Errorf("busy are %s, want those that work or wait for an answer", got)
	}
}

// TestDrainLetsRunningReconcilesFinish: what was begun is ended, what is queued is not begun.
func TestDrainLetsRunningReconcilesFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap, sink := recording()
		q := newQueue(tap.Controller("deployment"))
		q.Add("a")
		k, _ := q.Get()
		q.Add("b")
		q.AddAfter("c", time.Minute)
		waiting := newQueue(tap.Controller("replicaset"))
		wasDown := make(chan bool, 1)
		go func() {
			_, down := waiting.Get()
			wasDown <- down
		}()
		synctest.Wait()

		drained := make(chan error, 1)
		go func() { drained <- tap.Drain(t.Context()) }()
		synctest.Wait()
		if down := <-wasDown; !down {
			t.Error("a worker without a key still waits for one")
		}
		select {
		case err := <-drained:
			t.Fatalf("drained with a reconcile under way: %v", err)
		case <-time.After(time.Second):
		}
		q.Add("d")
		q.Done(k)
		if err := <-drained; err != nil {
			t.Errorf("draining: %v", err)
		}
		if key, down := q.Get(); !down || key != "" {
			t.Errorf("afterwards a worker got %q, %v", key, down)
		}
		if starts, ends := details[*trace.Start](sink), details[*trace.End](sink); len(starts) != 1 || len(ends) != 1 {
			t.Errorf("%d reconciles have begun and %d ended, want the one", len(starts), len(ends))
		}
		if err := tap.Drain(t.Context()); err != nil {
			t.Errorf("draining again: %v", err)
		}
	})
}

// TestDrainGivesUp: a reconcile that hangs is named, and does not delay the end.
func TestDrainGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap, _ := recording()
		q := newQueue(tap.Controller("deployment"))
		q.Add("a")
		k, _ := q.Get()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := tap.Drain(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "deployment") {
			t.Errorf("draining: %v, want one that names the controller", err)
		}
		q.Done(k)
	})
}

// TestDrainWaitsForAnswers: requests outside of any reconcile count too.
func TestDrainWaitsForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap, _ := recording()
		answer := make(chan struct{})
		transport := &transport{c: tap.Controller("podgc"),
			next: roundTripper(func(*http.Request) (*http.Response, error) {
				<-answer
				return nil, errors.New("gone")
			})}
		go func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete,
				"https://x/api/v1/namespaces/a/pods/b", http.NoBody)
			if err == nil {
				_, err = transport.RoundTrip(req)
			}
			if err == nil {
				t.Error("the request has an answer")
			}
		}()
		synctest.Wait()
		drained := make(chan error, 1)
		go func() { drained <- tap.Drain(t.Context()) }()
		select {
		case err := <-drained:
			t.Fatalf("drained with a request in flight: %v", err)
		case <-time.After(time.Second):
		}
		close(answer)
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

// TestDrainUnderLoad: however it falls between a worker's getting a key and its being known to have one, nothing runs
// afterwards.
func TestDrainUnderLoad(t *testing.T) {
	tap, _ := recording()
	q := newQueue(tap.Controller("deployment"))
	ended := make(chan struct{})
	for range 4 {
		go func() {
			for {
				k, down := q.Get()
				if down {
					ended <- struct{}{}
					return
				}
				q.Add(k)
				q.Done(k)
			}
		}()
	}
	for _, k := range []string{"a", "b", "c", "d", "e"} {
		q.Add(k)
	}
	if err := tap.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	for range 4 {
		<-ended
	}
	for _, c := range tap.State().Controllers {
		if n := c.Queues[0].Running; n != 0 {
			t.Errorf("%d keys are still worked on", n)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestDelivered: what an informer has listed has reached its handlers, and what these hand on within a controller is
// done.
func TestDelivered(t *testing.T) {
	tap, _ := recording()
	c := tap.Controller("garbagecollector")
	r := newRelay(c, "graphChanges", plainQueue())
	defer r.ShutDown()
	if !c.Delivered() {
		t.Error("nothing is there, and not delivered")
	}
	r.Add("default/web")
	if c.Delivered() {
		t.Error("a change is on its way")
	}
	k, _ := r.Get()
	if c.Delivered() {
		t.Error("a change is being worked on")
	}
	r.Done(k)
	if !c.Delivered() {
		t.Error("every change is done")
	}
}
