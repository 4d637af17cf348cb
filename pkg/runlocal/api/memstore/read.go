package memstore

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3/metrics"
)

// Versioner implements storage.Interface.
func (r *resource) Versioner() storage.Versioner {
	return r.versioner
}

// ReadinessCheck implements storage.Interface.
func (r *resource) ReadinessCheck() error {
	return r.store.Ready()
}

// GetCurrentResourceVersion implements storage.Interface.
func (r *resource) GetCurrentResourceVersion(context.Context) (uint64, error) {
	r.table.mu.RLock()
	defer r.table.mu.RUnlock()
	return r.table.revision(), nil
}

// CompactRevision implements storage.Interface: the revision last given to Store.Compact, 0 if there was none. Events
// dropped from a full history do not count, as those that the watch cache drops do not.
func (r *resource) CompactRevision() int64 {
	return signed(r.store.compacted.Load())
}

// Get implements storage.Interface. What it reads is always current.
func (r *resource) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	key, err := r.key(key, false)
	if err != nil {
		return err
	}
	if _, err := r.versioner.ParseResourceVersion(opts.ResourceVersion); err != nil && r.table.mode != Uncached {
		return err // as it is, like the watch cache: clients get an internal error
	}
	began := time.Now()
	e, revision := r.table.get(key)
	metrics.RecordEtcdRequest("get", r.groupResource, nil, began)
	if err := r.atLeast(opts.ResourceVersion, revision); err != nil {
		return err
	}
	if e == nil {
		if opts.IgnoreNotFound {
			return runtime.SetZeroValue(out)
		}
		return storage.NewKeyNotFoundError(key, 0)
	}
	return asCorrupt(key, r.representation.fill(ctx, e, e.revision, out))
}

// atLeast returns an error if current is older than the resource version that a request wants at least.
func (r *resource) atLeast(wanted string, current uint64) error {
	if wanted == "" {
		return nil
	}
	revision, err := r.versioner.ParseResourceVersion(wanted)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
	}
	if revision > current {
		return storage.NewTooLargeResourceVersionError(revision, current, r.table.mode.retryAfterSeconds())
	}
	return nil
}

// sizes is whether Stats has the sizes of objects.
type sizes struct {
	enabled atomic.Bool
}

// Stats implements storage.Interface: the number of objects and, once EnableResourceSizeEstimation was called, the
// average length of their storage encoding in bytes.
func (r *resource) Stats(context.Context) (storage.Stats, error) {
	entries := r.table.latest().entries(r.pathPrefix+path.Clean(r.resourcePrefix)[1:]+"/", "", true)
	stats := storage.Stats{ObjectCount: int64(len(entries))}
	if !r.sizes.enabled.Load() || len(entries) == 0 {
		return stats, nil
	}
	var total int64
	for _, e := range entries {
		total += int64(e.size)
	}
	stats.EstimatedAverageObjectSizeBytes = total / stats.ObjectCount
	return stats, nil
}

// EnableResourceSizeEstimation implements storage.Interface. The store knows its keys, and so does not call keys; as
// with etcd3 it must not be nil, and the estimation can be enabled once.
func (r *resource) EnableResourceSizeEstimation(keys storage.KeysFunc) error {
	if keys == nil {
		return errors.New("KeysFunc cannot be nil")
	}
	if r.sizes.enabled.Swap(true) {
		return fmt.Errorf("estimating sizes of %v: enabled already", r.groupResource)
	}
	return nil
}
