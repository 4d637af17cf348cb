package controllerruntime

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/controllerruntime/website"
)

// TestReconcile takes a Website from its creation through a change of its spec to a change of its Deployment.
func TestReconcile(t *testing.T) {
	t.Parallel()
	began := time.Now()
	config := startSandbox(t, apiAlone()...)
	installed := time.Since(began)
	startOperator(t, config)
	c := newClient(t, config)
	site := newSite("blog")
	create(t, c, newContent("files"), site)
	eventuallyObject(t, c, site, wantReady("Progressing"))
	t.Logf("since the start: CRD installed %s, first reconcile %s", installed.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))

	deployed := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "blog", Namespace: namespace}}
	get(t, c, deployed)
	owner := metav1.OwnerReference{
		APIVersion: website.GroupVersion.String(), Kind: "Website", Name: "blog", UID: site.UID,
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
	if diff := cmp.Diff([]metav1.OwnerReference{owner}, deployed.OwnerReferences); diff != "" {
		t.Errorf("owners of the deployment (-want +got):\n%s", diff)
	}

	update(t, c, site, func() { site.Spec.Replicas = new(int32(3)) })
	eventuallyObject(t, c, deployed, wantReplicas(3))
	eventuallyObject(t, c, site, wantReady("Progressing"))

	update(t, c, deployed, func() { deployed.Spec.Replicas = new(int32(7)) }) // Owns: a change of the dependent is a cause
	eventuallyObject(t, c, deployed, wantReplicas(3))

	updateStatus(t, c, deployed, func() { // as the deployment controller would
		deployed.Status = appsv1.DeploymentStatus{ObservedGeneration: deployed.Generation, Replicas: 3, ReadyReplicas: 3}
	})
	eventuallyObject(t, c, site, wantReady("AllReady"))
	if site.Status.ReadyReplicas != 3 {
		t.Errorf("status has %d ready replicas, want 3", site.Status.ReadyReplicas)
	}
	eventually(t, func(ctx context.Context) error { return wantEvents(ctx, c, site, "Progressing", "AllReady") })
}

func wantReplicas(n int32) func(*appsv1.Deployment) error {
	return func(d *appsv1.Deployment) error {
		if *d.Spec.Replicas != n {
			return fmt.Errorf("deployment %q wants %d replicas, not %d", d.Name, *d.Spec.Replicas, n)
		}
		return nil
	}
}

// wantEvents says which reason no Event about the object has.
func wantEvents(ctx context.Context, c client.Reader, about client.Object, reasons ...string) error {
	list := &eventsv1.EventList{}
	if err := c.List(ctx, list, client.InNamespace(about.GetNamespace())); err != nil {
		return err
	}
	var recorded []string
	for _, e := range list.Items {
		if e.Regarding.UID == about.GetUID() && e.ReportingController == "website" {
			recorded = append(recorded, e.Reason)
		}
	}
	for _, reason := range reasons {
		if !slices.Contains(recorded, reason) {
			return fmt.Errorf("no event with reason %s about %q: %v", reason, about.GetName(), recorded)
		}
	}
	return nil
}

// TestContentIndex: the cache's field index finds the Websites that a ConfigMap concerns, and only those.
func TestContentIndex(t *testing.T) {
	t.Parallel()
	config := startSandbox(t, apiAlone()...)
	o := startOperator(t, config)
	c := newClient(t, config)
	waiting, other := newSite("waiting"), newSite("other")
	other.Spec.Content = "elsewhere"
	create(t, c, waiting, other)
	eventuallyObject(t, c, waiting, wantReady("ContentMissing"))
	eventuallyObject(t, c, other, wantReady("ContentMissing"))

	create(t, c, newContent("files"))
	eventuallyObject(t, c, waiting, wantReady("Progressing"))
	if got := o.reconciles("other"); got != 1 {
		t.Errorf("a ConfigMap that it does not serve has caused %d reconciles of the other website", got-1)
	}
}

// TestPredicate: writes that leave the generation alone cause no reconcile.
func TestPredicate(t *testing.T) {
	t.Parallel()
	config := startSandbox(t, apiAlone()...)
	o := startOperator(t, config)
	c := newClient(t, config)
	site := newSite("quiet") // its content is missing: it has no Deployment that could cause a reconcile
	create(t, c, site)
	eventuallyObject(t, c, site, wantReady("ContentMissing"))

	update(t, c, site, func() { site.Annotations = map[string]string{"note": "seen"} })
	updateStatus(t, c, site, func() { site.Status.ReadyReplicas = 1 })
	last := newSite("last") // its event comes after those of the other, through the same watch and queue
	create(t, c, last)
	eventuallyObject(t, c, last, wantReady("ContentMissing"))
	if got := o.reconciles("quiet"); got != 1 {
		t.Errorf("%d reconciles, want the one of the creation", got)
	}
}

// TestFinalizer: a deleted Website stays until its host is released, which fails at first.
func TestFinalizer(t *testing.T) {
	t.Parallel()
	config := startSandbox(t, apiAlone()...)
	o := startOperator(t, config)
	o.refuse(true)
	c := newClient(t, config)
	site := newSite("blog")
	create(t, c, site)
	eventuallyObject(t, c, site, wantReady("ContentMissing"))

	if err := c.Delete(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(context.Context) error {
		if n := len(o.refusals()); n < 3 {
			return fmt.Errorf("%d refused tries to release the host", n)
		}
		return nil
	})
	get(t, c, site)
	if site.DeletionTimestamp.IsZero() {
		t.Error("the deleted website has no deletion timestamp")
	}

	o.refuse(false)
	eventuallyGone(t, c, site)
	if diff := cmp.Diff([]string{"blog.example.com"}, o.releases()); diff != "" {
		t.Errorf("released hosts (-want +got):\n%s", diff)
	}
}
