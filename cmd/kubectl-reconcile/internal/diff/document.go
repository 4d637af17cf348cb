package diff

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/drift"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
)

// document returns the plan as it is printed with -o json and yaml.
func (o *Options) document(made *madePlan) v1alpha1.Plan {
	out := v1alpha1.Plan{
		APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.PlanKind, KubernetesVersion: api.KubernetesVersion(),
		End: string(made.End), Steps: []v1alpha1.PlanStep{}, Objects: []v1alpha1.PlanObject{}, LeftOut: made.leftOut,
	}
	if made.State.Copy != nil {
		out.Incomplete = made.State.Copy.Incomplete
	}
	if made.Drift != nil && !made.Drift.Empty() {
		out.Drift = driftDocument(made.Drift)
	}
	for i := range made.Steps {
		out.Steps = append(out.Steps, stepDocument(&made.Steps[i]))
	}
	for i := range made.Objects {
		out.Objects = append(out.Objects, o.objectDocument(&made.Objects[i]))
	}
	for _, r := range made.Refused {
		out.RefusedByCluster = append(out.RefusedByCluster, v1alpha1.PlanRefusal{
			Controller: r.Controller, Object: refOf(r.Object), Message: r.Message,
		})
	}
	for _, l := range made.Later {
		one := v1alpha1.PlanLater{Controller: l.Controller, Key: l.Key, Retry: l.Retry, What: l.What}
		if l.Retry == 0 {
			one.In = l.In.String()
		}
		out.Later = append(out.Later, one)
	}
	for _, r := range made.Rollouts {
		one := v1alpha1.PlanRollout{
			Object: refOf(r.Object), ReadyBefore: r.Before, ReadyAfter: r.After, ReadyLowest: r.Lowest,
		}
		for _, s := range r.Sizes {
			one.Sizes = append(one.Sizes, v1alpha1.PlanSize{
				Step: numberAfter(made.Steps, s.Step), Object: refOf(s.Owner), Replicas: s.Replicas,
			})
		}
		out.Rollouts = append(out.Rollouts, one)
	}
	for _, b := range made.Budgets {
		out.Budgets = append(out.Budgets, v1alpha1.PlanBudget{
			Object: refOf(b.Object), Needs: b.Needs, ReadyBefore: b.Before, ReadyLowest: b.Lowest,
		})
	}
	if made.Loop != nil {
		for i := range made.Loop.Steps {
			if n := made.Loop.Steps[i].Number; n > 0 {
				out.Loop = append(out.Loop, n)
			}
		}
	}
	return out
}

func driftDocument(r *drift.Report) *v1alpha1.PlanDrift {
	out := &v1alpha1.PlanDrift{}
	for _, u := range r.Unseen {
		out.Unseen = append(out.Unseen, v1alpha1.UnseenObject{
			Object: objectRef(u.Object), Drift: u.Drift, LastWriter: u.Writer,
		})
	}
	for _, f := range r.SetFields {
		one := v1alpha1.SetField{
			Object: objectRef(f.Object), Path: f.Path, Wanted: f.Wanted, Actual: f.Actual, SetBy: f.By,
		}
		if f.WantedBy != nil {
			ref := objectRef(f.WantedBy)
			one.WantedBy = &ref
		}
		out.Fields = append(out.Fields, one)
	}
	for _, old := range r.OldPods {
		out.OldPods = append(out.OldPods, v1alpha1.OldPods{
			Object: objectRef(old.Object), Wanted: old.Wanted, Actual: old.Actual, Pods: old.Pods,
		})
	}
	for _, c := range r.Counts {
		out.Counts = append(out.Counts, v1alpha1.ObjectCount{
			Object: objectRef(c.Object), Wanted: c.Wanted, There: c.There, Updated: c.Updated, Ready: c.Ready,
			Available: c.Available,
		})
	}
	return out
}

func objectRef(obj *unstructured.Unstructured) v1alpha1.ObjectRef {
	return v1alpha1.ObjectRef{
		APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(),
		UID: obj.GetUID(),
	}
}

// numberAfter returns the number of the step at that index; 0 if there is none.
func numberAfter(steps []plan.Step, index int) int {
	if index < len(steps) {
		return steps[index].Number
	}
	return 0
}

func refOf(id plan.ObjectID) v1alpha1.ObjectRef {
	return v1alpha1.ObjectRef{
		APIVersion: id.Resource.GroupVersion().String(), Kind: id.Kind, Namespace: id.Namespace, Name: id.Name,
	}
}

func stepDocument(s *plan.Step) v1alpha1.PlanStep {
	out := v1alpha1.PlanStep{
		Step: s.Number, Controller: s.Controller, Key: s.Key, Simulated: s.Simulated, Writes: []v1alpha1.PlanWrite{},
		Error: s.Error, Repeats: s.Repeats,
	}
	for _, c := range s.Causes {
		one := v1alpha1.PlanCause{
			Type: string(c.Type), Step: c.Step, Event: string(c.Event), Initial: c.Initial, Retry: c.Retry,
		}
		if c.Object.Kind != "" {
			ref := refOf(c.Object)
			one.Object = &ref
		}
		if c.Delay > 0 {
			one.Delay = c.Delay.String()
		}
		out.Because = append(out.Because, one)
	}
	for _, w := range s.Writes {
		out.Writes = append(out.Writes, v1alpha1.PlanWrite{
			Verb: string(w.Verb), Object: refOf(w.Object), Changes: w.Changes, Refused: w.Message, Code: w.Code,
		})
	}
	return out
}

func (o *Options) objectDocument(obj *plan.Object) v1alpha1.PlanObject {
	out := v1alpha1.PlanObject{
		Verb: string(obj.Verb()), Object: refOf(obj.ObjectID), OnlyStatus: !obj.Changed(),
		Unscheduled: obj.Unscheduled(), Undecided: obj.Undecided(),
	}
	if obj.Verb() == plan.Delete {
		return out
	}
	before := obj.Before
	if before != nil {
		before = o.shownObject(before)
	}
	changes, err := fields.Changes(before, o.shownObject(obj.After), fields.Mask{})
	if err == nil { // it is no error for objects of JSON
		out.Changes = changes
	}
	return out
}
