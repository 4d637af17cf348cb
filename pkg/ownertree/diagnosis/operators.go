package diagnosis

import (
	"context"
	"slices"
	"strings"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// runBy is the relation of a custom resource to the Deployment that seems to run its controller.
const runBy = "seems to be acted on by"

// operatorsOf finds the Deployments that seem to run the controllers of custom resources on which none acts: those that
// have no status, whose last change was not seen, or that wait for a finalizer. It goes by the field managers of these,
// and by the names of Deployments in all namespaces, which are listed once.
func (r *situationReader) operatorsOf(ctx context.Context) error {
	kind := r.kind(appsv1.GroupName, "Deployment")
	facts, _ := r.facts.At(r.now)
	waiting := slices.DeleteFunc(slices.Clone(r.explained), func(n *ownertree.Node) bool {
		f := facts.Of(n)
		waits := f.Drifted() || f.Unreported() || n.Deleting != nil && len(n.Finalizers) > 0
		isCustom := strings.Contains(n.Kind.Group, ".") && !strings.HasSuffix(n.Kind.Group, ".k8s.io")
		return !waits || !isCustom
	})
	if kind == nil || len(waiting) == 0 {
		return nil
	}
	var all []*metav1.PartialObjectMetadata
	keep := func(_ cluster.Target, object *metav1.PartialObjectMetadata) { all = append(all, object) }
	unread, err := r.reader.ListMetadata(ctx, []cluster.Target{{Kind: *kind}}, keep)
	if err != nil {
		return err
	}
	r.unread = append(r.unread, unread...)
	followed := map[*ownertree.Node]bool{}
	for _, n := range waiting {
		at := operatorOf(n, r.managersOf(n), all)
		if at == nil {
			continue
		}
		to, err := r.graph.Get(ctx, r.reader, ownertree.Ref{Kind: *kind, Namespace: at.Namespace, Name: at.Name})
		if err != nil {
			continue // it has gone
		}
		r.follow(ctx, n, to, runBy)
		if followed[to] {
			continue
		}
		followed[to] = true
		r.read(ctx, []*ownertree.Node{to})
		var d appsv1.Deployment
		if !r.typed(to, &d) {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if err == nil {
			before := len(r.explained)
			r.unready(ctx, to, at.Namespace, selector, "selects")
			r.read(ctx, r.explained[before:])
		}
	}
	return nil
}

// managersOf are the field managers that have written the status or a finalizer of an object.
func (r *situationReader) managersOf(n *ownertree.Node) []string {
	obj := r.objects[n.UID]
	if obj == nil {
		return nil
	}
	var out []string
	if w, ok := fields.LastStatusWriter(obj); ok {
		out = append(out, w.Manager)
	}
	for _, name := range n.Finalizers {
		if owner, ok := r.finalizerOwner(n, name); ok {
			out = append(out, owner.Manager)
		}
	}
	return out
}

// operatorOf returns the one of the Deployments that is called like a field manager of an object, or else the one whose
// name begins with the first word of its kind, and is that of an operator or controller. Those in the object's
// namespace come first; if there are several, it is not known which it is, and the result is nil.
func operatorOf(
	n *ownertree.Node, managers []string, all []*metav1.PartialObjectMetadata,
) *metav1.PartialObjectMetadata {
	word := firstWord(n.Kind.Kind)
	for _, is := range []func(*metav1.PartialObjectMetadata) bool{
		func(d *metav1.PartialObjectMetadata) bool { return slices.Contains(managers, d.Name) },
		func(d *metav1.PartialObjectMetadata) bool {
			parts := strings.Split(d.Name, "-")
			acts := slices.Contains(parts, "operator") || slices.Contains(parts, "controller")
			return len(word) >= 4 && parts[0] == word && acts
		},
	} {
		for _, namespace := range []string{n.Namespace, ""} {
			var found []*metav1.PartialObjectMetadata
			for _, d := range all {
				if is(d) && (namespace == "" || d.Namespace == namespace) {
					found = append(found, d)
				}
			}
			switch {
			case len(found) == 1:
				return found[0]
			case len(found) > 1:
				return nil
			}
		}
	}
	return nil
}

// firstWord is the first word of a kind, in small letters: tidb of TidbCluster.
func firstWord(kind string) string {
	for i, letter := range kind {
		if i > 0 && unicode.IsUpper(letter) {
			return strings.ToLower(kind[:i])
		}
	}
	return strings.ToLower(kind)
}

// scaledDown is the cause that the Deployment which seems to run the controller of an object has no pods.
func (d *diagnoser) scaledDown(n *ownertree.Node) (inspect.Cause, bool) {
	obj := d.objects[n.UID]
	if obj == nil || untyped.Map(obj.Object).Count(1, "spec", "replicas") > 0 {
		return inspect.Cause{}, false
	}
	return inspect.Cause{
		Type: inspect.Paused, Certainty: inspect.Likely, Weight: inspect.Specific, Detail: "it is scaled to 0",
		Evidence: []inspect.Evidence{{Source: inspect.FromField, Name: "spec.replicas", Text: "0"}},
	}, true
}

// operator visits what seems to run the controller of the object at the end of a chain.
func (d *diagnoser) operator(chain []Link) {
	n := chain[len(chain)-1].Node
	for _, r := range d.relations[n] {
		if r.Type != runBy {
			continue
		}
		link := Link{Node: r.To, Facts: d.facts.Of(r.To), Relation: r.Type}
		if c, is := d.scaledDown(r.To); is {
			d.causes = append(d.causes, &Cause{Cause: c, Chain: append(slices.Clone(chain), link), severity: 1})
			continue
		}
		if d.mayExplain(n, r) {
			d.visit(append(slices.Clip(chain), link))
		}
	}
}
