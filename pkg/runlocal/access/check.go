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

// maxConcurrent is how many questions are under way at a time.
const maxConcurrent = 16

// Checker asks an API server what its user may do. It may be used concurrently.
type Checker struct {
	// Client asks under the user's name.
	Client authorizationv1client.SelfSubjectAccessReviewsGetter
	// Rules asks for all that the user may do in a namespace, which saves most questions; nil asks them all.
	Rules authorizationv1client.SelfSubjectRulesReviewsGetter
	// Kinds are those that the server serves.
	Kinds *cluster.Kinds
	// Namespaces are where namespaced kinds are needed; nil is everywhere.
	Namespaces []string
}

// Missing returns which of the needs the user does not have, sorted. Needs of many kinds are taken apart if they are not
// met as a whole: what is missing then is named kind by kind.
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

// addForNamespaces adds a need for each place where it is one.
func (c *Checker) addForNamespaces(to needs, n Need) {
	places := c.Namespaces
	if len(places) == 0 || n.Namespace != "" || c.scope(n.GroupResource()) == clusterScoped {
		places = []string{n.Namespace}
	}
	for _, place := range places {
		right := n.Permission
		right.Namespace = place
		to.add(right, n.Optional, n.Controllers...)
	}
}

// scope is where the objects of a kind are.
type scope int

const (
	unknownScope scope = iota
	namespacedScoped
	clusterScoped
)

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

// addForKinds adds a need of many kinds for each kind that is served, and on which the server knows the verb.
func (c *Checker) addForKinds(to needs, n Need) {
	for _, group := range c.Kinds.Incomplete() {
		if group.Group == n.Group {
			to.add(n.Permission, n.Optional, n.Controllers...) // nobody knows its kinds
			return
		}
	}
	_, sub, _ := strings.Cut(n.Resource, "/")
	for _, k := range c.Kinds.All() {
		if n.Group != "*" && n.Group != k.Group || sub == "" && !k.Can(n.Verb) || sub == "scale" && !scalable(k.GroupResource()) {
			continue
		}
		one := n
		one.Group, one.Resource = k.Group, strings.Replace(n.Resource, "*", k.Resource, 1)
		c.addForNamespaces(to, one)
	}
}

// scalable are Kubernetes' own kinds that have a scale.
func scalable(r schema.GroupResource) bool {
	switch r {
	case schema.GroupResource{Group: "apps", Resource: "deployments"}, schema.GroupResource{Group: "apps", Resource: "replicasets"},
		schema.GroupResource{Group: "apps", Resource: "statefulsets"}, schema.GroupResource{Resource: "replicationcontrollers"}:
		return true
	}
	return false
}

// denied returns those that the user does not have, sorted.
func (c *Checker) denied(ctx context.Context, of needs) ([]Need, error) {
	known, err := c.reviewRules(ctx, of)
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrent)
	var mu sync.Mutex
	missing := needs{}
	for _, right := range slices.SortedFunc(maps.Keys(of), Permission.Compare) {
		group.Go(func() error {
			allowed, err := c.allowed(ctx, known[right.Namespace], right)
			if err != nil || allowed {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			missing[right] = of[right]
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("asking the cluster what you may do: %w", err)
	}
	return missing.sorted(), nil
}

// allowed answers by what is known, or else by the server.
func (c *Checker) allowed(ctx context.Context, known *namespaceRules, right Permission) (bool, error) {
	if known != nil {
		return known.allows(right), nil
	}
	resource, sub, _ := strings.Cut(right.Resource, "/")
	answer, err := c.Client.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: right.Namespace, Verb: right.Verb, Group: right.Group, Resource: resource, Subresource: sub, Name: right.Name,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("whether you may %s: %w", right, err)
	}
	return answer.Status.Allowed, nil
}

// impossibleNamespace is the name of a namespace that there cannot be: no role is bound in it, so what a user may do there is what
// they may do everywhere.
const impossibleNamespace = "no:namespace"

// reviewNamespace is all that a user may do in a namespace.
type namespaceRules struct{ rules []rbacv1.PolicyRule }

func (r *namespaceRules) allows(right Permission) bool {
	_, sub, _ := strings.Cut(right.Resource, "/")
	for i := range r.rules {
		rule := &r.rules[i]
		if rbacv1helpers.VerbMatches(rule, right.Verb) && rbacv1helpers.APIGroupMatches(rule, right.Group) &&
			rbacv1helpers.ResourceMatches(rule, right.Resource, sub) && rbacv1helpers.ResourceNameMatches(rule, right.Name) {
			return true
		}
	}
	return false
}

// reviewRules asks once for each place what the user may do there. Places of which the server does not know all are left out,
// and so are all if the server does not answer such questions.
func (c *Checker) reviewRules(ctx context.Context, of needs) (map[string]*namespaceRules, error) {
	known := map[string]*namespaceRules{}
	if c.Rules == nil {
		return known, nil
	}
	for right := range of {
		known[right.Namespace] = nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrent)
	var mu sync.Mutex
	for _, place := range slices.Collect(maps.Keys(known)) { // the answers are put into it meanwhile
		group.Go(func() error {
			answer := c.reviewNamespace(ctx, place)
			mu.Lock()
			defer mu.Unlock()
			known[place] = answer
			return ctx.Err()
		})
	}
	return known, group.Wait()
}

// reviewNamespace is nil if not all is known.
func (c *Checker) reviewNamespace(ctx context.Context, place string) *namespaceRules {
	if place == "" {
		place = impossibleNamespace
	}
	answer, err := c.Rules.SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: place},
	}, metav1.CreateOptions{})
	if err != nil || answer.Status.Incomplete {
		return nil // each right is asked for, and that tells what is wrong
	}
	r := &namespaceRules{}
	for _, rule := range answer.Status.ResourceRules {
		r.rules = append(r.rules, rbacv1.PolicyRule{
			Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
		})
	}
	return r
}
