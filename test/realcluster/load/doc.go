// Package load fills an API server with objects as controllers leave them behind: Deployments that own ReplicaSets that
// own pods, with their statuses. No controller and no node may run there: they would begin to change them.
//
// It is for measuring what reads a large cluster. It measures nothing by itself.
package load
