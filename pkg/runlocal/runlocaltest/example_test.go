package runlocaltest_test

import (
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/runlocaltest"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
`

func TestWeb(t *testing.T) {
	session := runlocaltest.Start(t, runlocal.Options{Controllers: runlocal.Names("deployment", "replicaset")})
	runlocaltest.ApplyReady(t, session, "default", web)
	runlocaltest.AssertQuiescent(t, session)
}

// A test of two controllers: TestWeb of this package.
func Example() {
	var t *testing.T // of the test
	TestWeb(t)
}
