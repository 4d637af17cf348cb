package scenarios

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Version is a write of one object, as watches show it.
type Version struct {
	Resource schema.GroupResource
	// Before and After are the object before and after the write: Before is nil if it was created, After if it is gone.
	// Both are shared, and must not be changed.
	Before, After *unstructured.Unstructured
	// ResourceVersion is that of the write.
	ResourceVersion uint64
}

// record keeps a write, if the space is recorded. The observer's lock must be held.
func (s *space) record(resource schema.GroupResource, before, after *unstructured.Unstructured) {
	if !s.recording {
		return
	}
	written := after
	if written == nil {
		written = before // the last event of an object has the version of its deletion
	}
	version, err := strconv.ParseUint(written.GetResourceVersion(), 10, 64)
	if err != nil {
		return // of no API server
	}
	s.versions = append(s.versions, Version{Resource: resource, Before: before, After: after, ResourceVersion: version})
}

// Played is a scenario whose steps have been played, and of which nothing was removed yet. Its methods must not be
// called concurrently.
type Played struct{ p *play }

// Step plays one step more, which may be invalid: then it fails.
func (d Played) Step(ctx context.Context, s *Step) error { return d.p.step(ctx, s) }

// Settle waits until nothing has changed for so long that late writes have come, too.
func (d Played) Settle(ctx context.Context) error {
	return d.p.observer.settle(ctx, d.p.scenario.Name, nil, settleTicks)
}

// Manifests reads manifests as those of a step.
func (d Played) Manifests(of []json.RawMessage) ([]*unstructured.Unstructured, error) {
	return d.p.manifests(of)
}

// Objects returns the objects that there are now, as Outcome.Objects has those of the end, which are shared and must
// not be changed.
func (d Played) Objects() []Object {
	d.p.observer.mu.Lock()
	defer d.p.observer.mu.Unlock()
	var out []Object
	for uid, known := range d.p.observer.space(d.p.scenario.Name).objects {
		if !d.p.before[uid] && known.resource.Resource != "events" {
			out = append(out, Object{known.resource.String(), known.object})
		}
	}
	return out
}

// Record has all writes from now on kept for Versions.
func (d Played) Record() {
	d.p.observer.mu.Lock()
	defer d.p.observer.mu.Unlock()
	d.p.observer.space(d.p.scenario.Name).recording = true
}

// Versions returns the writes since Record, oldest first.
func (d Played) Versions() []Version {
	d.p.observer.mu.Lock()
	defer d.p.observer.mu.Unlock()
	out := slices.Clone(d.p.observer.space(d.p.scenario.Name).versions)
	slices.SortFunc(out, func(a, b Version) int { return cmp.Compare(a.ResourceVersion, b.ResourceVersion) })
	return out
}
