package realcluster

import (
	"context"
	"fmt"
	"time"
)

// await asks until the answer is yes, ctx ends or a process of the home does. The last error of ask is told then.
func (h *home) await(ctx context.Context, what string, ask func(context.Context) (bool, error)) error {
	ticker := time.NewTicker(25 * time.Millisecond)
	defer ticker.Stop()
	for {
		ended := h.ended() // first: it may do what is waited for and end at once
		ok, err := ask(ctx)
		if ok {
			return nil
		}
		if ended != nil {
			return ended
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("waiting for %s: %w", what, err)
		case <-ticker.C:
		}
	}
}
