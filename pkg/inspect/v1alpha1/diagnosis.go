package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// Diagnosis is what `why -o json` prints: why an object is not as its spec requests.
type Diagnosis struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Object     ObjectRef `json:"object"`
	// The object is as its spec requests, and nothing is wrong with it. Then there are no causes.
	Converged bool `json:"converged"`
	// Its status: a value of Status.Status of package inspect, or Dangling.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	// What is said of it in one sentence.
	Summary string `json:"summary"`
	// When the state began.
	Since *metav1.Time `json:"since,omitempty"`
	// The likeliest first.
	Causes []DiagnosedCause `json:"causes"`
	// Controllers that were run once in dry run because what was read leaves the cause unsure. Absent if none was.
	Trials []Trial `json:"trials,omitempty"`
	// What could not be read, so that something may be missing.
	Incomplete []cluster.Incomplete `json:"incomplete,omitempty"`
}

// Trial is what became of the writes of a controller that has reconciled an object in dry run.
type Trial struct {
	Object ObjectRef `json:"object"`
	// The controller, and the key in its queue; absent if it could not be run.
	Controller string `json:"controller,omitempty"`
	Key        string `json:"key,omitempty"`
	// What it would write, in order; of writes that are alike there is one.
	Writes []TriedWrite `json:"writes,omitempty"`
	// What it failed with, unless that is the answer to a write.
	Error string `json:"error,omitempty"`
	// Why it was not tried, or not to the end.
	Problem string `json:"problem,omitempty"`
}

// TriedWrite is a write that the server has processed and not kept.
type TriedWrite struct {
	Verb string `json:"verb"`
	// With the group, and the subresource if it is of one: deployments.apps/status.
	Resource string `json:"resource"`
	Name     string `json:"name,omitempty"`
	// Accepted, Refused, NotPermitted if the user may not do it, or NotSupported if a webhook supports no dry runs.
	Answer  string `json:"answer"`
	Message string `json:"message,omitempty"`
}

// The values of TriedWrite.Answer.
const (
	TrialAccepted     = "Accepted"
	TrialRefused      = "Refused"
	TrialNotPermitted = "NotPermitted"
	TrialNotSupported = "NotSupported"
)

// DiagnosedCause is a cause, and where it was found.
type DiagnosedCause struct {
	inspect.Cause
	// The cause in one sentence.
	Summary string `json:"summary"`
	// The object that shows it.
	Object ObjectRef `json:"object"`
	// Further objects that show it.
	Others []ObjectRef `json:"others,omitempty"`
	// The way from the object asked for to the one that shows it, both included.
	Chain []ChainLink `json:"chain"`
	// Commands that show more, or that would unblock it.
	Commands []Command `json:"commands,omitempty"`
}

// ChainLink is an object on the way to a cause.
type ChainLink struct {
	Object ObjectRef `json:"object"`
	Status string    `json:"status"`
	Reason string    `json:"reason,omitempty"`
	// How the object before uses it; absent if that owns it.
	Relation string `json:"relation,omitempty"`
}

// Command is a command line.
type Command struct {
	Command string `json:"command"`
	// It changes something in the cluster.
	Changes bool `json:"changes"`
	// What it does, in words.
	For string `json:"for,omitempty"`
}

// FieldBlame is what `why --field -o json` prints: who set a field of an object.
type FieldBlame struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Object     ObjectRef `json:"object"`
	// The path of the field.
	Field string `json:"field"`
	// Its value; null if it is null, or is of a Secret.
	Value any `json:"value"`
	// The managers that own it, or a part of it. Absent if none does.
	Owners []fields.FieldOwner `json:"owners,omitempty"`
	// Those of the managers that a server-side apply of another value by kubectl conflicts with, and that it takes the
	// field from with --force-conflicts. Absent if there are none, and for a status, which it does not set.
	Conflicts []fields.FieldOwner `json:"conflicts,omitempty"`
	// Those that would set the field again after another has changed it.
	SetBack []SetBack `json:"setBack,omitempty"`
}

// SetBack is what would set a field again after another has changed it.
type SetBack struct {
	// What does it: a controller, or a field manager.
	By string `json:"by"`
	// When or why it does.
	When string `json:"when"`
	// The object that makes it do so, such as the owner or an autoscaler.
	Object *ObjectRef `json:"object,omitempty"`
}
