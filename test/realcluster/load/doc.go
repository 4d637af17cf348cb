// Package load fills an API server with objects as controllers leave them behind: Deployments that own ReplicaSets that
// own pods, with their statuses. No controller and no node may run there: they would begin to change them.
//
// Requests make some 250 objects a second. Where the API server's etcd can be reached, one Deployment and what it owns
// are made by requests, and objects that differ from them in names, identifiers and addresses only are written beside
// them.
//
// It is for measuring what reads a large cluster. It measures nothing by itself.
package load
