package website

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	// Finalizer keeps a Website until its host name is released.
	Finalizer = "example.kubectl-reconcile.github.io/release-host"
	// FieldManager owns what the reconciler applies.
	FieldManager = "website-operator"
	// Ready is the condition that reports whether all web servers are ready.
	Ready = "Ready"
)

// Reconciler keeps a Deployment for every Website.
type Reconciler struct {
	// Client reads from the manager's cache and writes to the API.
	Client client.Client
	// Events records what people should know.
	Events events.EventRecorder
	// ReleaseHost gives a host name back, outside the cluster. A Website goes only after it has succeeded.
	ReleaseHost func(ctx context.Context, host string) error
}

// Reconcile implements reconcile.Reconciler. The manager calls it for one Website at a time.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	site := &Website{}
	if err := r.Client.Get(ctx, request.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !site.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, site)
	}
	if controllerutil.AddFinalizer(site, Finalizer) {
		if err := r.Client.Update(ctx, site); err != nil {
			return ctrl.Result{}, fmt.Errorf("adding the finalizer: %w", err)
		}
	}
	content := &corev1.ConfigMap{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: site.Namespace, Name: site.Spec.Content}, content)
	if apierrors.IsNotFound(err) {
		message := fmt.Sprintf("there is no ConfigMap %q", site.Spec.Content)
		return ctrl.Result{}, r.report(ctx, site, 0, "ContentMissing", message)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading the content: %w", err)
	}
	return ctrl.Result{}, r.deploy(ctx, site)
}

// deploy applies the Deployment and reports how far it is.
func (r *Reconciler) deploy(ctx context.Context, site *Website) error {
	err := r.Client.Apply(ctx, deployment(site), client.FieldOwner(FieldManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying the deployment: %w", err)
	}
	deployed := &appsv1.Deployment{}
	err = r.Client.Get(ctx, client.ObjectKeyFromObject(site), deployed)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the deployment: %w", err)
	}
	ready, want := deployed.Status.ReadyReplicas, *site.Spec.Replicas
	reason := "Progressing"
	if err == nil && deployed.Status.ObservedGeneration == deployed.Generation && ready == want {
		reason = "AllReady"
	}
	return r.report(ctx, site, ready, reason, fmt.Sprintf("%d of %d web servers are ready", ready, want))
}

// report writes the status, if it is another than before, and an event when the reason changes.
func (r *Reconciler) report(ctx context.Context, site *Website, ready int32, reason, message string) error {
	before := site.DeepCopy()
	status := metav1.ConditionFalse
	if reason == "AllReady" {
		status = metav1.ConditionTrue
	}
	site.Status.ObservedGeneration, site.Status.ReadyReplicas = site.Generation, ready
	meta.SetStatusCondition(&site.Status.Conditions, metav1.Condition{
		Type: Ready, Status: status, Reason: reason, Message: message, ObservedGeneration: site.Generation,
	})
	if equality.Semantic.DeepEqual(before.Status, site.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, site); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	if old := meta.FindStatusCondition(before.Status.Conditions, Ready); old == nil || old.Reason != reason {
		r.Events.Eventf(site, nil, corev1.EventTypeNormal, reason, "Reconcile", "%s", message)
	}
	return nil
}

// finalize releases the host name and then lets the Website go.
func (r *Reconciler) finalize(ctx context.Context, site *Website) error {
	if !controllerutil.ContainsFinalizer(site, Finalizer) {
		return nil
	}
	if err := r.ReleaseHost(ctx, site.Spec.Host); err != nil {
		return fmt.Errorf("releasing host %q: %w", site.Spec.Host, err)
	}
	controllerutil.RemoveFinalizer(site, Finalizer)
	if err := r.Client.Update(ctx, site); err != nil {
		return fmt.Errorf("removing the finalizer: %w", err)
	}
	return nil
}
