package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/deployment"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// deploymentController is newDeploymentController of cmd/kube-controller-manager/app/apps.go.
func deploymentController() Controller {
	return Controller{
		Name:    names.DeploymentController,
		Short:   "deployment",
		Aliases: []string{"deployment"},
		Reads: []schema.GroupResource{
			{Group: "apps", Resource: "deployments"}, {Group: "apps", Resource: "replicasets"}, {Resource: "pods"},
		},
		Writes:  []schema.GroupResource{{Group: "apps", Resource: "deployments"}, {Group: "apps", Resource: "replicasets"}},
		workers: 5,
		build:   buildDeployment,
	}
}

func buildDeployment(ctx context.Context, e environment) (loop, error) {
	apps := e.informers.Apps().V1()
	c, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), e.informers.Core().V1().Pods(), e.client)
	if err != nil {
		return nil, err
	}
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
