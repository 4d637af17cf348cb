package api

import (
	"cmp"
	"context"
	"slices"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// TestAggregatedRolesAllowSomething: without the clusterrole-aggregation controller nothing else fills them.
func TestAggregatedRolesAllowSomething(t *testing.T) {
	f := plain.fixture(t)
	for _, test := range []struct {
		role, verb, resource string
		allowed              bool
		reason               string
	}{
		{"view", "get", "pods", true, "view aggregates system:aggregate-to-view"},
		{"view", "get", "secrets", false, "view must not become more than it is"},
		{"edit", "create", "deployments", true, "edit has a separate part"},
		{"edit", "get", "pods", true, "edit aggregates view, which is aggregated itself"},
		{"admin", "create", "rolebindings", true, "admin has a separate part"},
		{"admin", "delete", "pods", true, "admin aggregates edit, which is aggregated itself"},
	} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: test.role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: test.role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: test.role}},
		}
		if _, err := f.RbacV1().RoleBindings(f.namespace).Create(t.Context(), binding,
			metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		group := map[string]string{"deployments": "apps", "rolebindings": rbacv1.GroupName}[test.resource]
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: test.role,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: f.namespace, Verb: test.verb,
				Group: group, Resource: test.resource},
		}}
		eventually(t, "policy for "+test.role+": "+test.reason, func(ctx context.Context) (bool, error) {
			answer, err := f.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed == test.allowed, err
		})
	}
}

// TestAggregatedRolesComeAfterTheirParts: the clusterrole-aggregation controller, which may watch while the roles are
// made one after the other, finds none that allows more or less than its parts do so far.
func TestAggregatedRolesComeAfterTheirParts(t *testing.T) {
	roles := withAggregated(bootstrappolicy.ClusterRoles())
	aggregated := 0
	for i := range roles {
		if roles[i].AggregationRule == nil {
			continue
		}
		aggregated++
		if !apiequality.Semantic.DeepEqual(aggregatedRules(sortedByName(roles[:i]), &roles[i]), roles[i].Rules) {
			t.Errorf("role %q differs from what is there when it is made", roles[i].Name)
		}
	}
	if aggregated < 3 {
		t.Errorf("only %d roles aggregate others", aggregated)
	}
}

// sortedByName is the order in which the controller goes through the parts of a role.
func sortedByName(roles []rbacv1.ClusterRole) []rbacv1.ClusterRole {
	return slices.SortedFunc(slices.Values(roles),
		func(a, b rbacv1.ClusterRole) int { return cmp.Compare(a.Name, b.Name) })
}
