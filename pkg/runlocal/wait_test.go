package runlocal

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPollRests: looking at a session of which much is to be seen must not take the time of those who work in it.
func TestPollRests(t *testing.T) {
	for _, tt := range []struct {
		reason      string
		took        time.Duration // of a look
		least, most int           // looks in ten seconds
	}{
		{"a look that takes nothing is taken often", 0, 1900, 2001},
		{"a look that takes long is taken seldom", 100 * time.Millisecond, 9, 11},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			looks := 0
			err := (&Session{}).poll(ctx, func() (bool, error) {
				looks++
				<-time.After(tt.took)
				return false, nil
			})
			if !errors.Is(err, context.DeadlineExceeded) || looks < tt.least || looks > tt.most {
				t.Errorf("%s: %d looks, want %d to %d; %v", tt.reason, looks, tt.least, tt.most, err)
			}
		})
	}
}

// TestPollLooksFirst: also when there is no time left.
func TestPollLooksFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&Session{}).poll(ctx, func() (bool, error) { return true, nil }); err != nil {
		t.Error(err)
	}
}
