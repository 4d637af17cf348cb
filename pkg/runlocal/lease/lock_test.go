package lease

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

func TestName(t *testing.T) {
	for _, row := range []struct {
		reason        string
		shard, shards int
		want          string
	}{
		{"who has all namespaces", 0, 0, "kubectl-reconcile"},
		{"each shard has its own holder", 2, 5, "kubectl-reconcile-2-of-5"},
		{"one shard of one is still not a runner without shards", 1, 1, "kubectl-reconcile-1-of-1"},
	} {
		if got := Name(row.shard, row.shards); got != row.want {
			t.Errorf("%s: Name(%d, %d) = %q, want %q", row.reason, row.shard, row.shards, got, row.want)
		}
	}
}

// pass lets time pass, which is not real in a bubble.
func pass(d time.Duration) { <-time.After(d) }

// recordHolder acquires the Lease, which must be free.
func held(t *testing.T, o Options) *Lock {
	t.Helper()
	h, err := Acquire(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestSecondWaitsAndTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		first := held(t, Options{Client: s, Name: "l", Identity: "one"})
		var waited []string
		got := make(chan *Lock, 1)
		go func() {
			second, err := Acquire(t.Context(), Options{Client: s, Name: "l", Identity: "two", OnWaiting: func(holder string) { waited = append(waited, holder) }})
			if err != nil {
				t.Error(err)
			}
			got <- second
		}()
		pass(10 * time.Minute)
		if len(got) > 0 || s.holder() != "one" {
			t.Fatalf("the holder is %q after ten minutes in which one renewed the Lease", s.holder())
		}
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		second := <-got
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("two waited %s for a Lease that was released, not only until the next read", took)
		}
		if diff := cmp.Diff([]string{"one"}, waited); diff != "" {
			t.Errorf("whom it waited for, once (-want +got):\n%s", diff)
		}
		if err := errors.Join(second.Err(), second.Release(t.Context())); err != nil || s.holder() != "" {
			t.Errorf("released with %v; holder %q", err, s.holder())
		}
	})
}

func TestReleaseAfterARenewalThatWasCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		h := held(t, Options{Client: s, Name: "l", Identity: "one"})
		s.mu.Lock()
		s.late = true
		s.mu.Unlock()
		if err := h.Release(t.Context()); err != nil || s.holder() != "" {
			t.Errorf("released with %v; holder %q", err, s.holder())
		}
	})
}

func TestLost(t *testing.T) {
	foreign := func(s *store) {
		s.set(func(spec *coordinationv1.LeaseSpec) { spec.HolderIdentity = new("thief") })
	}
	for _, row := range []struct {
		reason string
		do     func(*store)
		within time.Duration
		why    string
	}{
		{"nothing can be renewed: the deadline counts from the last success, up to one retry before",
			func(s *store) { s.failing(errors.New("no route to host")) }, DefaultDeadline + DefaultRetry, "could not be renewed for 10s: no route to host"},
		{"permission that is taken away may come back until the deadline",
			func(s *store) { s.failing(apierrors.NewForbidden(leases, "l", errors.New("revoked"))) }, DefaultDeadline + DefaultRetry, "revoked"},
		{"another process is the holder: two would act until the deadline if it waited", foreign, DefaultRetry, "thief has taken it"},
	} {
		t.Run(row.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &store{}
				h := held(t, Options{Client: s, Name: "l", Identity: "one"})
				pass(time.Minute)
				if h.Err() != nil {
					t.Fatal(h.Err())
				}
				begin := time.Now()
				row.do(s)
				<-h.Lost()
				if took := time.Since(begin); took > row.within {
					t.Errorf("%s: lost after %s, want %s at most", row.reason, took, row.within)
				}
				lost := (*LostError)(nil)
				if !errors.As(h.Err(), &lost) || !strings.Contains(h.Err().Error(), row.why) {
					t.Errorf("lost because of %v, want %q", h.Err(), row.why)
				}
				before := s.holder()
				if err := h.Release(t.Context()); err != nil || s.holder() != before {
					t.Errorf("releasing what is lost: %v; the holder was %q and is %q", err, before, s.holder())
				}
			})
		})
	}
}

// TestLostTellsTheCause: the last try is cut off by the deadline, which is not what went wrong.
func TestLostTellsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		h := held(t, Options{Client: s, Name: "l", Identity: "one"})
		s.failing(apierrors.NewForbidden(leases, "l", errors.New("revoked")))
		pass(DefaultDeadline - DefaultRetry)
		s.hanging(true)
		<-h.Lost()
		if err := h.Err(); !apierrors.IsForbidden(err) {
			t.Errorf("lost because of %v", err)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTroubleIsToldOnceAndHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, reported := &store{}, []string(nil)
		h := held(t, Options{Client: s, Name: "l", Identity: "one", OnError: func(err error) {
			if err == nil {
				err = errors.New("healed")
			}
			reported = append(reported, err.Error())
		}})
		for range 2 {
			s.failing(errors.New("no route to host"))
			pass(DefaultDeadline / 2)
			s.failing(nil)
			pass(time.Minute)
		}
		if err := errors.Join(h.Err(), h.Release(t.Context())); err != nil {
			t.Error(err)
		}
		want := []string{"no route to host", "healed", "no route to host", "healed"}
		if diff := cmp.Diff(want, reported); diff != "" {
			t.Errorf("errors (-want +got):\n%s", diff)
		}
	})
}

