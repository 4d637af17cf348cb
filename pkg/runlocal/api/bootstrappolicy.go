package api

import (
	"cmp"
	"context"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/client-go/kubernetes"
	flowcontrolclient "k8s.io/client-go/kubernetes/typed/flowcontrol/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// flowManager is the field manager of flow schemas and priority levels, fieldManager of
// pkg/registry/flowcontrol/ensurer.
const flowManager = "api-priority-and-fairness-config-producer-v1"

// createBootstrapPolicy creates upstream's default roles and bindings, then the default priority levels and flow
// schemas, and calls created with the step of the start that each part is. In the place of two post-start hooks, which
// poll and cannot be stopped, it mirrors ensureRBACPolicy of k8s.io/kubernetes/pkg/registry/rbac/rest/storage_rbac.go
// and ensure of k8s.io/kubernetes/pkg/registry/flowcontrol/rest/storage_flowcontrol.go. The administrator needs none of
// these objects; other users are denied until the roles exist.
//
// The rules of aggregated roles such as `view` are filled in here once; later changes of the roles that they aggregate
// are left to the clusterrole-aggregation controller.
func createBootstrapPolicy(ctx context.Context, client kubernetes.Interface, created func(steps ...string)) {
	for _, part := range []struct {
		step    string
		objects []func(context.Context) error
	}{
		{stepRoles, roleCreations(client.RbacV1())},
		{stepFlowSchemas, flowControlCreations(client.FlowcontrolV1())},
	} {
		for _, create := range part.objects {
			if ctx.Err() != nil {
				return
			}
			if err := unlessExists(create(ctx)); err != nil && ctx.Err() == nil {
				utilruntime.HandleErrorWithContext(ctx, err, "Creating the default policy")
			}
		}
		created(part.step)
	}
}

// roleCreations returns functions that create the roles and bindings in upstream's order: roles before the bindings
// that name them. Those of namespaces are package variables of upstream and copied, since encoding an object for a
// request writes its kind to it: servers of one process would do so at the same time.
func roleCreations(roles rbacclient.RbacV1Interface) []func(context.Context) error {
	var creations []func(context.Context) error
	for _, list := range [][]rbacv1.ClusterRole{withAggregated(bootstrappolicy.ClusterRoles()),
		bootstrappolicy.ControllerRoles()} {
		creations = append(creations, createFuncs(list, roles.ClusterRoles().Create)...)
	}
	for _, list := range [][]rbacv1.ClusterRoleBinding{bootstrappolicy.ClusterRoleBindings(),
		bootstrappolicy.ControllerRoleBindings()} {
		creations = append(creations, createFuncs(list, roles.ClusterRoleBindings().Create)...)
	}
	for _, namespace := range systemNamespaces() {
		local := slices.Clone(bootstrappolicy.NamespaceRoles()[namespace])
		creations = append(creations, createFuncs(local, roles.Roles(namespace).Create)...)
		bindings := slices.Clone(bootstrappolicy.NamespaceRoleBindings()[namespace])
		creations = append(creations, createFuncs(bindings, roles.RoleBindings(namespace).Create)...)
	}
	return creations
}

// flowControlCreations returns functions that create the priority levels and flow schemas in upstream's order: levels
// before the schemas that name them. Upstream's package variables are copied, since encoding an object for a request
// writes to it.
func flowControlCreations(flows flowcontrolclient.FlowcontrolV1Interface) []func(context.Context) error {
	var creations []func(context.Context) error
	for _, level := range slices.Concat(bootstrap.MandatoryPriorityLevelConfigurations,
		bootstrap.SuggestedPriorityLevelConfigurations) {
		creations = append(creations,
			createFunc(level.DeepCopy(), flowManager, flows.PriorityLevelConfigurations().Create))
	}
	for _, schema := range slices.Concat(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas) {
		creations = append(creations, createFunc(schema.DeepCopy(), flowManager, flows.FlowSchemas().Create))
	}
	return creations
}

// withAggregated fills the rules of roles that aggregate others of the list. An aggregated role may be part of another:
// each round fills those whose parts the round before has filled. The roles are sorted so that a role follows its
// parts: a controller that aggregates while they are created finds nothing to change.
func withAggregated(roles []rbacv1.ClusterRole) []rbacv1.ClusterRole {
	slices.SortFunc(roles, func(a, b rbacv1.ClusterRole) int { return cmp.Compare(a.Name, b.Name) })
	for changed := true; changed; {
		changed = false
		for i := range roles {
			if rules := aggregatedRules(roles, &roles[i]); len(rules) > len(roles[i].Rules) {
				roles[i].Rules, changed = rules, true
			}
		}
	}
	slices.SortStableFunc(roles, func(a, b rbacv1.ClusterRole) int {
		return cmp.Compare(aggregationRank(a), aggregationRank(b))
	})
	return roles
}

// aggregationRank returns 0 for a role that aggregates nothing, and more for a role than for any of its parts.
func aggregationRank(role rbacv1.ClusterRole) int {
	if role.AggregationRule == nil {
		return 0
	}
	return 1 + len(role.Rules)
}

// aggregatedRules returns the rules of a role that aggregates others; none for a role that aggregates nothing. It
// mirrors ClusterRoleAggregationController.syncClusterRole of
// k8s.io/kubernetes/pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go.
func aggregatedRules(roles []rbacv1.ClusterRole, into *rbacv1.ClusterRole) []rbacv1.PolicyRule {
	if into.AggregationRule == nil {
		return nil
	}
	var rules []rbacv1.PolicyRule
	for _, labels := range into.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&labels)
		if err != nil {
			continue // upstream's own data has none that is not valid
		}
		for _, part := range roles {
			if part.Name == into.Name || !selector.Matches(klabels.Set(part.Labels)) {
				continue
			}
			for _, rule := range part.Rules {
				if !slices.ContainsFunc(rules,
					func(r rbacv1.PolicyRule) bool { return apiequality.Semantic.DeepEqual(r, rule) }) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules
}

// createFuncs returns a function for each item that creates it.
func createFuncs[T any](
	items []T, create func(context.Context, *T, metav1.CreateOptions) (*T, error),
) []func(context.Context) error {
	creations := make([]func(context.Context) error, 0, len(items))
	for i := range items {
		creations = append(creations, createFunc(&items[i], "", create))
	}
	return creations
}

// createFunc returns a function that creates item with a field manager; "" means the default.
func createFunc[T any](
	item *T, manager string, create func(context.Context, *T, metav1.CreateOptions) (*T, error),
) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := create(ctx, item, metav1.CreateOptions{FieldManager: manager})
		return err
	}
}
