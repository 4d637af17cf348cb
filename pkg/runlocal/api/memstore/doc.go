// Package memstore keeps API objects in memory behind k8s.io/apiserver/pkg/storage.Interface, where a kube-apiserver
// has its watch cache and etcd. A [Store] takes the place of one etcd: a single resource version counts its writes,
// whatever the resource. The rules and the error texts are those that a client of a kube-apiserver meets: for reads and
// writes those of k8s.io/apiserver/pkg/storage/etcd3, for watches those of k8s.io/apiserver/pkg/storage/cacher.
//
// [New] makes a store, and [Store.Decorator] is what registries make their storage with: it is for a program that
// assembles an API server, as package api does.
//
// store.go has what all resources share. Each resource has a table of objects and recent events (table.go), and a
// storage.Interface on it (decorator.go, with read.go, list.go, write.go, watch.go), which keeps objects decoded or
// encoded (representation.go). A watcher reads the events of the table in its own goroutine (watcher.go). A store can
// also be filled below the registries: with objects that are there from the beginning (load.go), and with events that
// another API server has sent, under the versions that they had there (play.go).
//
// It is not a database: nothing outlives the process, nothing is replicated, and there are no transactions over several
// keys. It is not a cache of another store either, so reads are never stale. It knows nothing of resources, admission
// or validation: those are above it, in the registries.
package memstore
