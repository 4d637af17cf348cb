package nodes

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that nothing is left running by the tests. Klog's flusher is the process's.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}
