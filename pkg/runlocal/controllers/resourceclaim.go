package controllers

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// resourceClaimController is newResourceClaimController of cmd/kube-controller-manager/app/resource.go.
func resourceClaimController() Controller {
	claims := schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}
	return Controller{
		Name:    names.ResourceClaimController,
		Short:   "resourceclaim",
		Aliases: []string{"resource-claim-controller"},
		Reads: []schema.GroupResource{
			{Resource: "pods"}, claims, {Group: "resource.k8s.io", Resource: "resourceclaimtemplates"},
		},
		Writes:  []schema.GroupResource{claims, {Resource: "pods"}},
		workers: 50,
		build:   buildResourceClaim,
	}
}

// buildResourceClaim names the informer of PodGroups, which is made only with a feature gate that is off by default
// (DRAWorkloadResourceClaims).
func buildResourceClaim(ctx context.Context, e environment) (loop, error) {
	resources := e.informers.Resource().V1()
	c, err := resourceclaim.NewController(
		klog.FromContext(ctx), e.client, e.informers.Core().V1().Pods(), e.informers.Scheduling().V1beta1().PodGroups(),
		resources.ResourceClaims(), resources.ResourceClaimTemplates(),
	)
	if err != nil {
		return nil, err
	}
	return c.Run, tap.SwapQueue(e.tap, c, "queue", claimantKey)
}

// claimantKey spells a key of resourceclaim as other controllers' are that have several sorts: its own begin with a prefix
// (podKeyPrefix and its likes in pkg/controller/resourceclaim/controller.go).
func claimantKey(key string) string {
	sort, name, _ := strings.Cut(key, ":")
	switch sort {
	case "pod":
		return "pods " + name
	case "podgroup":
		return "podgroups " + name
	case "claim":
		return "resourceclaims " + name
	}
	return key
}
