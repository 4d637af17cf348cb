package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
)

// awaitRights waits until users have all that the bindings among the objects give them, or nothing of it: an API server
// learns of roles and bindings a little after they are written.
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
			for _, asked := range questions(rules, b.Namespace) {
				if err := w.awaitRight(ctx, subject.Name, asked, granted); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

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

// questions has every combination that the rules allow.
func questions(rules []rbacv1.PolicyRule, namespace string) []authorizationv1.SubjectAccessReviewSpec {
	var out []authorizationv1.SubjectAccessReviewSpec
	for _, r := range rules {
		names := r.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, verb := range r.Verbs {
			for _, path := range r.NonResourceURLs {
				out = append(out, authorizationv1.SubjectAccessReviewSpec{
					NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: verb, Path: path},
				})
			}
			for _, group := range r.APIGroups {
				for _, of := range r.Resources {
					resource, subresource, _ := strings.Cut(of, "/")
					for _, name := range names {
						out = append(out, authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
							Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource, Name: name,
						}})
					}
				}
			}
		}
	}
	return out
}

func (w *writer) awaitRight(ctx context.Context, user string, asked authorizationv1.SubjectAccessReviewSpec, granted bool) error {
	asked.User = user
	body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&authorizationv1.SubjectAccessReview{Spec: asked})
	if err != nil {
		return err
	}
	review := &unstructured.Unstructured{Object: body}
	review.SetGroupVersionKind(authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview"))
	reviews := w.client.Resource(authorizationv1.SchemeGroupVersion.WithResource("subjectaccessreviews"))
	err = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
		return allowed == granted, err
	})
	if err != nil {
		return fmt.Errorf("waiting until %s has a right (%t): %+v: %w", user, granted, asked, err)
	}
	return nil
}
