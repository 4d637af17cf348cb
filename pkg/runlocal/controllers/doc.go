// Package controllers runs kube-controller-manager's controllers in this process, unmodified: it builds them as
// kube-controller-manager does, and has package tap observe their queues, informers, logs and requests.
//
// Its core is a table with a row for each controller of kube-controller-manager (All): what the controller reads,
// writes and needs, and if it does not run here, why. Select picks rows by name, Start builds and runs what was picked.
//
// A session of package runlocal does all that: only a program that has its own API server and tap calls Start.
//
// The package restricts no controller. What a controller may write is decided by the client configuration that Start is
// given: see package guard for dry runs.
//
//   - controller.go has the row type, table.go all rows in the order in which they are started, selection.go what picks
//     rows, start.go what builds and runs them, credentials.go as whom kube-controller-manager does.
//   - The rows and builders are in files named as those of cmd/kube-controller-manager/app: apps.go, auth.go (service
//     accounts, bootstrap tokens, cluster roles), autoscaling.go, batch.go, certificates.go, core.go (replication
//     controllers, namespaces, pod garbage collection, TTL of nodes), discovery.go (endpoints, EndpointSlices, service
//     CIDRs), nodelifecycle.go (node lifecycle, taint eviction), policy.go, resource.go (resource claims, device
//     taints), resourcequota.go, storageversionmigrator.go and volume.go, with volumeplugins.go.
//   - garbagecollector.go builds the garbage collector. collectorkinds.go decides which kinds it watches,
//     collectorclient.go which of its requests fail while it cannot see all objects, and collectorgate.go when its
//     workers may begin.
//   - kinds.go notices when the API begins or ceases to serve a kind, so that no controller polls discovery.
package controllers