func TestHopeless(t *testing.T) {
	for _, row := range []struct {
		reason string
		err    error
	}{
		{"who may not write it will never hold it", apierrors.NewForbidden(leases, "l", errors.New("no role"))},
		{"a Lease whose spec is refused", apierrors.NewInvalid(coordinationv1.SchemeGroupVersion.WithKind("Lease").GroupKind(), "l", nil)},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{fail: row.err}
			if _, err := Acquire(t.Context(), Options{Client: s, Name: "l", Identity: "one"}); !errors.Is(err,
				row.err) {
				t.Errorf("%s: %v, want %v", row.reason, err, row.err)
			}
		})
	}
}

func TestUnreachableWaitsUntilInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, failures := &store{fail: errors.New("connection refused")}, 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := Acquire(ctx, Options{Client: s, Name: "l", Identity: "one", OnError: func(error) { failures++ }})
		if !errors.Is(err, context.DeadlineExceeded) || failures != 1 || s.calls < 100 {
			t.Errorf("ended by %v, with %d failures reported, after %d requests; want the context's error, 1, and many",
				err, failures, s.calls)
		}
	})
}

// TestInterruptedWhileItIsAcquired: a Lease that was acquired when the caller no longer wanted it keeps the next one
// waiting for nothing.
func TestInterruptedWhileItIsAcquired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{mute: true}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Acquire(ctx, Options{Client: s, Name: "l", Identity: "one"})
		if !errors.Is(err, context.DeadlineExceeded) || s.holder() != "" {
			t.Errorf("ended by %v; holder %q", err, s.holder())
		}
	})
}

// TestInterruptedBeforeItIsAcquired: what was never requested is not released.
func TestInterruptedBeforeItIsAcquired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := manager(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Acquire(ctx, Options{Client: s, Name: ManagerName, Identity: "one"})
		if !errors.Is(err, context.DeadlineExceeded) || s.calls != 1 {
			t.Errorf("ended by %v after %d requests", err, s.calls)
		}
	})
}

// TestHolderWithAnotherClock: the times in a Lease are by the clock of its holder, which may jump.
func TestHolderWithAnotherClock(t *testing.T) {
	for _, row := range []struct {
		reason string
		jump   func(renewal int) time.Duration
	}{
		{"a clock that is an hour behind says that the Lease has expired", func(int) time.Duration { return -time.Hour }},
		{"a clock that is a day ahead says that it never will", func(int) time.Duration { return 24 * time.Hour }},
		{"a clock that jumps there and back", func(n int) time.Duration { return time.Duration(n%3-1) * time.Hour }},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{}
			renew := func(n int) {
				s.set(func(spec *coordinationv1.LeaseSpec) {
					spec.HolderIdentity, spec.LeaseDurationSeconds = new("skewed"), new(int32(15))
					spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(row.jump(n))}
				})
			}
			renew(0)
			got := make(chan *Lock, 1)
			go func() {
				h, err := Acquire(t.Context(), Options{Client: s, Name: "l", Identity: "one"})
				if err != nil {
					t.Error(err)
				}
				got <- h
			}()
			for n := range 100 {
				pass(DefaultDeadline)
				renew(n)
			}
			if len(got) > 0 {
				t.Fatalf("%s: the Lease was taken from a holder that renewed it", row.reason)
			}
			begin := time.Now()
			h := <-got
			// two reads, 2.2 retries apart at most
			if took := time.Since(begin); took < DefaultDuration || took > DefaultDuration+5*DefaultRetry {
				t.Errorf("%s: taken %s after the last renewal, want %s", row.reason, took, DefaultDuration)
			}
			if err := h.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOnAnAPI has two processes hold a Lease of a real API after each other. Only the tries are fast: a renewal may
// take as long as a busy machine needs, and the second acquires the Lease because it is released, not because it
// expires.
func TestOnAnAPI(t *testing.T) {
	server, err := api.Start(t.Context(), api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	client := kubernetes.NewForConfigOrDie(server.Config()).CoordinationV1()
	o := Options{Client: client, Name: Name(0, 0), Identity: "one", Retry: 20 * time.Millisecond,
		Deadline: 2 * time.Minute, Duration: 4 * time.Minute}
	first := held(t, o)
	who, _, err := HolderOf(t.Context(), client, DefaultNamespace, o.Name)
	if err != nil || who == nil || who.Identity != "one" {
		t.Fatalf("the holder is %+v (%v), want one", who, err)
	}
	live, err := WaitForRenewal(t.Context(), client, DefaultNamespace, o.Name, who, time.Millisecond)
	if err != nil || live == nil || live.Identity != "one" {
		t.Errorf("seen to be live: %+v (%v), want one", live, err)
	}
	if err := first.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.Identity = "two"
	second := held(t, o)
	if err := second.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if who, _, err = HolderOf(t.Context(), client, DefaultNamespace, o.Name); err != nil || who != nil {
		t.Errorf("the holder is %+v (%v) after the release, want none", who, err)
	}
}
