package diagnosis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// deletion completes the causes of an object that is being deleted by what the graph knows: who removes its finalizers,
// and which dependents it waits for. Of a namespace, what is left in it is visited.
func (d *diagnoser) deletion(n *ownertree.Node, own []inspect.Cause) []inspect.Cause {
	blockers, deleting := d.graph.Blockers(n)
	if !deleting {
		return own
	}
	if !slices.ContainsFunc(own, func(c inspect.Cause) bool { return c.Type == inspect.Finalizer }) {
		own = append(own, finalizersOf(n)...)
	}
	for i := range own {
		c := &own[i]
		if c.Type != inspect.Finalizer {
			continue
		}
		for _, r := range blockers.Removals {
			if r.Finalizer != c.Detail {
				continue
			}
			c.Weight = inspect.General
			if r.Certain {
				c.Weight, c.Certainty = inspect.Symptom, inspect.Possible
			}
			c.Evidence = append(c.Evidence, inspect.Evidence{
				Source: inspect.FromField, Name: "metadata.finalizers", Text: r.By + " removes it " + r.Once,
			})
		}
		if owner, ok := d.finalizerOwner(n, c.Detail); ok && c.Weight == inspect.Specific {
			c.Evidence = append(c.Evidence, inspect.Evidence{
				Source: inspect.FromWriter, Name: owner.Manager, Text: "set it", Time: owner.Time,
			})
		}
	}
	if len(blockers.Dependents) > 0 {
		own = append(own, d.dependentsRemain(n, blockers.Dependents))
	}
	if isPod(n) && len(n.Finalizers) == 0 {
		own = append(own, d.podNotStopped(n))
	}
	if isNamespace(n) && d.contents(n) {
		for i := range own {
			if own[i].Type == inspect.NamespaceContent {
				own[i].Weight = inspect.Symptom // it only counts what was found
			}
		}
	}
	return own
}

// finalizersOf are the causes that the finalizers of an object are that was not read in full.
func finalizersOf(n *ownertree.Node) []inspect.Cause {
	var out []inspect.Cause
	for _, name := range n.Finalizers {
		out = append(out, inspect.Cause{
			Type: inspect.Finalizer, Certainty: inspect.Certain, Weight: inspect.Specific,
			Detail: name, Since: n.Deleting,
			Evidence: []inspect.Evidence{{
				Source: inspect.FromField, Name: "metadata.finalizers", Text: name, Time: n.Deleting,
			}},
		})
	}
	return out
}

// finalizerOwner is who has added a finalizer, and so should remove it; false if that is not known.
func (s *Situation) finalizerOwner(n *ownertree.Node, finalizer string) (fields.FieldOwner, bool) {
	path, err := fields.ParsePath("metadata.finalizers[=" + finalizer + "]")
	obj := s.objects[n.UID]
	if err != nil || obj == nil {
		return fields.FieldOwner{}, false
	}
	value, err := fields.Owners(obj, path)
	if err != nil || len(value.Owners) == 0 {
		return fields.FieldOwner{}, false
	}
	return value.Owners[0], true
}

// dependentsRemain is the cause of an object whose foreground deletion waits for dependents. What these wait for is
// found by visiting them.
func (d *diagnoser) dependentsRemain(n *ownertree.Node, dependents []*ownertree.Node) inspect.Cause {
	c := inspect.Cause{
		Type: DependentsRemain, Certainty: inspect.Certain, Weight: inspect.General, Since: n.Deleting,
		Detail: fmt.Sprintf("%d that block it", len(dependents)),
	}
	if len(dependents) == 1 {
		c.Detail = dependents[0].Kind.Kind + "/" + dependents[0].Name
		c.Refers = &inspect.Reference{
			Group: dependents[0].Kind.Group, Kind: dependents[0].Kind.Kind,
			Namespace: dependents[0].Namespace, Name: dependents[0].Name,
		}
	}
	for _, n := range dependents[:min(len(dependents), 3)] {
		c.Evidence = append(c.Evidence, inspect.Evidence{
			Source: inspect.FromObject, Name: n.Kind.Kind + "/" + n.Name,
			Text: "has blockOwnerDeletion", Time: n.Deleting,
		})
	}
	return c
}

