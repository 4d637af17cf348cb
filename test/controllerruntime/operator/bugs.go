package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/controllerruntime/website"
)

// The names of bugs, by what the operator does wrong.
const (
	bugReplicas      = "replicas"       // wants one web server too many
	bugExtra         = "extra"          // makes an object that was not asked for
	bugDuplicates    = "duplicates"     // makes one each time, as it does not see those that there are
	bugOwner         = "owner-uid"      // names another Website as the owner
	bugFight         = "fight"          // applies two versions of an object in turn
	bugStatus        = "status"         // reports nothing
	bugNoGeneration  = "no-generation"  // reports without the generation that it has seen
	bugEarly         = "early"          // reports that all is ready before it has looked
	bugUnready       = "unready"        // reports that all is ready while it is not
	bugNoFinalizer   = "no-finalizer"   // sets no finalizer
	bugKeepFinalizer = "keep-finalizer" // never removes it
	bugNoCleanUp     = "no-clean-up"    // leaves what it has made outside of the Website
	bugNoWatch       = "no-watch"       // does not look at what it has made
	bugStorm         = "storm"          // updates an old version again and again
	bugHotLoop       = "hot-loop"       // changes an object again and again
	bugRequeue       = "requeue"        // reconciles again and again
)

// interceptorFor returns what puts the bug into writes.
func interceptorFor(bug string) interceptor.Funcs {
	return interceptor.Funcs{
		Apply: func(
			ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption,
		) error {
			deployment, ok := obj.(*appsv1ac.DeploymentApplyConfiguration)
			if !ok {
				return c.Apply(ctx, obj, opts...)
			}
			return applyWith(ctx, c, bug, deployment, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			site, ok := obj.(*website.Website)
			has := ok && controllerutil.ContainsFinalizer(site, website.Finalizer)
			if ok && (bug == bugNoFinalizer && has || bug == bugKeepFinalizer && !has) {
				return nil
			}
			return c.Update(ctx, obj, opts...)
		},
		SubResourceUpdate: func(
			ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption,
		) error {
			if site, ok := obj.(*website.Website); ok {
				switch bug {
				case bugStatus:
					return nil
				case bugNoGeneration:
					site.Status.ObservedGeneration = 0
				case bugUnready:
					meta.SetStatusCondition(&site.Status.Conditions, readyCondition(site))
				}
			}
			return c.SubResource(name).Update(ctx, obj, opts...)
		},
	}
}

func applyWith(
	ctx context.Context, c client.Client, bug string, d *appsv1ac.DeploymentApplyConfiguration,
	opts ...client.ApplyOption,
) error {
	switch bug {
	case bugReplicas:
		*d.Spec.Replicas++
	case bugOwner:
		d.OwnerReferences[0].UID = new(types.UID("00000000-0000-0000-0000-000000000000"))
	case bugExtra, bugDuplicates:
		extra := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: *d.Namespace, Name: *d.Name + "-extra"},
			Data:       map[string]string{"wanted": "by nobody"},
		}
		if bug == bugDuplicates {
			extra.Name, extra.GenerateName = "", *d.Name+"-"
		}
		if err := client.IgnoreAlreadyExists(c.Create(ctx, extra)); err != nil {
			return err
		}
	case bugFight:
		first := c.Apply(ctx, d.WithAnnotations(map[string]string{"writer": "first"}), opts...)
		second := c.Apply(ctx, d.WithAnnotations(map[string]string{"writer": "second"}), opts...)
		return errors.Join(first, second)
	}
	return c.Apply(ctx, d, opts...)
}

func readyCondition(site *website.Website) metav1.Condition {
	return metav1.Condition{
		Type: website.Ready, Status: metav1.ConditionTrue, Reason: "AllReady", Message: "all web servers are ready",
		ObservedGeneration: site.Generation,
	}
}

// hosts has a ConfigMap for each host name that is taken, which nothing owns.
type hosts struct {
	client.Client
	bug string
}

func hostObject(host string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "host-" + host}}
}

// take takes a host name, unless it is taken.
func (h *hosts) take(ctx context.Context, host string) error {
	taken := hostObject(host)
	if err := h.Get(ctx, client.ObjectKeyFromObject(taken), taken); client.IgnoreNotFound(err) != nil || err == nil {
		return err
	}
	taken.Data = map[string]string{"host": host}
	return client.IgnoreAlreadyExists(h.Create(ctx, taken))
}

func (h *hosts) release(ctx context.Context, host string) error {
	if h.bug == bugNoCleanUp {
		return nil
	}
	return client.IgnoreNotFound(h.Delete(ctx, hostObject(host)))
}

// wrapped takes the host name of a Website before it is reconciled, and has the bugs of reconciles.
func wrapped(c client.Client, bug string, inner reconcile.Reconciler) reconcile.Reconciler {
	taken := &hosts{c, bug}
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		site := &website.Website{}
		err := c.Get(ctx, request.NamespacedName, site)
		if err != nil || !site.DeletionTimestamp.IsZero() {
			return inner.Reconcile(ctx, request)
		}
		if err := taken.take(ctx, site.Spec.Host); err != nil {
			return ctrl.Result{}, fmt.Errorf("taking the host name: %w", err)
		}
		if bug == bugEarly && len(site.Status.Conditions) == 0 {
			site.Status.ObservedGeneration, site.Status.Conditions = site.Generation, []metav1.Condition{readyCondition(site)}
			site.Status.Conditions[0].LastTransitionTime = metav1.Now()
			if err := c.Status().Update(ctx, site); err != nil {
				return ctrl.Result{}, err
			}
		}
		result, err := inner.Reconcile(ctx, request)
		if err != nil {
			return result, err
		}
		switch bug {
		case bugStorm:
			site.ResourceVersion = "1"
			return result, c.Update(ctx, site)
		case bugRequeue:
			result.RequeueAfter = 20 * time.Millisecond
		case bugHotLoop:
			result.RequeueAfter = 200 * time.Millisecond
			patch := `{"metadata":{"annotations":{"looked":"` + strconv.FormatInt(time.Now().UnixNano(), 10) + `"}}}`
			err = c.Patch(ctx, site, client.RawPatch(types.MergePatchType, []byte(patch)))
		}
		return result, err
	})
}
