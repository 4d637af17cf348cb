// Package memstore keeps API objects in memory behind k8s.io/apiserver/pkg/storage.Interface, where a kube-apiserver has
// its watch cache and etcd. A [Store] stands for one etcd: a single resource version counts its writes, whatever the
// resource. The rules and the error texts are those that a client of a kube-apiserver meets: for reads and writes those
// of k8s.io/apiserver/pkg/storage/etcd3, for watches those of k8s.io/apiserver/pkg/storage/cacher.
//
// It is not a database: nothing outlives the process, nothing is replicated, and there are no transactions over several
// keys. It is not a cache of another store either, so reads are never stale. It knows nothing of resources, admission or
// validation: those are above it, in the registries.
package memstore
