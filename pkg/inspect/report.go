package inspect

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/argocd"
)

// Report is all that an object tells of itself.
type Report struct {
	Status
	// Drift is of the object as a whole.
	Drift Drift `json:"drift"`
	// Conditions are those of status.conditions, and of the listeners, parents and ancestors of kinds of the Gateway API and
	// the like: bad ones first, then by type.
	Conditions []Condition `json:"conditions,omitempty"`
	// Since is when what Reason tells began; nil if the object does not say.
	Since *metav1.Time `json:"since,omitempty"`
	// Problems tell what in the object is not what its kind promises: a generation that is text, conditions that are no
	// list. What is wrong is left out of the judgement, so a status of such an object is not Current without a doubt.
	Problems []string `json:"problems,omitempty"`
}

// Drifted reports whether the object, or any of its conditions, is of an older generation. Where one of several parents of a
// route has a condition of this generation, the others' do not count.
func (r Report) Drifted() bool {
	return r.Drift.State == Behind ||
		slices.ContainsFunc(r.Conditions, func(c Condition) bool { return c.Drift == Behind && !c.Superseded })
}

// Inspect reads one object. Without polarities the defaults hold. The object, which may be anything that some controller
// made of it, is only read; a nil one is Unknown. It may be called concurrently.
func Inspect(obj *unstructured.Unstructured, p *Polarities) Report { return inspect(obj, p, shipped) }

// shipped are the checks that Argo CD ships. They are what the program was built with, and do not change: each is compiled
// when the first object of its kind comes, and nothing of them is read before.
var shipped = argocd.New()

// inspect is Inspect with the health checks given; nil for none.
func inspect(obj *unstructured.Unstructured, p *Polarities, checks *argocd.Checks) Report {
	var r Report
	if obj == nil {
		r.Status = Status{Status: Unknown, Reason: "no object"}
		r.Drift.State = NotReported
		return r
	}
	var f flaws
	r.Drift = driftOf(obj, &f)
	v := values(obj.Object)
	if status := v.at("status"); status != nil && v.sub("status") == nil {
		f.lost("status is %s and no map", described(status))
	}
	conditions := conditionReader{group: obj.GroupVersionKind().Group, kind: obj.GetKind(), drift: r.Drift, polarities: p, flaws: &f}
	pod := conditions.kind == "Pod" && conditions.group == ""
	conditions.ended = pod && podEnded(v)
	r.Conditions = conditions.readAll(v)
	if pod {
		containerFlaws(v, &f)
	}
	r.Status = f.doubted(judge(obj, r, p, checks)).bounded()
	r.Problems = f.texts()
	r.Since = since(obj, r)
	return r
}
