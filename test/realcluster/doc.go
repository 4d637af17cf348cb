// Package realcluster runs a Kubernetes control plane for tests: etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler, built from their Go modules, and kwok in the kubelets' place. Containers are not needed.
//
// It also runs `kubectl reconcile sandbox`, as a user would, so that both can be asked the same. It compares nothing by
// itself: see apidiff and scenarios. The module has its own go.mod, because what these programs depend on must not
// decide what the plugin depends on.
package realcluster
