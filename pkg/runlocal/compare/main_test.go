package compare

import (
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // upstream's server and controllers say much that no test is about
	// The handler after the one that logs waits if errors follow each other, by a clock that all share: it must not wait
	// in a bubble of synctest for what it has seen outside.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	goleak.VerifyTestMain(m)
}
