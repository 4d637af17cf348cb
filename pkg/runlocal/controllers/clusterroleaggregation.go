package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// clusterRoleAggregation is newClusterRoleAggregationController of cmd/kube-controller-manager/app/rbac.go.
func clusterRoleAggregation() Controller {
	roles := []schema.GroupResource{{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}}
	return Controller{
		Name:    names.ClusterRoleAggregationController,
		Short:   "clusterrole-aggregation",
		Aliases: []string{"clusterrole-aggregation"},
		Reads:   roles,
		Writes:  roles,
		workers: 5,
		build:   buildClusterRoleAggregation,
	}
}

func buildClusterRoleAggregation(_ context.Context, e environment) (loop, error) {
	c := clusterroleaggregation.NewClusterRoleAggregation(e.informers.Rbac().V1().ClusterRoles(), e.client.RbacV1())
	return c.Run, tap.SwapQueue(e.tap, c, "queue", stringKey)
}