// podNotStopped is the cause of a pod that was deleted and still exists though it has no finalizer: its kubelet has not
// removed it.
func (d *diagnoser) podNotStopped(n *ownertree.Node) inspect.Cause {
	c := inspect.Cause{
		Type: PodNotStopped, Certainty: inspect.Likely, Weight: inspect.General, Since: n.Deleting,
		Detail: "its kubelet has not reported that its containers have ended",
		Evidence: []inspect.Evidence{{
			Source: inspect.FromField, Name: "metadata.deletionTimestamp", Text: "set", Time: n.Deleting,
		}},
	}
	grace := 30 * time.Second
	if obj := d.objects[n.UID]; obj != nil && obj.GetDeletionGracePeriodSeconds() != nil {
		grace = time.Duration(*obj.GetDeletionGracePeriodSeconds()) * time.Second
	}
	if n.Deleting != nil && d.now.Sub(n.Deleting.Time) <= grace {
		c.Certainty, c.Weight = inspect.Possible, inspect.Symptom
		c.Detail = "its containers are given " + grace.String() + " to end"
	}
	return c
}

// mostContents bounds how many of the objects left in a namespace are looked at.
const mostContents = 32

// contents notes, of a namespace that is being deleted, the first objects in it that do not go, and reports whether
// there are any.
func (d *diagnoser) contents(namespace *ownertree.Node) bool {
	stay := 0
	for _, n := range d.graph.Nodes() {
		if n.Namespace != namespace.Name || n.Deleting == nil || stay == mostContents {
			continue
		}
		facts, causes := d.facts.Of(n), d.deletion(n, nil)
		if len(causes) > 0 {
			stay++
		}
		chain := []Link{
			{Node: namespace, Facts: d.facts.Of(namespace)}, {Node: n, Facts: facts, Relation: "contains"},
		}
		before := len(d.causes)
		d.operator(chain)
		d.explain(n, causes, d.causes[before:])
		for _, c := range causes {
			d.causes = append(d.causes, &Cause{Cause: c, severity: 3, Chain: chain})
		}
	}
	return stay > 0
}

// protectedPod is a pod that a budget protects from eviction, because that is exhausted or beside another: no pod with
// two budgets is evicted (k8s.io/kubernetes/pkg/registry/core/pod/storage/eviction.go).
type protectedPod struct {
	name          string
	budget, other *budget
}

// budget is a PodDisruptionBudget; exhausted reports that it allows no disruption.
type budget struct {
	namespace, name string
	selector        labels.Selector
	healthy, wanted int64
	exhausted       bool
}

// mostEvicted bounds the pods of a node that are looked at.
const mostEvicted = 500

// errEnoughPods ends a list of pods.
var errEnoughPods = fmt.Errorf("only the first %d were read", mostEvicted)

