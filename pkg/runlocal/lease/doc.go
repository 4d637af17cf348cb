// Package lease makes sure that the controllers of a cluster have one writer: it holds a Lease of our own by client-go's
// leader election, and it tells who holds somebody else's, kube-controller-manager's above all.
//
// It decides nothing about controllers: who holds a Lease starts them, and stops them when it is lost.
//
// No clock of another machine is trusted. Whether a Lease is live is told by how long this process has seen no change of
// it, on the monotonic clock: a clock that jumps, here or there, makes nobody a second holder.
package lease
