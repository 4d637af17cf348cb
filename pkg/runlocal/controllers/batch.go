package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// jobController mirrors newJobController of k8s.io/kubernetes/cmd/kube-controller-manager/app/batch.go.
func jobController() Controller {
	return Controller{
		Name:            names.JobController,
		Short:           "job",
		Aliases:         []string{"job"},
		Reads:           []schema.GroupResource{{Group: "batch", Resource: "jobs"}, {Resource: "pods"}},
		Writes:          []schema.GroupResource{{Group: "batch", Resource: "jobs"}, {Resource: "pods"}},
		Keys:            []ObjectKind{{"batch", "Job", "jobs"}},
		MakesReady:      true,
		IndependentKeys: true,
		workers:         5,
		build:           buildJob,
	}
}

// buildJob passes no informers of Workloads and PodGroups: they are for a feature gate that is off by default
// (WorkloadWithJob).
func buildJob(ctx context.Context, e environment) (runFunc, error) {
	pods, jobs := e.informers.Core().V1().Pods(), e.informers.Batch().V1().Jobs()
	c, err := job.NewController(ctx, e.client, pods, jobs, nil, nil)
	if err != nil {
		return nil, err
	}
	if err := tap.SwapQueue(e.tap, c, "orphanQueue", orphanPodKey.text); err != nil {
		return c.Run, err
	}
	return c.Run, e.tapQueues(c, "queue")
}

// orphanPodKey has the layout of orphanPodKey in pkg/controller/job/job_controller.go: a pod, or the pods of a
// selector, whose Job is gone.
type orphanPodKey struct {
	kind      int
	namespace string
	value     string
}

func (k orphanPodKey) text() string { return k.namespace + "/" + k.value }

// cronJobController mirrors newCronJobController of k8s.io/kubernetes/cmd/kube-controller-manager/app/batch.go.
func cronJobController() Controller {
	both := []schema.GroupResource{{Group: "batch", Resource: "cronjobs"}, {Group: "batch", Resource: "jobs"}}
	return Controller{
		Name:            names.CronJobController,
		Short:           "cronjob",
		Aliases:         []string{"cronjob"},
		Reads:           both,
		Writes:          both,
		Keys:            []ObjectKind{{"batch", "CronJob", "cronjobs"}},
		MakesReady:      true,
		IndependentKeys: true,
		workers:         5,
		build:           buildCronJob,
	}
}

func buildCronJob(ctx context.Context, e environment) (runFunc, error) {
	batch := e.informers.Batch().V1()
	c, err := cronjob.NewControllerV2(ctx, batch.Jobs(), batch.CronJobs(), e.client)
	if err != nil {
		return nil, err
	}
	return c.Run, e.tapQueues(c, "queue")
}

// ttlAfterFinishedController mirrors newTTLAfterFinishedController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/core.go.
func ttlAfterFinishedController() Controller {
	return Controller{
		Name:    names.TTLAfterFinishedController,
		Short:   "ttl-after-finished",
		Aliases: []string{"ttl-after-finished"},
		Reads:   []schema.GroupResource{{Group: "batch", Resource: "jobs"}},
		Writes:  []schema.GroupResource{{Group: "batch", Resource: "jobs"}},
		Keys:    []ObjectKind{{"batch", "Job", "jobs"}},
		workers: 5,
		build:   buildTTLAfterFinished,
	}
}

func buildTTLAfterFinished(ctx context.Context, e environment) (runFunc, error) {
	c := ttlafterfinished.New(ctx, e.informers.Batch().V1().Jobs(), e.client)
	return c.Run, e.tapQueues(c, "queue")
}
