package api

import (
	"errors"
	"maps"

	"k8s.io/kubernetes/pkg/probe"
	"k8s.io/kubernetes/pkg/registry/core/componentstatus"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api/memstore"
)

// The components that a kube-apiserver asks for their health, by their names there.
const (
	ComponentControllerManager = "controller-manager"
	ComponentScheduler         = "scheduler"
	componentStorage           = "etcd-0"
)

// errNotRunning is the health of a component that Options do not name.
var errNotRunning = errors.New("it is not running")

// components are all that componentstatuses lists, as componentStatusStorage of pkg/registry/core/rest/storage_core.go has them. It
// asks HTTP servers at fixed ports of the machine, which would be those of another control plane than this one.
func components(given map[string]func() error, store *memstore.Store) map[string]componentstatus.Server {
	all := map[string]func() error{
		ComponentControllerManager: func() error { return errNotRunning },
		ComponentScheduler:         func() error { return errNotRunning },
		componentStorage:           store.Ready,
	}
	maps.Copy(all, given)
	servers := make(map[string]componentstatus.Server, len(all))
	for name, check := range all {
		servers[name] = component(check)
	}
	return servers
}

// component is one that runs in this process.
type component func() error

var _ componentstatus.Server = component(nil)

// DoServerCheck implements componentstatus.Server.
func (check component) DoServerCheck() (probe.Result, string, error) {
	if err := check(); err != nil {
		return probe.Failure, err.Error(), nil //nolint:nilerr // The error is that of the component, not of asking it.
	}
	return probe.Success, "ok", nil
}
