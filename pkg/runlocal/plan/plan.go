// Package plan finds out what controllers would do next: it lets the controllers of a session in the embedded API
// reconcile one key at a time, in an order that depends on nothing but the objects, and returns what they write as
// steps, and what that makes of the objects. So two plans for the same objects are the same, byte for byte.
//
// Make is all of it in one call: what a plan begins with is a [Source], either a part of a [Cluster], which is only
// read, or [Objects]; what it is for is a [Change], or nothing. A [Planner], made by [New], makes a plan in a session
// of the caller's: Configure completes the options of the session, which is started then, Begin takes it, Settle lets
// it come to rest before objects are applied, and Run returns the [Plan].
//
// It is no model of the controllers, which are Kubernetes' own. It makes no text for people.
//
// Keys are held, released and waited for by the session, as in package compare; which is next is decided here, as it
// depends on the objects alone, while that goes by a recording.
//
// The files: plan.go has the Plan; make.go makes it of a Source: cluster.go is that of a cluster, with try.go and
// prune.go for what an apply would do there and admission.go for what its webhooks say, and sources.go that of objects.
// asked.go finds the objects that a plan is for, drift.go what is not as it is wanted, and errors.go has the errors.
// planner.go has the Planner; order.go decides which key is next, steps.go makes steps of what is written and traced;
// canonical.go replaces what is random or the time, in names and objects; undecided.go what depends on what is not
// simulated; secrets.go hides what must not be shown; loop.go finds states that repeat, later.go what is due later,
// rollout.go what becomes of workloads meanwhile and budget.go of budgets; controllers.go chooses the controllers that
// take part.
package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/drift"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Plan is what controllers would do. Names that the API generates are in it as their prefix and a number in brackets,
// such as web-7d4b9c-<1>; uids that it generates, and times after the beginning, as words in brackets.
type Plan struct {
	// Steps are in their order.
	Steps []Step
	// Objects are those that are not at the end what they were at the beginning, in the order of their first write.
	Objects []Object
	// Later is what is due later than the plan waits for, soonest first.
	Later []Later
	// Rollouts are the workloads whose pods the plan changes.
	Rollouts []Rollout
	// Budgets are those of which some pods are not ready meanwhile that were at the beginning.
	Budgets []Budget
	// End is why the plan ends where it does.
	End End
	// Loop is what repeats, for EndLoop, and for EndLimit if the last steps repeat each other; nil for others.
	Loop *Loop

	// What follows is set by Make alone. State is what the plan begins with, and what is left out of it. Incomplete and
	// LeftOut of its Copy are what that does without, and CopyReport what a session with it does without. Values of
	// Secrets are not hidden in State and in the objects of Drift: they are digests if they come from a Cluster.
	State      *State
	CopyReport runlocal.CopyReport
	// Drift is what objects of a copy are beside what is wanted of them. It is nil for a change, and without a copy.
	Drift *drift.Report
	// Refused are objects that controllers create in the plan for a change of a Cluster, and that its admission refuses
	// in dry run. Untried are those of which it is not known, and why.
	Refused, Untried []Refusal
}

// End is why a plan ends.
type End string

// Why a plan ends.
const (
	// EndSettled is that nothing is left to do but what is Later.
	EndSettled End = "settled"
	// EndNext is that all keys of the beginning were reconciled, for RunOptions.Next; more would follow.
	EndNext End = "next"
	// EndSteps is that RunOptions.Steps were made; more would follow.
	EndSteps End = "steps"
	// EndLoop is that the controllers repeat what they did, without an end.
	EndLoop End = "loop"
	// EndLimit is that there were too many steps without a state that repeats: see RunOptions.Limit.
	EndLimit End = "limit"
)

// Step is a reconcile that wrote, tried to write or failed; or the change that the plan is for.
type Step struct {
	// Number numbers the steps of controllers and the change from 1. It is 0 for steps of simulated nodes.
	Number int
	// Controller is the short name of the controller; empty for the change that the plan is for.
	Controller string
	// Key is the queue key that was reconciled; empty for the change and for work without a key.
	Key string
	// Simulated is true for what simulated nodes do.
	Simulated bool
	// Causes are what led to it; none for the change.
	Causes []Cause
	// Writes are in their order, with those that were refused.
	Writes []Write
	// Outcome and Error are as in trace.End.
	Outcome trace.Outcome
	Error   string
	// Repeats counts the later reconciles of the key that failed in the same way and wrote nothing.
	Repeats int

	// reconcile is that of the trace; 0 for the change.
	reconcile trace.ReconcileID
}

