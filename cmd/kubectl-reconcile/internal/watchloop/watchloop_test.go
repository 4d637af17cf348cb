package watchloop

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

// notes is a view that writes down what it is given. What it is to fail at, it returns as an error.
type notes struct {
	seen []string
	fail string
}

func (n *notes) note(what string) error {
	n.seen = append(n.seen, what) // the race detector finds calls at the same time
	if what == n.fail {
		return errors.New(what)
	}
	return nil
}

func (n *notes) Changed(_ context.Context, c string) error { return n.note(c) }

func (n *notes) Tick(context.Context) error { return n.note("tick") }

func TestRun(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name, fail string
		changes    func(ctx context.Context, changed func(string) error) error
		want       []string
		err        string
		reason     string
	}{
		{"all is shown", "", func(ctx context.Context, changed func(string) error) error {
			_ = changed("a")
			<-ctx.Done()
			return nil
		}, []string{"a", "tick", "tick", "tick"}, "", "the end of ctx is no error"},
		{"a change fails", "b", func(_ context.Context, changed func(string) error) error {
			return errors.Join(changed("a"), changed("b"), changed("c"))
		}, []string{"a", "b"}, "b", "nothing is shown after an error"},
		{"a tick fails", "tick", func(ctx context.Context, _ func(string) error) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, []string{"tick"}, "tick", "it ends what lists and watches"},
		{"nothing can be watched", "", func(context.Context, func(string) error) error { return broken }, nil, "broken", "its own error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
				defer cancel()
				n := &notes{fail: tt.fail}
				err := Run(ctx, clock.RealClock{}, time.Second, tt.changes, n)
				if diff := cmp.Diff(tt.want, n.seen); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
				}
				got := ""
				if err != nil {
					got = err.Error()
				}
				if got != tt.err {
					t.Errorf("error %q, want %q: %s", got, tt.err, tt.reason)
				}
			})
		})
	}
}
