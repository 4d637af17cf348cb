package runlocal

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPollBacksOff: checking a session with many objects must not take the time of its controllers.
func TestPollBacksOff(t *testing.T) {
	for _, tt := range []struct {
		reason      string
		took        time.Duration // of a check
		least, most int           // checks in ten seconds
	}{
		{"a check that takes no time is made often", 0, 1900, 2001},
		{"a check that takes long is made seldom", 100 * time.Millisecond, 9, 11},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			checks := 0
			err := (&Session{}).poll(ctx, func() (bool, error) {
				checks++
				<-time.After(tt.took)
				return false, nil
			})
			if !errors.Is(err, context.DeadlineExceeded) || checks < tt.least || checks > tt.most {
				t.Errorf("%s: %d checks, want %d to %d; %v", tt.reason, checks, tt.least, tt.most, err)
			}
		})
	}
}

// TestPollChecksFirst: also when there is no time left.
func TestPollChecksFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&Session{}).poll(ctx, func() (bool, error) { return true, nil }); err != nil {
		t.Error(err)
	}
}
