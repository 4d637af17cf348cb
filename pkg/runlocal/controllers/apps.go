package controllers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// deploymentController mirrors newDeploymentController of k8s.io/kubernetes/cmd/kube-controller-manager/app/apps.go.
func deploymentController() Controller {
	return Controller{
		Name:    names.DeploymentController,
		Short:   "deployment",
		Aliases: []string{"deployment"},
		Reads: []schema.GroupResource{
			{Group: "apps", Resource: "deployments"}, {Group: "apps", Resource: "replicasets"}, {Resource: "pods"},
		},
		Writes: []schema.GroupResource{
			{Group: "apps", Resource: "deployments"}, {Group: "apps", Resource: "replicasets"},
		},
		Keys:            []ObjectKind{{"apps", "Deployment", "deployments"}},
		MakesReady:      true,
		IndependentKeys: true,
		workers:         5,
		build:           buildDeployment,
	}
}

func buildDeployment(ctx context.Context, e environment) (runFunc, error) {
	apps := e.informers.Apps().V1()
	c, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(),
		e.informers.Core().V1().Pods(), e.client)
	if err != nil {
		return nil, err
	}
	return c.Run, e.tapQueues(c, "queue")
}

// replicaSetController mirrors newReplicaSetController of k8s.io/kubernetes/cmd/kube-controller-manager/app/apps.go.
func replicaSetController() Controller {
	return Controller{
		Name:            names.ReplicaSetController,
		Short:           "replicaset",
		Aliases:         []string{"replicaset"},
		Reads:           []schema.GroupResource{{Group: "apps", Resource: "replicasets"}, {Resource: "pods"}},
		Writes:          []schema.GroupResource{{Group: "apps", Resource: "replicasets"}, {Resource: "pods"}},
		Keys:            []ObjectKind{{"apps", "ReplicaSet", "replicasets"}},
		MakesReady:      true,
		IndependentKeys: true,
		workers:         5,
		build:           buildReplicaSet,
	}
}

func buildReplicaSet(ctx context.Context, e environment) (runFunc, error) {
	c := replicaset.NewReplicaSetController(
		ctx, e.informers.Apps().V1().ReplicaSets(), e.informers.Core().V1().Pods(), e.client, replicaset.BurstReplicas,
	)
	return c.Run, e.tapQueues(c, "queue")
}

// statefulSetController mirrors newStatefulSetController of k8s.io/kubernetes/cmd/kube-controller-manager/app/apps.go.
func statefulSetController() Controller {
	return Controller{
		Name:    names.StatefulSetController,
		Short:   "statefulset",
		Aliases: []string{"statefulset"},
		Reads: []schema.GroupResource{
			{Group: "apps", Resource: "statefulsets"}, {Resource: "pods"},
			{Resource: "persistentvolumeclaims"}, {Group: "apps", Resource: "controllerrevisions"},
		},
		Writes: []schema.GroupResource{
			{Group: "apps", Resource: "statefulsets"}, {Resource: "pods"},
			{Resource: "persistentvolumeclaims"}, {Group: "apps", Resource: "controllerrevisions"},
		},
		Keys:            []ObjectKind{{"apps", "StatefulSet", "statefulsets"}},
		MakesReady:      true,
		IndependentKeys: true,
		workers:         5,
		build:           buildStatefulSet,
	}
}

func buildStatefulSet(ctx context.Context, e environment) (runFunc, error) {
	apps, core := e.informers.Apps().V1(), e.informers.Core().V1()
	c := statefulset.NewStatefulSetController(
		ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), e.client,
	)
	return c.Run, e.tapQueues(c, "queue")
}

// daemonSetController mirrors newDaemonSetController of k8s.io/kubernetes/cmd/kube-controller-manager/app/apps.go.
func daemonSetController() Controller {
	return Controller{
		Name:    names.DaemonSetController,
		Short:   "daemonset",
		Aliases: []string{"daemonset"},
		Reads: []schema.GroupResource{
			{Group: "apps", Resource: "daemonsets"}, {Group: "apps", Resource: "controllerrevisions"},
			{Resource: "pods"}, {Resource: "nodes"},
		},
		Writes: []schema.GroupResource{
			{Group: "apps", Resource: "daemonsets"}, {Group: "apps", Resource: "controllerrevisions"},
			{Resource: "pods"},
		},
		Keys:            []ObjectKind{{"apps", "DaemonSet", "daemonsets"}},
		MakesReady:      true,
		IndependentKeys: true,
		workers:         2,
		build:           buildDaemonSet,
	}
}

func buildDaemonSet(ctx context.Context, e environment) (runFunc, error) {
	apps, core := e.informers.Apps().V1(), e.informers.Core().V1()
	c, err := daemon.NewDaemonSetsController(
		ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), e.client,
		flowcontrol.NewBackOff(time.Second, 15*time.Minute), // of failed pods, as in newDaemonSetController
	)
	if err != nil {
		return nil, err
	}
	// The keys of nodeUpdateQueue are nodes, and concern all DaemonSets.
	e.tap.SetTraits(tap.ControllerTraits{Bare: tap.AllNamespaces})
	return c.Run, e.tapQueues(c, "nodeUpdateQueue", "queue")
}
