package plan

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Budget is a PodDisruptionBudget, and what a plan makes of the pods that it selects. Controllers do not ask it: it
// bounds evictions only.
type Budget struct {
	Object ObjectID
	// Needs is how many of its pods must be ready, by its status at the beginning. Before is how many are at the
	// beginning, Lowest the fewest meanwhile.
	Needs, Before, Lowest int
}

// followedBudget is a Budget and the pods that it selects.
type followedBudget struct {
	Budget
	selector labels.Selector
	ready    map[types.UID]bool
	changed  bool
}

// readBudgets reads which budgets there are.
func (r *rollouts) readBudgets(ctx context.Context, client kubernetes.Interface) error {
	r.budgets = nil
	list, err := client.PolicyV1().PodDisruptionBudgets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing PodDisruptionBudgets: %w", err)
	}
	for i := range list.Items {
		budget := &list.Items[i]
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil {
			continue // the API admits none
		}
		r.budgets = append(r.budgets, &followedBudget{
			Budget: Budget{
				Object: ObjectID{
					Resource: schema.GroupVersionResource{
						Group: "policy", Version: "v1", Resource: "poddisruptionbudgets",
					},
					Kind: "PodDisruptionBudget", Namespace: budget.Namespace, Name: budget.Name,
				},
				Needs: int(budget.Status.DesiredHealthy),
			},
			selector: selector, ready: map[types.UID]bool{},
		})
	}
	return nil
}

// observeBudgets takes note of a pod, which is gone if it is not ready. first is true at the beginning.
func (r *rollouts) observeBudgets(pod metav1.Object, ready, first bool) {
	for _, b := range r.budgets {
		if b.Object.Namespace != pod.GetNamespace() {
			continue
		}
		switch selected := b.selector.Matches(labels.Set(pod.GetLabels())); {
		case selected && ready:
			b.ready[pod.GetUID()] = true
		default:
			delete(b.ready, pod.GetUID())
		}
		if n := len(b.ready); first {
			b.Before, b.Lowest = n, n
		} else if n < b.Lowest {
			b.Lowest, b.changed = n, true
		}
	}
}

// listBudgets returns the budgets whose pods become fewer.
func (r *rollouts) listBudgets() []Budget {
	var out []Budget
	for _, b := range r.budgets {
		if b.changed {
			out = append(out, b.Budget)
		}
	}
	return out
}
