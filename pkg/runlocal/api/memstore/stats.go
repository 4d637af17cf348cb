package memstore

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync/atomic"

	"k8s.io/apiserver/pkg/storage"
)

// sizes reports whether the sizes of objects are asked for.
type sizes struct {
	enabled atomic.Bool
}

// Stats implements storage.Interface: the number of objects and, once EnableResourceSizeEstimation was called, the average
// length of their storage encoding in bytes.
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

// EnableResourceSizeEstimation implements storage.Interface. The store knows its keys, and so does not call keys; as with
// etcd3 it must not be nil, and the estimation can be enabled once.
func (r *resource) EnableResourceSizeEstimation(keys storage.KeysFunc) error {
	if keys == nil {
		return errors.New("KeysFunc cannot be nil")
	}
	if r.sizes.enabled.Swap(true) {
		return fmt.Errorf("estimating sizes of %v: enabled already", r.groupResource)
	}
	return nil
}
