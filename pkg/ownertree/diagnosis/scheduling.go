package diagnosis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// taint is a taint that keeps pods away, and a node that has it with how many others.
type taint struct {
	text, node string
	others     int
}

// mostTainted bounds the nodes that are read.
const mostTainted = 1000

// errEnoughNodes ends a list of nodes.
var errEnoughNodes = fmt.Errorf("only the first %d were read", mostTainted)

// keptAwayByTaints reports whether a pod has no node because of their taints, which the scheduler need not name.
func keptAwayByTaints(c inspect.Cause) bool {
	return c.Type == inspect.Unschedulable && strings.Contains(c.Detail, "untolerated taint")
}

// taintsOf reads the taints of all nodes if one keeps a pod away.
func (r *situationReader) taintsOf(ctx context.Context) error {
	kind := r.kind("", "Node")
	if kind == nil || !slices.ContainsFunc(r.explained, func(n *ownertree.Node) bool {
		obj := r.objects[n.UID]
		return obj != nil && isPod(n) && slices.ContainsFunc(
			inspect.Causes(obj, inspect.Inspect(obj, nil).At(r.now), inspect.Observations{Now: r.now}),
			keptAwayByTaints)
	}) {
		return nil
	}
	seen := 0
	target := cluster.Target{Kind: *kind}
	all := cluster.ListOptions{Whole: true}
	err := r.reader.ListObjects(ctx, target, all, func(node *unstructured.Unstructured) error {
		if seen++; seen > mostTainted {
			return errEnoughNodes
		}
		taints, _, _ := unstructured.NestedSlice(node.Object, "spec", "taints")
		for _, entry := range taints {
			r.addTaint(node.GetName(), entry)
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnoughNodes):
		r.leaveOut(target, err.Error())
	case err != nil:
		r.unread = append(r.unread, target.Incomplete(err))
	}
	return nil
}

func (r *situationReader) addTaint(node string, entry any) {
	fields, _ := entry.(map[string]any)
	key, _ := fields["key"].(string)
	value, _ := fields["value"].(string)
	effect, _ := fields["effect"].(string)
	if key == "" || effect == "PreferNoSchedule" {
		return
	}
	if value != "" {
		key += "=" + value
	}
	text := key + ":" + effect
	for i := range r.taints {
		if r.taints[i].text == text {
			r.taints[i].others++
			return
		}
	}
	r.taints = append(r.taints, taint{text: text, node: node})
}

// namesTaints adds the taints of nodes to the causes of pods that these keep away.
func (d *diagnoser) namesTaints(own []inspect.Cause) {
	for i := range own {
		if !keptAwayByTaints(own[i]) {
			continue
		}
		for _, t := range d.taints[:min(len(d.taints), 4)] {
			text := "has the taint " + t.text
			if t.others > 0 {
				text += fmt.Sprintf(", as %d others", t.others)
			}
			own[i].Evidence = append(own[i].Evidence, inspect.Evidence{
				Source: inspect.FromObject, Name: "Node/" + t.node, Text: text,
			})
		}
	}
}

// held completes the causes of an object that a queue holds by what its Workload reports, which Kueue makes for it.
func (d *diagnoser) held(n *ownertree.Node, own []inspect.Cause) {
	i := slices.IndexFunc(own, func(c inspect.Cause) bool {
		return c.Type == inspect.HeldByQueue || c.Type == inspect.Paused || c.Type == inspect.HandedOver
	})
	if i < 0 {
		return
	}
	defer d.queueExists(&own[i])
	for _, w := range n.Dependents {
		if w.Kind.GroupKind().String() != "Workload.kueue.x-k8s.io" {
			continue
		}
		c := &own[i]
		if c.Type == inspect.HandedOver && !slices.ContainsFunc(d.facts.Of(w).Conditions, keepsWaiting) {
			return // it was admitted
		}
		if c.Type == inspect.HandedOver {
			c.Detail = ""
		}
		c.Type, c.Certainty = inspect.HeldByQueue, inspect.Certain
		if c.Refers == nil {
			c.Detail = ""
			c.Refers = &inspect.Reference{Group: w.Kind.Group, Kind: w.Kind.Kind, Namespace: w.Namespace, Name: w.Name}
		}
		for _, condition := range d.facts.Of(w).Conditions {
			if keepsWaiting(condition) && c.Detail == "" {
				c.Detail = condition.Message
				c.Evidence = append(c.Evidence, inspect.Evidence{
					Source: inspect.FromObject, Name: "Workload/" + w.Name, Time: condition.Since,
					Text: condition.Type + "=" + condition.Status + " " + condition.Reason,
				})
			}
		}
		return
	}
}

// keepsWaiting reports whether a condition of a Workload of Kueue keeps its Job from being started.
func keepsWaiting(c inspect.Condition) bool {
	return c.Status == "False" && (c.Type == "QuotaReserved" || c.Type == "Admitted") ||
		c.Status == "True" && c.Type == "Evicted"
}

// queueExists notes that the queue that holds an object does not exist.
func (d *diagnoser) queueExists(c *inspect.Cause) {
	if c.Refers == nil || c.Type != inspect.HeldByQueue || c.Detail != "" {
		return
	}
	_, served, err := d.kinds.Lookup(schema.GroupVersionKind{Group: c.Refers.Group, Kind: c.Refers.Kind})
	if !served || err != nil || d.find(c.Refers) != nil {
		return
	}
	c.Detail = "it does not exist"
}
