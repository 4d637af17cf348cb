package runlocal

import (
	"context"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// StopTimeout bounds how long Session.Stop lets reconciles finish that are under way.
const StopTimeout = 10 * time.Second

// drainer returns a function that lets no controller take another key, and waits while those that have taken one finish
// it: interrupted in the middle, it would be half done and fail for no other reason. Controllers that take longer than
// StopTimeout, or than life, are interrupted all the same.
func drainer(life context.Context, t *tap.Tap) func() {
	return func() {
		ctx, cancel := context.WithTimeout(life, StopTimeout)
		defer cancel()
		_ = t.Drain(ctx) // those that are late are interrupted next, which their reconciles report
	}
}
