package recorder

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
)

// awaitInterval is how often Await looks.
const awaitInterval = 2 * time.Millisecond

// Await returns when each stream has recorded the newest event of its resource, whose resource version last returns, 0
// if there is none; or when ctx ends. It is for a server in this process, which is about to be stopped, and for streams
// of all namespaces without selectors: others may never have that event.
func (r *Recorder) Await(ctx context.Context, last func(schema.GroupResource) uint64) {
	for !r.journal.reached(last) && wait(ctx, r.options.Clock, awaitInterval, nil) {
	}
}

// reached reports whether all streams have the newest events.
func (j *journal) reached(last func(schema.GroupResource) uint64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range j.streams {
		version := snapshot.VersionNumber(s.version)
		if version != 0 && version < last(s.definition.GroupResource()) {
			return false
		}
	}
	return true
}