// evictions reads, if the object is a node from which pods are to be removed, the pods on it and their budgets.
func (r *situationReader) evictions(ctx context.Context) error {
	isNode := r.Asked.Kind.GroupKind() == (schema.GroupKind{Kind: "Node"})
	if !isNode || r.facts.Of(r.Asked).Status.Status != inspect.Suspended {
		return nil
	}
	pods, budgets := r.kind("", "Pod"), r.kind("policy", "PodDisruptionBudget")
	if pods == nil || budgets == nil {
		return nil
	}
	var all []*budget
	target := cluster.Target{Kind: *budgets}
	err := r.reader.ListObjects(ctx, target, cluster.ListOptions{}, func(obj *unstructured.Unstructured) error {
		if b := budgetOf(obj); b != nil {
			all = append(all, b)
		}
		return nil
	})
	if err != nil {
		r.unread = append(r.unread, target.Incomplete(err))
		return nil
	}
	if len(all) == 0 {
		return nil
	}
	seen := 0
	target = cluster.Target{Kind: *pods}
	onNode := cluster.ListOptions{Fields: "spec.nodeName=" + r.Asked.Name}
	err = r.reader.ListObjects(ctx, target, onNode, func(pod *unstructured.Unstructured) error {
		if seen++; seen > mostEvicted {
			return errEnoughPods
		}
		of := slices.DeleteFunc(slices.Clone(all), func(b *budget) bool {
			return b.namespace != pod.GetNamespace() || !b.selector.Matches(labels.Set(pod.GetLabels()))
		})
		switch {
		case len(of) > 1:
			r.drained = append(r.drained, protectedPod{pod.GetName(), of[0], of[1]})
		case len(of) == 1 && of[0].exhausted:
			r.drained = append(r.drained, protectedPod{pod.GetName(), of[0], nil})
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnoughPods):
		r.leaveOut(target, err.Error())
	case err != nil:
		r.unread = append(r.unread, target.Incomplete(err))
	}
	slices.SortFunc(r.drained, func(a, b protectedPod) int {
		return cmp.Or(
			cmp.Compare(a.budget.namespace, b.budget.namespace), cmp.Compare(a.budget.name, b.budget.name),
			cmp.Compare(a.name, b.name),
		)
	})
	r.unhealthyOf(ctx)
	return nil
}

// unhealthyOf has pods explained, a few of each budget that allows no eviction, that are not ready: because of them it
// allows none.
func (r *situationReader) unhealthyOf(ctx context.Context) {
	looked := map[*budget]bool{}
	for _, p := range r.drained {
		if p.other != nil || looked[p.budget] || len(r.explained) > mostExplained {
			continue
		}
		looked[p.budget] = true
		r.unready(ctx, r.Asked, p.budget.namespace, p.budget.selector,
			"waits because of PodDisruptionBudget/"+p.budget.name+" for")
	}
}

// budgetOf reads a budget; nil if it cannot be read.
func budgetOf(obj *unstructured.Unstructured) *budget {
	var b policyv1.PodDisruptionBudget
	if runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &b) != nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return nil
	}
	return &budget{
		b.Namespace, b.Name, selector, int64(b.Status.CurrentHealthy), int64(b.Status.DesiredHealthy),
		b.Status.DisruptionsAllowed == 0 && b.Status.ObservedGeneration > 0,
	}
}

// kind looks a kind up; nil if it is not served.
func (r *situationReader) kind(group, kind string) *cluster.Kind {
	found, ok, err := r.kinds.Lookup(schema.GroupVersionKind{Group: group, Kind: kind})
	if err != nil || !ok {
		return nil
	}
	return &found
}

// evictionsBlocked are the budgets that keep pods on a node that is being emptied.
func (d *diagnoser) evictionsBlocked(n *ownertree.Node) []inspect.Cause {
	if n != d.Asked {
		return nil
	}
	type budgets struct{ first, other *budget }
	pods := map[budgets][]string{}
	var order []budgets
	for _, p := range d.drained {
		of := budgets{p.budget, p.other}
		if pods[of] == nil {
			order = append(order, of)
		}
		pods[of] = append(pods[of], p.name)
	}
	var out []inspect.Cause
	for _, of := range order {
		b := of.first
		c := inspect.Cause{
			Type: inspect.EvictionBlocked, Certainty: inspect.Likely, Weight: inspect.Specific,
			Detail: strings.Join(pods[of][:min(len(pods[of]), 3)], ", "),
			Refers: &inspect.Reference{
				Group: "policy", Kind: "PodDisruptionBudget", Namespace: b.namespace, Name: b.name,
			},
			Evidence: []inspect.Evidence{{
				Source: inspect.FromObject, Name: "PodDisruptionBudget/" + b.name,
				Text: fmt.Sprintf("allows no disruption: %d pods are healthy, %d must be", b.healthy, b.wanted),
			}},
		}
		if of.other != nil {
			c.Certainty = inspect.Certain
			c.Detail += " has PodDisruptionBudget/" + of.other.name +
				", too, and no pod with two budgets is ever evicted"
			c.Evidence = nil
			for _, b := range []*budget{of.first, of.other} {
				c.Evidence = append(c.Evidence, inspect.Evidence{
					Source: inspect.FromObject, Name: "PodDisruptionBudget/" + b.name, Text: "selects " + pods[of][0],
				})
			}
		}
		out = append(out, c)
	}
	return out
}
