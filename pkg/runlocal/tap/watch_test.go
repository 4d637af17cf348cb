package tap

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// handlersOf registers handlers of a controller, that are resynced or not, and returns them as they are observed.
func handlersOf(t *testing.T, i *informer, c *Controller, resync ...time.Duration) []*handler {
	t.Helper()
	var out []*handler
	for _, period := range resync {
		err := c.Build(t.Context(), func(context.Context) error {
			registration, err := i.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{}, period)
			if err == nil {
				out = append(out, i.handlers[registration])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestEachRoundOfAResyncIsToldOnce: handlers without one do not take part in it.
func TestEachRoundOfAResyncIsToldOnce(t *testing.T) {
	tap, sink := recording()
	i := podInformer(tap, newSource(t))
	i.resync = time.Hour
	handlers := handlersOf(t, i, tap.Controller("deployment"), time.Hour, 0, time.Hour)
	pod := testPod("web", "a")
	pod.ResourceVersion = "7"
	const rounds = 6
	var seqs []uint64
	for range rounds {
		for _, h := range []*handler{handlers[0], handlers[2]} {
			d := h.begin(trace.Resync, pod, pod, false)
			seqs = append(seqs, currentActivity().event.seqNumber())
			d.end()
		}
	}
	if got := len(details[*trace.Watch](sink)); got != rounds {
		t.Errorf("%d events are told of %d rounds", got, rounds)
	}
	for n := range rounds {
		if seqs[2*n] != uint64(n+1) || seqs[2*n+1] != uint64(n+1) {
			t.Errorf("round %d is event %d for one handler and %d for the other", n+1, seqs[2*n], seqs[2*n+1])
		}
	}
	if kept := len(i.events.young) + len(i.events.old); kept > 0 {
		t.Errorf("%d events are kept after the last handler", kept)
	}
}

// TestEventsThatNoHandlerWaitsForAreForgotten: of a run that has to do with some namespaces only.
func TestEventsThatNoHandlerWaitsForAreForgotten(t *testing.T) {
	tap, _ := keeping("shop")
	i := podInformer(tap, newSource(t))
	undivided := tap.Controller("podgc")
	undivided.IgnoreScope()
	all := append(handlersOf(t, i, tap.Controller("deployment"), 0, 0), handlersOf(t, i, undivided, 0)...)
	for own := range maps.Values(i.handlers) {
		if own.controller == nil {
			all = append(all, own)
		}
	}
	for n := range 100 {
		pod := testPod(fmt.Sprint("web-", n), "a")
		pod.ResourceVersion, pod.Namespace = fmt.Sprint(n+1), []string{"shop", "blog"}[n%2]
		for k := range all { // in any order
			all[(k+n)%len(all)].OnAdd(pod, false)
		}
	}
	if kept := len(i.events.young) + len(i.events.old); kept > 0 {
		t.Errorf("%d of 100 events are kept after the last handler", kept)
	}
}
