package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// TestLines: what is not in a plan, and what the cluster would refuse, in words and in this order.
func TestLines(t *testing.T) {
	kind := func(kind string) cluster.Kind {
		return cluster.Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: kind}}
	}
	refusal := func(name, message string) plan.Refusal {
		id := plan.ObjectID{Kind: "Pod", Namespace: "shop", Name: name}
		return plan.Refusal{Controller: "job", Object: id, Message: message}
	}
	state := &plan.State{
		Copy: &seed.Copy{Namespaces: []string{"shop", "web"}, LeftOut: []seed.LeftOut{
			{Resource: "secrets", Objects: 2, Reason: seed.ReasonSecret, Message: "their data stays in the cluster"},
		}},
		Uncopied: []seed.Root{{Kind: kind("ConfigMap"), Namespace: "shop", Name: "other"}},
		Unpruned: []cluster.Incomplete{
			{Group: "apps", Resource: "deployments", Namespace: "shop", Reason: "Forbidden"},
			{Resource: "persistentvolumes", Reason: "Forbidden"},
		},
		Dependents: []seed.Root{{Kind: kind("Node"), Name: "one"}},
	}
	made := &madePlan{
		Plan: &plan.Plan{
			State: state,
			Refused: []plan.Refusal{
				refusal("b", `admission webhook "w" denied the request: no`),
				refusal("c", `Internal error occurred: failed calling webhook "w": failed to call webhook: EOF`),
			},
			Untried: []plan.Refusal{
				refusal("d", `pods is forbidden: User "u" cannot create resource "pods"`), refusal("e", "no dry run"),
			},
		},
		from: plan.Objects{{Object: &unstructured.Unstructured{}}},
	}
	made.leftOut = made.leftOutLines()
	const refused = "the cluster's admission refuses what is in the plan, tried in dry run as you: "
	want := []string{
		refused + `Pod shop/b of job: admission webhook "w" denied the request: no`,
		refused + `Pod shop/c of job: Internal error occurred: failed calling webhook "w": failed to call webhook: EOF`,
		"not copied: secrets (2): their data stays in the cluster",
		"1 object without uid and resourceVersion is applied to the others first: what that leads to is part of the plan",
		"not pruned: deployments.apps of shop could not be listed: Forbidden",
		"not pruned: persistentvolumes could not be listed: Forbidden",
		"not in the plan: configmap/other: it is in the cluster, and is not copied",
		"not copied: what depends on node/one in other namespaces than shop, web; -A copies all",
		`not known whether the cluster's webhooks accept Pod shop/d of job: pods is forbidden: User "u" cannot create resource "pods"; and 1 more`,
	}
	if diff := cmp.Diff(want, made.lines()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	stored := &unstructured.Unstructured{}
	stored.SetUID("1")
	stored.SetResourceVersion("1")
	made = &madePlan{Plan: &plan.Plan{State: &plan.State{Copy: &seed.Copy{}}}, from: plan.Objects{runlocal.Manifest{Object: stored}}}
	if got := made.leftOutLines(); got != nil {
		t.Errorf("a plan of all there is leaves out %q", got)
	}
}
