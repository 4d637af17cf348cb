package access

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacv1helpers "k8s.io/kubernetes/pkg/apis/rbac/v1"
)

// noNamespace is the name of a namespace that there cannot be: no role is bound in it, so what a user may do there is what
// they may do everywhere.
const noNamespace = "no:namespace"

// review is all that a user may do in a namespace.
type review struct{ rules []rbacv1.PolicyRule }

func (r *review) allows(right Right) bool {
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

// reviews asks once for each place what the user may do there. Places of which the server does not know all are left out,
// and so are all if the server does not answer such questions.
func (c *Checker) reviews(ctx context.Context, of needs) (map[string]*review, error) {
	known := map[string]*review{}
	if c.Rules == nil {
		return known, nil
	}
	for right := range of {
		known[right.Namespace] = nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	var mu sync.Mutex
	for _, place := range slices.Collect(maps.Keys(known)) { // the answers are put into it meanwhile
		group.Go(func() error {
			answer := c.review(ctx, place)
			mu.Lock()
			defer mu.Unlock()
			known[place] = answer
			return ctx.Err()
		})
	}
	return known, group.Wait()
}

// review is nil if not all is known.
func (c *Checker) review(ctx context.Context, place string) *review {
	if place == "" {
		place = noNamespace
	}
	answer, err := c.Rules.SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: place},
	}, metav1.CreateOptions{})
	if err != nil || answer.Status.Incomplete {
		return nil // each right is asked for, and that tells what is wrong
	}
	r := &review{}
	for _, rule := range answer.Status.ResourceRules {
		r.rules = append(r.rules, rbacv1.PolicyRule{
			Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
		})
	}
	return r
}
