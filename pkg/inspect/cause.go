package inspect

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// CauseType is what sort of thing keeps an object from being as its spec requests. Values are only added.
type CauseType string

// The types of causes that an object itself shows, with what was reported about it.
const (
	// GenerationNotSeen: its controller has not observed the latest change, or never the object.
	GenerationNotSeen CauseType = "GenerationNotSeen"
	// Paused: its user has paused, suspended or cordoned it, or scaled it to nothing, by the field that the evidence
	// names; or its controller reports that it is suspended, which the evidence is then.
	Paused CauseType = "Paused"
	// HeldByQueue: a queue keeps it suspended until there is room for it.
	HeldByQueue CauseType = "HeldByQueue"
	// HandedOver: a field leaves it to another controller than that of Kubernetes.
	HandedOver CauseType = "HandedOver"
	// ProgressDeadline: a rollout has made no progress for the time that its spec allows.
	ProgressDeadline CauseType = "ProgressDeadline"
	// WaitsForDeletion: with the strategy OnDelete, pods are only replaced when they are deleted.
	WaitsForDeletion CauseType = "WaitsForDeletion"
	// PodsNotReady: it counts fewer pods than it wants. What the pods report says why.
	PodsNotReady CauseType = "PodsNotReady"
	// PodsNotMade: its controller has to make or replace pods, and waits for none: it does not run, is behind, or what
	// it writes is refused.
	PodsNotMade CauseType = "PodsNotMade"

	// QuotaExceeded, LimitRangeViolated, AdmissionDenied and WebhookUnreachable: the API server refuses a write.
	QuotaExceeded      CauseType = "QuotaExceeded"
	LimitRangeViolated CauseType = "LimitRangeViolated"
	AdmissionDenied    CauseType = "AdmissionDenied"
	WebhookUnreachable CauseType = "WebhookUnreachable"
	// AccessDenied: its controller may not do what it has to.
	AccessDenied CauseType = "AccessDenied"
	// WriteRefused: the API server refuses a write of its controller for another reason.
	WriteRefused CauseType = "WriteRefused"
	// RefusedBefore: the API server refused a write, and what refused it is gone or would allow it now.
	RefusedBefore CauseType = "RefusedBefore"
	// NameTooLong: what its controller derives from its name is longer than the API allows.
	NameTooLong CauseType = "NameTooLong"
	// MissingObject: it needs an object that does not exist. MissingKey: that exists, and lacks a key.
	MissingObject CauseType = "MissingObject"
	MissingKey    CauseType = "MissingKey"
	// MissingBefore: an object that it needs did not exist when that was reported, and does now.
	MissingBefore CauseType = "MissingBefore"

	// Unschedulable: no node fits a pod. SchedulingGated: it has scheduling gates. NotScheduled: no scheduler has
	// considered it.
	Unschedulable   CauseType = "Unschedulable"
	SchedulingGated CauseType = "SchedulingGated"
	NotScheduled    CauseType = "NotScheduled"
	// ImagePull: the image of a container cannot be pulled.
	ImagePull CauseType = "ImagePull"
	// ContainerNotStarted: a container cannot be created or started.
	ContainerNotStarted CauseType = "ContainerNotStarted"
	// ContainerExits: a container exits, with an error or again and again. OutOfMemory: because it used too much
	// memory.
	ContainerExits CauseType = "ContainerExits"
	OutOfMemory    CauseType = "OutOfMemory"
	// LivenessProbe, StartupProbe and ReadinessProbe: a container does not pass its probe.
	LivenessProbe  CauseType = "LivenessProbe"
	StartupProbe   CauseType = "StartupProbe"
	ReadinessProbe CauseType = "ReadinessProbe"
	// ReadinessGate: another component does not report that the pod is ready.
	ReadinessGate CauseType = "ReadinessGate"
	// InitContainerRunning: an init container has not ended yet.
	InitContainerRunning CauseType = "InitContainerRunning"
	// VolumeNotMounted, VolumeNotAttached: the kubelet cannot mount a volume, or it cannot be attached to the node.
	VolumeNotMounted  CauseType = "VolumeNotMounted"
	VolumeNotAttached CauseType = "VolumeNotAttached"
	// SandboxFailed: the kubelet cannot set up the pod, mostly its network.
	SandboxFailed CauseType = "SandboxFailed"
	// PodFailed: a pod was evicted, exceeded its deadline or was rejected by its node.
	PodFailed CauseType = "PodFailed"
	// ContainerRunsOn: a container of a pod that is to end runs on after another has ended.
	ContainerRunsOn CauseType = "ContainerRunsOn"
	// PodStarting: a pod starts, and reports nothing that is wrong.
	PodStarting CauseType = "PodStarting"

	// VolumeNotBound: a claim has no volume. VolumeLost: its volume is gone. ProvisioningFailed: none can be made.
	VolumeNotBound     CauseType = "VolumeNotBound"
	VolumeLost         CauseType = "VolumeLost"
	ProvisioningFailed CauseType = "ProvisioningFailed"
	// VolumeReleased: a volume is kept for a claim that is gone, and so none can be bound to it.
	VolumeReleased CauseType = "VolumeReleased"
	// WaitsForConsumer: a claim waits until a pod that uses it is scheduled.
	WaitsForConsumer CauseType = "WaitsForConsumer"
	// ResizeFailed: a volume could not be changed.
	ResizeFailed CauseType = "ResizeFailed"

	// NodeNotReady: the kubelet of a node reports that it is not ready, or does not report. NodePressure: it lacks
	// memory, disk or process ids.
	NodeNotReady CauseType = "NodeNotReady"
	NodePressure CauseType = "NodePressure"

	// BackoffLimit, JobDeadline, PodFailurePolicy: a Job has failed for this reason.
	BackoffLimit     CauseType = "BackoffLimit"
	JobDeadline      CauseType = "JobDeadline"
	PodFailurePolicy CauseType = "PodFailurePolicy"
	// BadSchedule, BadTimeZone: a CronJob's schedule or time zone cannot be read. ScheduleMissed: a time has passed
	// without a Job. JobStillActive: the Job before runs, and the policy allows no second one.
	BadSchedule    CauseType = "BadSchedule"
	BadTimeZone    CauseType = "BadTimeZone"
	ScheduleMissed CauseType = "ScheduleMissed"
	JobStillActive CauseType = "JobStillActive"

	// MetricsUnavailable: an autoscaler cannot read its metrics. ScaleTarget: it cannot read or scale its target.
	// AtLimit: it would scale further than its limits allow.
	MetricsUnavailable CauseType = "MetricsUnavailable"
	ScaleTarget        CauseType = "ScaleTarget"
	AtLimit            CauseType = "AtLimit"
	// EvictionBlocked: a budget allows no disruption.
	EvictionBlocked CauseType = "EvictionBlocked"
	// NoAddress: a load balancer or an Ingress has no address.
	NoAddress CauseType = "NoAddress"
	// APIUnavailable: an API server that is part of this one does not answer.
	APIUnavailable CauseType = "APIUnavailable"

	// Finalizer: its deletion waits for a finalizer. NamespaceContent: a namespace's, for what is in it.
	Finalizer        CauseType = "Finalizer"
	NamespaceContent CauseType = "NamespaceContent"

	// ConditionFailed: a condition reports a failure. StateFailed: another field does.
	ConditionFailed CauseType = "ConditionFailed"
	StateFailed     CauseType = "StateFailed"
	// WarningReported: a component reports a Warning about it, and nothing else tells more.
	WarningReported CauseType = "WarningReported"
	// InProgressState: it reports that it is being worked on, and nothing that is wrong.
	InProgressState CauseType = "InProgressState"
	// NoStatus: no controller has written its status.
	NoStatus CauseType = "NoStatus"
	// FieldFight: several managers set a field in turn.
	FieldFight CauseType = "FieldFight"
	// MadeAgain: what a Deployment makes has another template than it wanted, so that it makes one more each time.
	MadeAgain CauseType = "MadeAgain"
)

