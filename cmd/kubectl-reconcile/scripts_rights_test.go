package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// awaitRights waits until users have all that the bindings among the objects give them, or nothing of it: an API server
// learns of roles and bindings a little after they are written. The roles must be there.
func (w *writer) awaitRights(ctx context.Context, objects []*unstructured.Unstructured, granted bool) error {
	for _, obj := range objects {
		kind := obj.GetKind()
		if kind != "RoleBinding" && kind != "ClusterRoleBinding" {
			continue
		}
		var b rbacv1.RoleBinding // a ClusterRoleBinding is the same without a namespace
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &b); err != nil {
			return err
		}
		rules, err := w.rules(ctx, b.RoleRef, b.Namespace)
		if err != nil {
			return err
		}
		for _, subject := range b.Subjects {
			err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
				has, err := w.rulesOf(ctx, subject.Name, b.Namespace)
				return err == nil && !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return has(r) != granted }), err
			})
			if err != nil {
				return fmt.Errorf("waiting until what %s %s gives %s is in force (%t): %w", kind, b.Name, subject.Name, granted, err)
			}
		}
	}
	return nil
}

// rules are those of the role that a binding in that namespace refers to.
func (w *writer) rules(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	like := &unstructured.Unstructured{}
	like.SetAPIVersion(rbacv1.SchemeGroupVersion.String())
	like.SetKind(ref.Kind)
	like.SetNamespace(namespace)
	roles, err := w.resource(ctx, like)
	if err != nil {
		return nil, err
	}
	found, err := roles.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	var role rbacv1.ClusterRole // a Role has no more than that
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &role)
	return role.Rules, err
}

// rulesOf asks the API server which rules hold for a user in a namespace, "" for default, and returns whether one is
// among them.
func (w *writer) rulesOf(ctx context.Context, user, namespace string) (func(rbacv1.PolicyRule) bool, error) {
	config := rest.CopyConfig(w.config)
	config.Impersonate.UserName = user
	client, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	answer, err := client.SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: cmp.Or(namespace, metav1.NamespaceDefault)},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return func(rule rbacv1.PolicyRule) bool {
		return slices.ContainsFunc(answer.Status.ResourceRules, func(r authorizationv1.ResourceRule) bool {
			return equality.Semantic.DeepEqual(rule, rbacv1.PolicyRule{
				Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames,
			})
		})
	}, nil
}
