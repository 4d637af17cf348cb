package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/cronjob"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// cronJobController is newCronJobController of cmd/kube-controller-manager/app/batch.go.
func cronJobController() Controller {
	return Controller{
		Name:    names.CronJobController,
		Short:   "cronjob",
		Aliases: []string{"cronjob"},
		Reads:   []schema.GroupResource{{Group: "batch", Resource: "cronjobs"}, {Group: "batch", Resource: "jobs"}},
		Writes:  []schema.GroupResource{{Group: "batch", Resource: "cronjobs"}, {Group: "batch", Resource: "jobs"}},
		workers: 5,
		build:   buildCronJob,
	}
}

func buildCronJob(ctx context.Context, e environment) (loop, error) {
	batch := e.informers.Batch().V1()
	c, err := cronjob.NewControllerV2(ctx, batch.Jobs(), batch.CronJobs(), e.client)
	if err != nil {
		return nil, err
	}
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