// IsRefusal reports whether a cause of the type is that the API server refuses a write.
func (t CauseType) IsRefusal() bool {
	switch t { //nolint:exhaustive // no other is
	case QuotaExceeded, LimitRangeViolated, AdmissionDenied, WebhookUnreachable, AccessDenied, WriteRefused:
		return true
	}
	return false
}

// Certainty is how sure it is that a cause is one.
type Certainty string

// The values of Certainty.
const (
	Certain  Certainty = "Certain"  // a component reports it as the cause
	Likely   Certainty = "Likely"   // it follows from what is reported, unless something else is in the way
	Possible Certainty = "Possible" // it would explain the state, as others would
)

// Weight is how much a cause explains.
type Weight int

// The weights, the least first.
const (
	// Symptom restates what is wrong. It is named only if nothing else is.
	Symptom Weight = iota
	// General is what a component reports in words that no rule knows.
	General
	// Specific is a known cause, which something can be done about.
	Specific
)

// Cause is a reason why an object is not as its spec requests.
type Cause struct {
	// Type is the sort of cause.
	Type CauseType `json:"type"`
	// Certainty is how sure it is.
	Certainty Certainty `json:"certainty"`
	// Part is the part of the object that it is about, in words: "container web", "condition Ready"; empty for all of
	// it.
	Part string `json:"part,omitempty"`
	// Detail is what is particular in this case, for people: "image nginx:nope: not found", "exit code 3".
	Detail string `json:"detail,omitempty"`
	// Refers is another object that it is about, such as the one that is missing; nil if there is none.
	Refers *Reference `json:"refers,omitempty"`
	// Evidence shows that it is so.
	Evidence []Evidence `json:"evidence,omitempty"`
	// Weight is how much it explains.
	Weight Weight `json:"-"`
	// Since is when it began; nil if that is not known.
	Since *metav1.Time `json:"since,omitempty"`
}

