// Package inspect reads one object: its status, the drift between its spec and what its controller has observed, and
// its conditions. Inspect is the entry point, and Containers reads pods. Causes finds out why an object is as it is,
// from its fields and from what its caller has read beside: Events, Leases, what controllers said. It is here because
// it reads the same parts of an object, by the same functions, as the status does. What is about fields of any object,
// such as differences and who owns a field, is in package fields.
//
// It does not read a cluster and knows no other object: a Deployment's status does not say why its pod does not start,
// the pod's does. Objects may come from any controller: whatever their content, nothing here panics or changes them.
// Reasons are short texts for people; how to print them is up to the caller.
//
// How the files divide the work: inspect.go builds the Report; judge.go finds the status, from kstatus, from the
// rules for built-in kinds (kindrules.go, workloads.go, pod.go, infrastructure.go) and from the generic rules for
// custom resources (custom.go, with what is particular to some families of them in customfamilies.go and the words for
// states in statewords.go). condition.go decodes conditions; polarity.go and polaritytables.go know which of their
// statuses is the good one. generations.go compares generations. cause.go has the types of causes and causes.go finds
// them, with the rules for pods (causespod.go), other built-in kinds (causesworkload.go, causesstorage.go) and writes
// that an API server has refused (causesrefusal.go).
package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/argocd"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// Report is what Inspect reads from one object.
type Report struct {
	Status
	// Drift is of the object as a whole.
	Drift Drift `json:"drift"`
	// Conditions are those of status.conditions, and of the listeners, parents and ancestors of kinds of the Gateway
	// API and the like: bad ones first, then by type.
	Conditions []Condition `json:"conditions,omitempty"`
	// Since is when the state that Reason describes began; nil if the object does not report it.
	Since *metav1.Time `json:"since,omitempty"`
	// Problems lists the fields of the object that do not have the type that the API documents: a generation that is
	// text, conditions that are not a list. Such fields are ignored when the status is determined; an object with an
	// unreadable field is Unknown where it would otherwise be Current.
	Problems []string `json:"problems,omitempty"`
	// Later is how the report changes with time although the object does not; nil if it does not change. At applies it.
	Later *Later `json:"-"`
}

// Later is what replaces parts of a report from a point in time on, if the object does not change until then.
type Later struct {
	From   time.Time
	Status Status
	Drift  DriftState
}

// SeenWithin is how long a controller may take to observe a change: usually it takes milliseconds, and after
// a failover of kube-controller-manager about 17 seconds (its default lease lasts 15). unschedulableFailsAfter is how
// long a cluster autoscaler may take to add a node for a pod.
const (
	SeenWithin              = 30 * time.Second
	unschedulableFailsAfter = 5 * time.Minute
)

// At returns the report as of a time: Inspect itself does not read the clock. While the Later of the result is not
// nil, the report may change again without a change of the object.
func (r Report) At(now time.Time) Report {
	if r.Later != nil && !now.Before(r.Later.From) {
		r.Status, r.Drift.State, r.Later = r.Later.Status, r.Later.Drift, nil
	}
	return r
}

// WithEvents returns the report in the light of Events of the object, the last first: one of which its controller
// reports Events was seen, though the controller has not written its status.
func (r Report) WithEvents(all []Event) Report {
	unseen := r.Drift.State == NeverSeen || r.Later != nil && r.Later.Drift == NeverSeen
	if !unseen || len(all) == 0 {
		return r
	}
	r.Drift.State, r.Later = NotReported, nil
	if r.Reason != reasonUnseen && r.Reason != reasonNeverSeen {
		return r
	}
	r.Reason, r.Message = noStatus, noStatus
	if i := slices.IndexFunc(all, func(e Event) bool { return e.Type == "Warning" }); i >= 0 {
		r.Reason, r.Message = withReason(all[i].Reason, firstLine(all[i].text())), all[i].Message
		r.Status = r.truncated()
	}
	return r
}

// Drifted reports whether the object, or any of its conditions, is of an older generation, or was never observed.
// Where one of several parents of a route has a condition of this generation, the others' do not count.
func (r Report) Drifted() bool {
	return r.Drift.State == Behind || r.Drift.State == NeverSeen ||
		slices.ContainsFunc(r.Conditions, func(c Condition) bool { return c.Drift == Behind && !c.Superseded })
}

