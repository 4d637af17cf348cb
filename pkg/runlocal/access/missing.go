package access

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	rbacv1helpers "k8s.io/kubernetes/pkg/apis/rbac/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// maxConcurrent is how many reviews are requested at a time.
const maxConcurrent = 16

// Checker asks an API server what a user may do there, by SelfSubjectRulesReviews and SelfSubjectAccessReviews. It is
// safe for concurrent use.
type Checker struct {
	// Client creates access reviews as the user.
	Client authorizationv1client.SelfSubjectAccessReviewsGetter
	// Rules creates rules reviews, which return all that the user may do in a namespace and save most access reviews.
	// Nil means access reviews only.
	Rules authorizationv1client.SelfSubjectRulesReviewsGetter
	// Kinds are the kinds that the server serves.
	Kinds *cluster.Kinds
	// Namespaces are the namespaces in which permissions for namespaced kinds are needed; nil means all.
	Namespaces []string
}

// Missing returns the needs that the user lacks, sorted. A need for all resources that the user lacks is returned as
// needs for the resources that are missing.
func (c *Checker) Missing(ctx context.Context, all []Need) ([]Need, error) {
	whole, parts := needs{}, needs{}
	for _, n := range all {
		if n.isWildcard() {
			whole.add(n.Permission, n.Optional, n.Controllers...)
			continue
		}
		c.addForNamespaces(parts, n)
	}
	denied, err := c.denied(ctx, whole)
	if err != nil {
		return nil, err
	}
	for _, n := range denied {
		c.addForKinds(parts, n)
	}
	return c.denied(ctx, parts)
}

// addForNamespaces adds n to needs for each of the Checker's namespaces, or once if it is for one namespace or for a
// cluster-scoped kind.
func (c *Checker) addForNamespaces(to needs, n Need) {
	namespaces := c.Namespaces
	if len(namespaces) == 0 || n.Namespace != "" || c.scope(n.GroupResource()) == clusterScoped {
		namespaces = []string{n.Namespace}
	}
	for _, namespace := range namespaces {
		permission := n.Permission
		permission.Namespace = namespace
		to.add(permission, n.Optional, n.Controllers...)
	}
}

// scope is whether a kind is namespaced.
type scope int

const (
	unknownScope scope = iota
	namespacedScoped
	clusterScoped
)

// scope returns the scope of a kind, unknownScope for one that the server does not serve.
func (c *Checker) scope(of schema.GroupResource) scope {
	for _, k := range c.Kinds.All() {
		if k.GroupResource() == of && k.Namespaced {
			return namespacedScoped
		}
		if k.GroupResource() == of {
			return clusterScoped
		}
	}
	return unknownScope
}

// addForKinds adds n, a need for more than one resource, for each resource that is served with its verb.
func (c *Checker) addForKinds(to needs, n Need) {
	for _, group := range c.Kinds.Incomplete() {
		if group.Group == n.Group {
			to.add(n.Permission, n.Optional, n.Controllers...) // its kinds are not known
			return
		}
	}
	_, sub, _ := strings.Cut(n.Resource, "/")
	for _, k := range c.Kinds.All() {
		if n.Group != "*" && n.Group != k.Group || sub == "" && !k.Can(n.Verb) ||
			sub == "scale" && !scalable(k.GroupResource()) {
			continue
		}
		one := n
		one.Group, one.Resource = k.Group, strings.Replace(n.Resource, "*", k.Resource, 1)
		c.addForNamespaces(to, one)
	}
}

// scalable reports whether r is a built-in resource with the subresource scale.
func scalable(r schema.GroupResource) bool {
	switch r {
	case schema.GroupResource{Group: "apps", Resource: "deployments"},
		schema.GroupResource{Group: "apps", Resource: "replicasets"},
		schema.GroupResource{Group: "apps", Resource: "statefulsets"},
		schema.GroupResource{Resource: "replicationcontrollers"}:
		return true
	}
	return false
}

// denied returns the needs that the user lacks, sorted.
func (c *Checker) denied(ctx context.Context, of needs) ([]Need, error) {
	known, err := c.reviewRules(ctx, of)
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrent)
	var mu sync.Mutex
	missing := needs{}
	for _, permission := range SortedPermissions(of) {
		group.Go(func() error {
			allowed, err := c.allowed(ctx, known[permission.Namespace], permission)
			if err != nil || allowed {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			missing[permission] = of[permission]
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("reviewing what you may do on the cluster: %w", err)
	}
	return missing.sorted(), nil
}

// allowed reports whether the user has a permission: by the rules of its namespace if they are known, else by a review.
func (c *Checker) allowed(ctx context.Context, known *namespaceRules, permission Permission) (bool, error) {
	if known != nil {
		return known.allows(permission), nil
	}
	resource, sub, _ := strings.Cut(permission.Resource, "/")
	review, err := c.Client.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: permission.Namespace, Verb: permission.Verb, Name: permission.Name,
			Group: permission.Group, Resource: resource, Subresource: sub,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("reviewing whether you may %q: %w", permission, err)
	}
	return review.Status.Allowed, nil
}

// impossibleNamespace is not a valid name of a namespace: no role is bound in it, so what a user may do there they may
// do in all namespaces.
const impossibleNamespace = "no:namespace"

// reviewNamespace is all that a user may do in a namespace.
type namespaceRules struct{ rules []rbacv1.PolicyRule }

func (r *namespaceRules) allows(permission Permission) bool {
	_, sub, _ := strings.Cut(permission.Resource, "/")
	for i := range r.rules {
		rule := &r.rules[i]
		if rbacv1helpers.VerbMatches(rule, permission.Verb) && rbacv1helpers.APIGroupMatches(rule, permission.Group) &&
			rbacv1helpers.ResourceMatches(rule, permission.Resource, sub) &&
			rbacv1helpers.ResourceNameMatches(rule, permission.Name) {
			return true
		}
	}
	return false
}

// reviewRules returns what the user may do in each namespace of the needs. The value is nil for a namespace whose rules
// the server cannot list completely, and there are none without Checker.Rules.
func (c *Checker) reviewRules(ctx context.Context, of needs) (map[string]*namespaceRules, error) {
	known := map[string]*namespaceRules{}
	if c.Rules == nil {
		return known, nil
	}
	for permission := range of {
		known[permission.Namespace] = nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrent)
	var mu sync.Mutex
	for _, namespace := range slices.Collect(maps.Keys(known)) { // known is written meanwhile
		group.Go(func() error {
			rules := c.reviewNamespace(ctx, namespace)
			mu.Lock()
			defer mu.Unlock()
			known[namespace] = rules
			return ctx.Err()
		})
	}
	return known, group.Wait()
}

// reviewNamespace returns the user's rules in a namespace, "" for those that hold everywhere; nil if they cannot be
// listed completely.
func (c *Checker) reviewNamespace(ctx context.Context, namespace string) *namespaceRules {
	if namespace == "" {
		namespace = impossibleNamespace
	}
	review, err := c.Rules.SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil || review.Status.Incomplete {
		return nil // each permission is reviewed by itself then, and its error says what is wrong
	}
	r := &namespaceRules{}
	for _, rule := range review.Status.ResourceRules {
		r.rules = append(r.rules, rbacv1.PolicyRule{
			Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
		})
	}
	return r
}