const (
	// maxDetailLength is the maximum length of a detail, in characters. The name of any finalizer is shorter.
	maxDetailLength = 320
	// maxMessageLength is how much of that the last words of a program take, so that what else is known of its exit is
	// not cut.
	maxMessageLength = 200
)

// Reference names an object that need not exist.
type Reference struct {
	// Group is empty for the core group, and if it is not known.
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind"`
	// Namespace is empty for objects of cluster-scoped kinds.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Key is a key of its data; empty if the object as a whole is meant.
	Key string `json:"key,omitempty"`
}

// EvidenceSource is where evidence was found.
type EvidenceSource string

// The values of EvidenceSource.
const (
	FromField     EvidenceSource = "Field"     // a field of the object; Name is its path
	FromCondition EvidenceSource = "Condition" // a condition of the object; Name is its type
	FromEvent     EvidenceSource = "Event"     // an Event about the object; Name is its reason
	FromWriter    EvidenceSource = "Writer"    // managedFields of the object; Name is the manager
	FromObject    EvidenceSource = "Object"    // another object; Name is its kind and name
	// FromLease is the Lease of the component that acts on the object; Name is the Lease's.
	FromLease EvidenceSource = "Lease"
	// FromController is what a controller reported, or how a write of it was answered, when it was run on a copy of the
	// object or in dry run; Name is the controller.
	FromController EvidenceSource = "Controller"
)

// Evidence is one thing that shows a cause.
type Evidence struct {
	Source EvidenceSource `json:"source"`
	// Name says which of them: see the values of EvidenceSource.
	Name string `json:"name"`
	// Text is what it says.
	Text string `json:"text,omitempty"`
	// Count is how often it was reported; 0 for what is no Event.
	Count int32 `json:"count,omitempty"`
	// By is the component that reported it; it may be empty.
	By string `json:"by,omitempty"`
	// Time is since when it has been so, of an Event when it was last reported; nil if that is not known.
	Time *metav1.Time `json:"time,omitempty"`
}