// Options are what an object does not show itself. A nil *Options is the zero value.
type Options struct {
	// Polarities are what the conditions mean; nil is DefaultPolarities.
	Polarities *Polarities
	// NoStatus means that objects of this kind have no status to report, as those of a definition without the
	// subresource status: one that reports none is Current then, and not Unknown.
	NoStatus bool
}

// Inspect reads one object and does not change it. The status of a nil object is Unknown. It may be called
// concurrently.
func Inspect(obj *unstructured.Unstructured, o *Options) Report {
	if o == nil {
		o = &Options{}
	}
	return inspect(obj, *o, shippedChecks)
}

// shippedChecks are the health checks that Argo CD ships. They are embedded in the program and never change. Each is
// compiled for the first object of its kind; until then nothing of it is read.
var shippedChecks = argocd.Shipped()

// inspect is Inspect with the given health checks; nil for none.
func inspect(obj *unstructured.Unstructured, o Options, checks *argocd.Checks) Report {
	var r Report
	if obj == nil {
		r.Status = Status{Status: Unknown, Reason: "no object"}
		r.Drift.State = NotReported
		return r
	}
	var f problems
	r.Drift = driftOf(obj, &f)
	v := untyped.Map(obj.Object)
	if status := v.At("status"); status != nil && v.Sub("status") == nil {
		f.unreadable("status is %s, not a map", untyped.Describe(status))
	}
	conditions := conditionReader{
		group: obj.GroupVersionKind().Group, kind: obj.GetKind(),
		drift: r.Drift, polarities: o.Polarities, problems: &f,
	}
	pod := conditions.kind == "Pod" && conditions.group == ""
	conditions.podEnded = pod && podEnded(v)
	r.Conditions = conditions.readAll(v)
	if pod {
		addContainerProblems(v, &f)
	}
	r.Status = f.unknownIfUnreadable(judge(obj, r, o.Polarities, checks)).truncated()
	if o.NoStatus && r.Unreported() {
		r.Status.Status, r.Reason = Current, ""
	}
	r.Problems = f.texts()
	r.Since = since(obj, r)
	r.addLater(v, pod)
	return r
}

// addLater sets Later, and reverts the parts of the report that are premature until then: NeverSeen and Failed.
func (r *Report) addLater(v untyped.Map, pod bool) {
	created, _ := v.Time("metadata", "creationTimestamp")
	if r.Drift.State == NeverSeen && created != nil {
		r.Later = &Later{created.Add(SeenWithin), r.Status, NeverSeen}
		if r.Reason == reasonUnseen {
			r.Later.Status.Reason, r.Later.Status.Message = reasonNeverSeen, reasonNeverSeen
		}
		r.Drift.State = NotReported
	}
	if i := slices.IndexFunc(r.Conditions, Condition.isUnschedulable); pod && i >= 0 && r.Status.Status == InProgress {
		if since := cmp.Or(r.Conditions[i].Since, created); since != nil {
			late := r.Status
			late.Status = Failed
			late.Reason = ReasonUnschedulable + " for over 5m" + withSeparator(": ", firstLine(r.Conditions[i].Message))
			r.Later = &Later{since.Add(unschedulableFailsAfter), late.truncated(), r.Drift.State}
		}
	}
}

// problem is a field of an object that does not have the type that its API documents.
type problem struct {
	text string
	// unreadable reports that a part of the object's status could not be read because of it.
	unreadable bool
}

// problems collects problems in the order of the object's fields.
type problems []problem

// tolerated adds a problem with a value that could still be read.
func (f *problems) tolerated(format string, args ...any) {
	*f = append(*f, problem{text: fmt.Sprintf(format, args...)})
}

// unreadable adds a problem with a value that could not be read.
func (f *problems) unreadable(format string, args ...any) {
	*f = append(*f, problem{text: fmt.Sprintf(format, args...), unreadable: true})
}

func (f *problems) texts() []string {
	var out []string
	for _, one := range *f {
		out = append(out, one.text)
	}
	return out
}

// unknownIfUnreadable returns s, or Unknown in place of Current if a part of the object could not be read.
func (f *problems) unknownIfUnreadable(s Status) Status {
	for _, one := range *f {
		if one.unreadable && s.Current() {
			s.Status, s.Reason, s.JudgedBy = Unknown, one.text, Generic
		}
	}
	return s
}
