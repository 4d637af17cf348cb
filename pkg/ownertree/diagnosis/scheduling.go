package diagnosis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// isKeptAway reports whether an object is a pod that shows such a cause itself.
func (r *situationReader) isKeptAway(n *ownertree.Node, by func(inspect.Cause) bool) bool {
	obj := r.objects[n.UID]
	return obj != nil && isPod(n) && slices.ContainsFunc(
		inspect.Causes(obj, inspect.Inspect(obj, nil).At(r.now), inspect.Observations{Now: r.now}), by)
}

// taintsOf reads the taints of all nodes if one keeps a pod away.
func (r *situationReader) taintsOf(ctx context.Context) error {
	kind := r.kind("", "Node")
	if kind == nil || !slices.ContainsFunc(r.explained, func(n *ownertree.Node) bool {
		return r.isKeptAway(n, keptAwayByTaints)
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
