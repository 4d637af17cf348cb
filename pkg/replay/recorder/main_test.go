package recorder

import (
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api/apitest"
)

// history is how many events a resource of the servers keeps: after more, a watch that was cut has expired.
const history = 12

var servers = apitest.NewPool(api.Options{History: history})

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // upstream's server logs much that no test is about
	goleak.VerifyTestMain(apitest.Main{M: m, Pools: []*apitest.Pool{servers}})
}
