package website

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// ContentField is the index of Websites by the name of their content. The server selects by it too.
const ContentField = "spec.content"

// IndexContent adds ContentField to a cache. It must be called before the cache starts.
func IndexContent(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &Website{}, ContentField, func(obj client.Object) []string {
		if site, ok := obj.(*Website); ok {
			return []string{site.Spec.Content}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing websites by content: %w", err)
	}
	return nil
}

// SetupWithManager registers reconciler, which is a Reconciler or wraps one: it is called for a Website whose spec
// changed or that goes, whose Deployment changed, or whose content did.
func SetupWithManager(ctx context.Context, mgr ctrl.Manager, reconciler reconcile.Reconciler) error {
	if err := IndexContent(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	err := ctrl.NewControllerManagedBy(mgr).
		For(&Website{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(sitesOf(mgr.GetClient()))).
		Complete(reconciler)
	if err != nil {
		return fmt.Errorf("building the website controller: %w", err)
	}
	return nil
}

// sitesOf finds the Websites that serve a ConfigMap.
func sitesOf(reader client.Reader) handler.MapFunc {
	return func(ctx context.Context, content client.Object) []reconcile.Request {
		sites := &WebsiteList{}
		err := reader.List(ctx, sites, client.InNamespace(content.GetNamespace()),
			client.MatchingFields{ContentField: content.GetName()})
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Listing the websites of a config map", "configMap", content.GetName())
		}
		var requests []reconcile.Request
		for i := range sites.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&sites.Items[i])})
		}
		return requests
	}
}
