package session

import (
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

func TestProgressTexts(t *testing.T) {
	current, late := objectOf("", "Pod", "a", "Current"), objectOf("", "Pod", "b", "InProgress")
	for _, tt := range []struct{ reason, got, want string }{
		{"ready", readyProgress([]runlocal.ObjectStatus{current, late, late}), "waiting: 1 of 3 ready"},
		{"settled", settledProgress(7, 4), "waiting until nothing is left to do: 7 keys queued, 4 worked on"},
		{"settling", settledProgress(0, 0), "waiting until nothing is left to do"},
		{"a time", elapsedProgress(12*time.Second, 30*time.Second), "running: 12s of 30s"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, tt.got, tt.want)
		}
	}
}
