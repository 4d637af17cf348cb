package lease

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// jumpy is a clock whose wall jumps, and whose monotonic part does not.
type jumpy struct {
	clock.PassiveClock
	start time.Time

	mu              sync.Mutex
	monotonic, wall time.Duration
}

func (j *jumpy) jump(monotonic, wall time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.monotonic, j.wall = monotonic, wall
}

// Now returns a time of both clocks. That one can be told from the other is the runtime's doing: a sum moves both.
func (j *jumpy) Now() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.wall != 0 {
		return j.start.Round(0).Add(j.monotonic + j.wall) // without the monotonic part the wall's is what is compared
	}
	return j.start.Add(j.monotonic)
}

type counting int

func (c *counting) RoundTrip(*http.Request) (*http.Response, error) {
	*c++
	return httptest.NewRecorder().Result(), nil
}

func TestFence(t *testing.T) {
	for _, row := range []struct {
		reason string
		method string
		after  time.Duration // on both clocks, without a renewal
		jump   time.Duration // of the wall clock alone
		passes bool
	}{
		{"a write, just after a renewal", http.MethodPost, time.Second, 0, true},
		{"a write when it could not be renewed for the duration", http.MethodPut, DefaultDuration, 0, false},
		{"a read needs no Lease", http.MethodGet, time.Hour, 0, true},
		{"the machine was asleep: the wall clock alone has gone on", http.MethodPatch, time.Second, time.Hour, false},
		{"a clock that jumps back says nothing about who holds the Lease", http.MethodDelete, time.Second, -time.Hour, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			now := &jumpy{start: time.Now()}
			h := held(t, Options{Client: &store{}, Name: "l", Identity: "one", Clock: now})
			now.jump(row.after, row.jump)
			var next counting
			request := httptest.NewRequestWithContext(t.Context(), row.method, "/api/v1/namespaces",
				strings.NewReader("{}"))
			_, err := h.Fence(&next).RoundTrip(request)
			lost := (*LostError)(nil)
			if passed := next == 1; passed != row.passes || passed == errors.As(err, &lost) {
				t.Errorf("%s: passed: %t (%v), want %t", row.reason, passed, err, row.passes)
			}
			if err := h.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFenceAfterSleep: while the machine slept another may have begun to write that has a Lease of another name. That
// ours can be renewed says nothing about that one.
func TestFenceAfterSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := &jumpy{start: time.Now()}
		h := held(t, Options{Client: &store{}, Name: "l", Identity: "one", Clock: now})
		now.jump(time.Second, time.Hour)
		<-h.Lost()
		lost := (*LostError)(nil)
		if err := h.Valid(); !errors.As(err, &lost) || !errors.Is(err, errStale) {
			t.Errorf("after a renewal: %v", err)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestFenceAfterRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := held(t, Options{Client: &store{}, Name: "l", Identity: "one"})
		if err := h.Valid(); err != nil {
			t.Fatal(err)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := h.Valid(); !errors.Is(err, errReleased) {
			t.Errorf("a write may pass after the Lease was released: %v", err)
		}
	})
}

func TestFenceAfterLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		h := held(t, Options{Client: s, Name: "l", Identity: "one"})
		s.failing(errors.New("no route to host"))
		<-h.Lost()
		var next counting
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/namespaces", http.NoBody)
		if _, err := h.Fence(&next).RoundTrip(request); err == nil || next != 0 {
			t.Errorf("a write passed (%v) after the Lease was lost", err)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestFenceIsClosed: from then on nothing is written, although the Lease is held.
func TestFenceIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		h := held(t, Options{Client: s, Name: "l", Identity: "one"})
		why := errors.New("kube-controller-manager runs")
		h.Invalidate(why)
		h.Invalidate(errors.New("too late"))
		var next counting
		for method, passes := range map[string]int{http.MethodPost: 0, http.MethodGet: 1} {
			next = 0
			request := httptest.NewRequestWithContext(t.Context(), method, "/api/v1/namespaces", http.NoBody)
			_, err := h.Fence(&next).RoundTrip(request)
			fenced := (*FencedError)(nil)
			if int(next) != passes || passes == 0 && (!errors.As(err, &fenced) || !errors.Is(err, why)) {
				t.Errorf("a %s passed %d times (%v), want %d", method, next, err, passes)
			}
		}
		if h.Err() != nil {
			t.Errorf("the Lease is lost: %v", h.Err())
		}
		if err := h.Release(t.Context()); err != nil || s.holder() != "" {
			t.Errorf("the Lease is held by %q after it was given back (%v)", s.holder(), err)
		}
	})
}
