package moment

import (
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// TestMain keeps what the API server logs out of the tests' output.
func TestMain(m *testing.M) {
	if err := cli.SetUpKlog(render.Normal); err != nil {
		panic(err)
	}
	m.Run()
}
