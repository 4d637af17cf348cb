// Package lease makes sure that the controllers of a cluster have one writer. [Acquire] holds a Lease of this program
// by client-go's leader election (lock.go, observedlock.go), and [Lock.Fence] stops writes while it is not valid
// (fence.go). The other files look for other writers: the holder of kube-controller-manager's Lease (holder.go),
// runners whose shards overlap (runners.go), and a kube-controller-manager that runs without a Lease (manager.go).
//
// It decides nothing about controllers: the caller starts them when it has a Lock, and stops them when that is lost.
//
// No clock of another machine is trusted. A Lease is live if this process has seen it change within its duration on the
// monotonic clock: a clock that jumps, here or elsewhere, makes no second holder.
package lease
