package runlocal

import (
	"context"
	"fmt"
	"slices"

	clientinformers "k8s.io/client-go/informers"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
)

// bindsVolumes reports whether one of the controllers binds claims to volumes. Where none does no pod has to wait for
// that.
func bindsVolumes(cs []controllers.Controller) bool {
	return slices.ContainsFunc(cs, func(c controllers.Controller) bool {
		return c.Name == names.PersistentVolumeBinderController
	})
}

// startProvisioner starts what makes volumes, for the controller that binds them. On a recording, those that were made
// are in it.
func (s *Session) startProvisioner(ctx context.Context, informers clientinformers.SharedInformerFactory,
	o Options) error {
	if !bindsVolumes(o.Controllers) || o.API.Recorded != nil {
		return nil
	}
	var err error
	s.provisioner, err = nodes.StartProvisioner(ctx, nodes.ProvisionerOptions{
		Config: s.server.Config(), Informers: informers, Tap: s.tap, Workers: o.Workers,
		Copied: o.Copy != nil,
	})
	if err != nil {
		return fmt.Errorf("starting the simulated provisioner: %w", err)
	}
	return nil
}
