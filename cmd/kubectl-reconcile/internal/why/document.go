package why

import (
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
)

// document is the diagnosis for programs.
func (v *view) document() *v1alpha1.Diagnosis {
	d := v.diagnosis
	out := &v1alpha1.Diagnosis{
		APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.DiagnosisKind, Object: refOf(d.Asked),
		Converged: d.Converged, Status: d.Status, Reason: d.Facts.Reason, Summary: v.headline(), Since: d.Since,
		Causes: []v1alpha1.DiagnosedCause{}, Incomplete: v.incomplete,
	}
	if v.trials != nil {
		out.Trials = v.trials.list
	}
	for _, c := range d.Causes {
		out.Causes = append(out.Causes, v.cause(c))
	}
	return out
}

func (v *view) cause(c *diagnosis.Cause) v1alpha1.DiagnosedCause {
	out := v1alpha1.DiagnosedCause{
		Cause: c.Cause, Summary: v.sentence(c), Object: refOf(c.Node()), Commands: v.commands.of(c),
	}
	for _, n := range c.Others {
		out.Others = append(out.Others, refOf(n))
	}
	for _, l := range c.Chain {
		out.Chain = append(out.Chain, v1alpha1.ChainLink{
			Object: refOf(l.Node), Status: l.Facts.Status.Status, Reason: l.Facts.Reason, Relation: l.Relation,
		})
	}
	return out
}

func refOf(n *ownertree.Node) v1alpha1.ObjectRef {
	return v1alpha1.ObjectRef{
		APIVersion: n.Kind.GroupVersion().String(), Kind: n.Kind.Kind, Namespace: n.Namespace, Name: n.Name, UID: n.UID,
	}
}
