package api

import (
	"context"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// strategies is what upstream's registry has of a resource: what it checks of objects that clients write. Nearly all
// strategies of updates are those of creations, too.
type strategies interface {
	GetUpdateStrategy() rest.RESTUpdateStrategy
}

// addChecks takes note of the strategies of a group's resources, by version and name. It must not be called
// concurrently.
func (b *backend) addChecks(group string, storage map[string]map[string]rest.Storage) {
	if b.checks == nil {
		b.checks = map[schema.GroupResource]strategies{}
	}
	for _, resources := range storage {
		for name, one := range resources {
			if s, ok := one.(strategies); ok && !strings.Contains(name, "/") {
				b.checks[schema.GroupResource{Group: group, Resource: name}] = s
			}
		}
	}
}

// errScope is the error of an object without a namespace that needs one, or with one that it cannot have.
var errScope = errors.New("it must have a namespace, or its kind has none")

// check returns an error for an internal object that a client could not have written. Workloads are checked as new
// ones, since controllers rely on all of their specs; others as unchanged ones, of which some may have what only an
// update sets.
func (b *backend) check(ctx context.Context, kind schema.GroupVersionKind, resource schema.GroupResource,
	obj runtime.Object, m metav1.Object) error {
	s, ok := b.checks[resource]
	if !ok {
		return nil
	}
	ctx = genericapirequest.WithNamespace(ctx, m.GetNamespace())
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "create",
		APIGroup: kind.Group, APIVersion: kind.Version, Resource: resource.Resource,
		Namespace: m.GetNamespace(), Name: m.GetName(),
	})
	update := s.GetUpdateStrategy()
	create, isWorkload := update.(rest.RESTCreateStrategy)
	isWorkload = isWorkload && (kind.Group == "apps" || kind.Group == "batch")
	var found field.ErrorList
	switch {
	case update == nil:
		return nil
	case update.NamespaceScoped() != (m.GetNamespace() != ""):
		return errScope
	case isWorkload:
		found = create.Validate(ctx, obj)
	default:
		found = update.ValidateUpdate(ctx, obj.DeepCopyObject(), obj)
	}
	return found.ToAggregate()
}
