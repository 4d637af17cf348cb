// Package controller has the controller of storefronts.
package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v2 "github.com/kubectl-reconcile/kubectl-reconcile/test/envtest/api/v2"
)

// Finalizer keeps a storefront until what it has outside the cluster is gone.
const Finalizer = "shop.example.com/domain"

// StorefrontReconciler makes a Deployment for each storefront.
type StorefrontReconciler struct {
	client.Client
	Recorder events.EventRecorder
	// Released is called with the storefront whose domain is to be released.
	Released func(client.ObjectKey)
}

// Reconcile makes the Deployment as the storefront wants it, and sets the status of the storefront.
func (r *StorefrontReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var shop v2.Storefront
	if err := r.Get(ctx, req.NamespacedName, &shop); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !shop.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(&shop, Finalizer) {
			r.Released(req.NamespacedName)
			return ctrl.Result{}, r.Update(ctx, &shop)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(&shop, Finalizer) {
		if err := r.Update(ctx, &shop); err != nil {
			return ctrl.Result{}, err
		}
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: shop.Name, Namespace: shop.Namespace}}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		labels := map[string]string{"app": shop.Name}
		deployment.Spec.Replicas = shop.Spec.Replicas
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		deployment.Spec.Template.Spec.Containers = []corev1.Container{{
			Name: "shop", Image: fmt.Sprintf("%s:%s", shop.Spec.Image.Repository, shop.Spec.Image.Tag),
		}}
		return controllerutil.SetControllerReference(&shop, deployment, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("applying the deployment: %w", err)
	}
	if result == controllerutil.OperationResultCreated {
		r.Recorder.Eventf(&shop, deployment, corev1.EventTypeNormal, "Opened", "Open", "Created deployment %s",
			shop.Name)
	}
	return ctrl.Result{}, r.setStatus(ctx, &shop, deployment)
}

func (r *StorefrontReconciler) setStatus(ctx context.Context, shop *v2.Storefront,
	deployment *appsv1.Deployment) error {
	shop.Status.ObservedGeneration = shop.Generation
	shop.Status.ReadyReplicas = deployment.Status.ReadyReplicas
	condition := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Opening",
		Message: "pods are not ready", ObservedGeneration: shop.Generation}
	if wanted := deployment.Spec.Replicas; wanted != nil && deployment.Status.ReadyReplicas >= *wanted {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, "Open", "all pods are ready"
	}
	meta.SetStatusCondition(&shop.Status.Conditions, condition)
	return r.Status().Update(ctx, shop)
}

// SetupWithManager adds the controller to a manager.
func (r *StorefrontReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&v2.Storefront{}).Owns(&appsv1.Deployment{}).Complete(r)
}