// Observations are what is known about an object beside its own fields. The zero value is that nothing is.
type Observations struct {
	// Events were reported about the object, the last first.
	Events []Event
	// Trial is what became of the writes of its controller when that was run on a copy of the object, or in dry run.
	Trial Trial
	// Lease is that of the component that acts on the object; nil if it is not known.
	Lease *Lease
	// Kind is what is known of who writes the status of objects of the kind; nil if nothing is.
	Kind *Writes
	// Now is the present time.
	Now time.Time
}

// Trial is what an API server has answered to the writes of a controller that was run on a copy of an object, or in dry
// run. The zero value is that none was. The evidence is FromController.
type Trial struct {
	// Refused are writes that were refused, and what the controller failed with.
	Refused []Evidence
	// Accepted are writes that would be accepted: the controller has something to do, and may.
	Accepted []Evidence
	// Idle is that the controller was run to its end and writes nothing; nil if it was not, or does.
	Idle *Evidence
}

// Writes are the last writes to the status of objects of a kind, which show whether their controller runs.
type Writes struct {
	// Objects is how many objects were looked at.
	Objects int
	// Last is the last write, On the object that it was to; nil and empty if there was none.
	Last *fields.Writer
	On   string
}

// Add adds an object.
func (w *Writes) Add(obj *unstructured.Unstructured) {
	w.Objects++
	if last, ok := fields.LastStatusWriter(obj); ok && (w.Last == nil || last.IsLaterThan(*w.Last)) {
		w.Last, w.On = &last, obj.GetName()
	}
}

// evidence describes the writes.
func (w *Writes) evidence() Evidence {
	count := plural(int64(w.Objects), "object")
	if w.Last == nil {
		return Evidence{Source: FromWriter, Name: "no manager", Text: "has written the status of any of " + count}
	}
	return Evidence{
		Source: FromWriter, Name: w.Last.Manager, Time: w.Last.Time,
		Text: fmt.Sprintf("wrote the status of %s, the last write to any of %s of the kind", w.On, count),
	}
}

// Lease is how a component shows that it runs.
type Lease struct {
	// Name is the name of the Lease, which is that of the component: kube-controller-manager.
	Name string
	// Holder is the process that holds it; empty if none does.
	Holder string
	// Renewed is when it was last renewed, Lasts for how long that holds.
	Renewed time.Time
	Lasts   time.Duration
}

// clockSkew is by how much the caller's clock may be ahead of that of a component that renews its Lease, and how long
// another process may take to acquire one that was released.
const clockSkew = time.Minute

// Expired reports whether the component does not run, by its Lease; false for nil. A Lease counts as renewed for a
// minute longer than it lasts, as the clocks that are compared are of two machines.
func (l *Lease) Expired(now time.Time) bool {
	return l != nil && now.Sub(l.Renewed) > l.Lasts+clockSkew
}

// Causes returns what the object itself and the observations show to be the reasons of its state, in no particular
// order. An object that is as its spec requests has none, unless it is paused, or works only in part. The report must
// be Inspect's of the object, as of o.Now; with a report whose fields are missing, as for objects that were listed in
// part, fewer causes are found. The object is not changed; Causes may be called concurrently.
func Causes(obj *unstructured.Unstructured, r Report, o Observations) []Cause {
	if obj == nil {
		return nil
	}
	o.Events = RecentEvents(o.Events, o.Now)
	r = r.WithEvents(o.Events)
	f := causeFinder{subject: subject{
		Map: obj.Object, group: obj.GroupVersionKind().Group, kind: obj.GetKind(),
		drift: r.Drift, conditions: r.Conditions, base: r.Status,
	}, obj: obj, report: r, observed: o, events: o.Events, created: obj.GetCreationTimestamp().Time}
	f.find()
	return f.found
}