// Changes reports whether a write of the step was accepted.
func (s *Step) Changes() bool {
	for _, w := range s.Writes {
		if !w.Refused() {
			return true
		}
	}
	return false
}

// OnlyStatus reports whether the step changed nothing but the status of objects, and was refused nothing.
func (s *Step) OnlyStatus() bool {
	for _, w := range s.Writes {
		if w.Refused() || !w.OnlyStatus() {
			return false
		}
	}
	return s.Error == ""
}

// Verb is what a write does to an object.
type Verb string

// The verbs of writes.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// ObjectID names an object.
type ObjectID struct {
	Resource        schema.GroupVersionResource
	Kind            string
	Namespace, Name string
}

// Write is one write of one object.
type Write struct {
	Verb   Verb
	Object ObjectID
	// Changes are the fields that it changed; those of Secrets that must not be shown have other values.
	Changes []fields.Change
	// Code and Message are the answer to a write that was refused; zero for others.
	Code    int
	Message string
}

// Refused reports whether the API refused the write.
func (w *Write) Refused() bool { return w.Message != "" || w.Code >= 400 }

// OnlyStatus reports whether the write changed nothing but the status of an object.
func (w *Write) OnlyStatus() bool { return w.Verb == Update && len(w.SpecChanges()) == 0 }

// SpecChanges returns the changes without those of the status.
func (w *Write) SpecChanges() []fields.Change {
	var out []fields.Change
	for _, c := range w.Changes {
		if !isStatus(c.Path) {
			out = append(out, c)
		}
	}
	return out
}

// Cause is one reason for a step.
type Cause struct {
	Type trace.CauseType
	// Event, Object and Changes are of the watch event; zero without one.
	Event   trace.WatchType
	Object  ObjectID
	Changes []fields.Change
	// Initial means that the object was there at the beginning.
	Initial bool
	// Step is the number of the step that wrote it, or that added the key; 0 if it has none.
	Step int
	// Retry counts the failures in a row, for a retry.
	Retry int
	// Delay is how long the key had to wait, rounded as Later.In; 0 for less than half a second, and for what simulated
	// nodes do.
	Delay time.Duration
}

// Object is an object at the beginning and at the end.
type Object struct {
	ObjectID
	// Before and After are nil if the object was not there. Neither has a resourceVersion, and values of Secrets are
	// hidden; see Plan for what else is replaced.
	Before, After *unstructured.Unstructured
}

// Unscheduled returns why the object, a pod, has no node at the end; empty for all others.
func (o *Object) Unscheduled() string {
	if o.Kind != "Pod" || o.After == nil {
		return ""
	}
	conditions, _, err := unstructured.NestedSlice(o.After.Object, "status", "conditions")
	if err != nil {
		return ""
	}
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "PodScheduled" && m["status"] == "False" {
			return fmt.Sprint(m["message"])
		}
	}
	return ""
}

// Undecided returns the fields of the object, a pod that has no node at the beginning, by which kube-scheduler chooses
// its node and which are not simulated; nil for all others. Its node is "<not decided>" in the plan, or it has none if
// it is not known whether there is one.
func (o *Object) Undecided() []string {
	if o.Kind != "Pod" || o.After == nil || nodeOf(o.Before) != "" {
		return nil
	}
	return ignoredFields(o.After)
}

// Verb is what becomes of the object.
func (o *Object) Verb() Verb {
	switch {
	case o.Before == nil:
		return Create
	case o.After == nil:
		return Delete
	}
	return Update
}

// Changed reports whether anything but its status, and what the API keeps of its writes, is different at the end.
func (o *Object) Changed() bool {
	if o.Verb() != Update {
		return true
	}
	changes, err := fields.Changes(o.Before, o.After, fields.Mask{})
	if err != nil {
		return true
	}
	for _, c := range changes {
		if !isStatus(c.Path) {
			return true
		}
	}
	return false
}

// Later is a key that comes back by itself, later than the plan waits for.
type Later struct {
	Controller, Key string
	// In is how long that is after the key was put off, rounded: to seconds below ten, to ten seconds below a minute,
	// else to minutes.
	In time.Duration
	// Retry counts the failures in a row; 0 if it is no retry.
	Retry int
	// What is what happens then, such as ProgressDeadlineExceeded; empty if the controller only looks again.
	What string
}

// Loop is a sequence of steps that repeats.
type Loop struct {
	// Steps are those of one round.
	Steps []Step
	// Rounds is how often the state came back, or how often the steps were made.
	Rounds int
}
