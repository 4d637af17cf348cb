package treestatus

import (
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // upstream's server and controllers, in the example, log much that no test is about
	goleak.VerifyTestMain(m)
}
