package api

import (
	"context"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAggregatedRolesAllowSomething: without the clusterrole-aggregation controller nobody else would fill them.
func TestAggregatedRolesAllowSomething(t *testing.T) {
	f := start(t, Options{})
	for _, test := range []struct {
		role, verb, resource string
		allowed              bool
		reason               string
	}{
		{"view", "get", "pods", true, "view aggregates system:aggregate-to-view"},
		{"view", "get", "secrets", false, "view must not become more than it is"},
		{"edit", "create", "deployments", true, "edit has a part of its own"},
		{"edit", "get", "pods", true, "edit aggregates view, which is aggregated itself"},
		{"admin", "create", "rolebindings", true, "admin has a part of its own"},
		{"admin", "delete", "pods", true, "admin aggregates edit, which is aggregated itself"},
	} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: test.role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: test.role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: test.role}},
		}
		if _, err := f.RbacV1().RoleBindings("default").Create(t.Context(), binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		group := map[string]string{"deployments": "apps", "rolebindings": rbacv1.GroupName}[test.resource]
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               test.role,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Verb: test.verb, Group: group, Resource: test.resource},
		}}
		eventually(t, "policy for "+test.role+": "+test.reason, func(ctx context.Context) (bool, error) {
			answer, err := f.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed == test.allowed, err
		})
	}
}
