package recorder

import (
	"context"
	"time"
)

// rediscoveryPauses are when kinds are discovered again after a CustomResourceDefinition has changed: a server lists
// its kind a little after it was accepted.
var rediscoveryPauses = [...]time.Duration{200 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second}

// kindsChanged is called when an object of a selection has changed.
func (r *Recorder) kindsChanged(s *Selection) {
	if r.options.Rediscover == nil || s.Kind.GroupResource() != crdResource() {
		return
	}
	select {
	case r.newKinds <- struct{}{}:
	default:
	}
}

// rediscover adds streams for kinds that are new, until ctx ends.
func (r *Recorder) rediscover(ctx context.Context, a *apiClient) {
	for next := len(rediscoveryPauses); ; {
		if next == len(rediscoveryPauses) {
			select {
			case <-ctx.Done():
				return
			case <-r.newKinds:
				next = 0
			}
		}
		if !wait(ctx, r.options.Clock, rediscoveryPauses[next], nil) {
			return
		}
		next++
		select {
		case <-r.newKinds:
			next = 0
		default:
		}
		found, err := r.options.Rediscover(ctx)
		if err != nil {
			continue // it is tried again; a server that is gone is in the records of the other streams
		}
		for _, s := range found {
			r.add(ctx, a, s, func() {})
		}
	}
}
