package connect

import (
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

func TestReadingText(t *testing.T) {
	for _, tt := range []struct{ reason, got, want string }{
		{"nothing read", progressText(cluster.Progress{Kinds: 80}), "reading: 0 of 80 kinds"},
		{"the server does not say how many there are", progressText(cluster.Progress{Kinds: 80, Done: 12, Objects: 1, Expected: 1}), "reading: 12 of 80 kinds, 1 object"},
		{"it does", progressText(cluster.Progress{Kinds: 80, Done: 12, Objects: 31000, Expected: 80000}), "reading: 12 of 80 kinds, 31000 of 80000 objects"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, tt.got, tt.want)
		}
	}
}
