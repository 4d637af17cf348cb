package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// causeFinder finds the causes of one object.
type causeFinder struct {
	subject
	obj      *unstructured.Unstructured
	report   Report
	observed Observations
	events   events
	created  time.Time
	found    []Cause
}

// add notes a cause, with its detail cut to maxDetailLength. Its time is that of the report if it has none.
func (f *causeFinder) add(c Cause) {
	c.Detail = cutTo(c.Detail, maxDetailLength)
	if c.Since == nil {
		c.Since = f.report.Since
	}
	f.found = append(f.found, c)
}

// causeRules find causes of built-in kinds.
var causeRules = map[string]func(*causeFinder){
	"/Node":                               (*causeFinder).nodeCauses,
	"/Namespace":                          (*causeFinder).namespaceCauses,
	"/PersistentVolume":                   (*causeFinder).volumeCauses,
	"/PersistentVolumeClaim":              (*causeFinder).claimCauses,
	"/Pod":                                (*causeFinder).podCauses,
	"/ReplicationController":              (*causeFinder).replicaSetCauses,
	"/Service":                            (*causeFinder).serviceCauses,
	"apps/DaemonSet":                      (*causeFinder).daemonSetCauses,
	"apps/Deployment":                     (*causeFinder).deploymentCauses,
	"apps/ReplicaSet":                     (*causeFinder).replicaSetCauses,
	"apps/StatefulSet":                    (*causeFinder).statefulSetCauses,
	"autoscaling/HorizontalPodAutoscaler": (*causeFinder).autoscalerCauses,
	"batch/CronJob":                       (*causeFinder).cronJobCauses,
	"batch/Job":                           (*causeFinder).jobCauses,
	"networking.k8s.io/Ingress":           (*causeFinder).ingressCauses,
	"policy/PodDisruptionBudget":          (*causeFinder).budgetCauses,
	"storage.k8s.io/VolumeAttachment":     (*causeFinder).attachmentCauses,
	"apiregistration.k8s.io/APIService":   (*causeFinder).apiServiceCauses,
}

func (f *causeFinder) find() {
	deleting := f.Text("metadata", "deletionTimestamp") != ""
	f.tried()
	if !deleting {
		f.generationNotSeen()
	}
	rule := causeRules[f.group+"/"+f.kind]
	switch {
	case rule != nil:
		rule(f)
	case f.report.Status.Status == Suspended:
		field, _ := f.pausedByUser()
		f.paused(field)
	case !deleting && f.report.NotReady():
		f.customCauses()
	}
	if deleting {
		f.finalizers()
	}
	if f.report.NotReady() || f.report.Drifted() {
		f.fieldFights()
	}
	if f.report.NotReady() && !deleting && (rule == nil || f.kind == "Pod") { // other rules know what Events show
		f.warningReported()
	}
	if f.report.NotReady() && len(f.found) == 0 && !deleting {
		f.add(Cause{
			Type: StateFailed, Certainty: Likely, Weight: Symptom,
			Detail: cmp.Or(f.report.Reason, f.report.Status.Status),
		})
	}
}

// tried notes which writes of its controller were refused when that was run on a copy of the object, or in dry run. It
// is not certain that the controller of the cluster gets the same answer: webhooks and policies may know who asks.
func (f *causeFinder) tried() {
	for _, e := range f.observed.Trial.Refused {
		c := f.refusal(e.Text)
		if c.Type == "" {
			c = Cause{Type: WriteRefused, Weight: General, Detail: firstLine(e.Text)}
		}
		c.Certainty, c.Evidence = Likely, []Evidence{e}
		f.add(c)
	}
}

// manyCollisions is how often the name of a new ReplicaSet has been taken, by one of another template, if that is no
// accident any more.
const manyCollisions = 5

// madeAgain reports whether a Deployment makes a ReplicaSet again and again, because each has another template than it
// wanted, as a webhook or policy has changed it: its controller takes that for a collision of names, and does not come
// to observe the change (sync.go of k8s.io/kubernetes/pkg/controller/deployment).
func (f *causeFinder) madeAgain() bool {
	n, _ := f.Number("status", "collisionCount")
	if f.group+"/"+f.kind != "apps/Deployment" || n < manyCollisions {
		return false
	}
	c := Cause{
		Type: MadeAgain, Certainty: Likely, Weight: Specific, Since: f.report.Drift.Since,
		Detail: fmt.Sprintf("none has the template that it wants, and %d were made", n),
	}
	c.evident("status.collisionCount", fmt.Sprint(n), nil)
	f.add(c)
	return true
}

// generationNotSeen is for an object whose controller has not observed the latest change.
func (f *causeFinder) generationNotSeen() {
	d := f.report.Drift
	var detail string
	since := d.Since
	switch d.State {
	case Behind:
		detail = fmt.Sprintf("its controller has observed generation %d, not %d", *d.Observed, d.Generation)
	case NeverSeen:
		detail = "its controller has never observed it"
		since = &metav1.Time{Time: f.created}
	case NotReported:
		f.madeAgain() // its controller does not come to write a status
		return
	case InSync, Ahead:
		return
	}
	if f.madeAgain() || slices.ContainsFunc(f.conditions, Condition.isOfLatest) {
		return
	}
	c := Cause{Type: GenerationNotSeen, Certainty: Likely, Weight: Specific, Detail: detail, Since: since}
	const field = "status.observedGeneration"
	if d.Observed != nil {
		c.evident(field, fmt.Sprintf("%d, of metadata.generation %d", *d.Observed, d.Generation), since)
	} else {
		c.evident(field, fmt.Sprintf("none, of metadata.generation %d", d.Generation), since)
	}
	if since != nil && f.observed.Now.Sub(since.Time) < SeenWithin {
		c.Certainty = Possible // it has had little time
	}
	if l := f.observed.Lease; l != nil {
		c.Evidence = append(c.Evidence, l.evidence(f.observed.Now))
		if l.Expired(f.observed.Now) {
			c.Certainty, c.Detail = Certain, detail+"; "+l.Name+" does not run"
		}
	}
	if w, ok := fields.LastStatusWriter(f.obj); ok {
		c.Evidence = append(c.Evidence, Evidence{
			Source: FromWriter, Name: w.Manager, Text: "wrote the status last", Time: w.Time,
		})
	}
	if k := f.observed.Kind; k != nil && k.Objects > 1 {
		c.Evidence = append(c.Evidence, k.evidence())
	}
	switch t := f.observed.Trial; {
	case len(t.Refused) > 0 || f.failsNow():
		c.Weight = Symptom // its controller would act on it, and cannot
	case len(t.Accepted) > 0:
		c.Detail += "; run from here it would act"
		c.Evidence = append(c.Evidence, t.Accepted...)
	}
	f.add(c)
}

// failsNow reports whether the controller of a custom resource has reported a moment ago that it cannot act on it.
func (f *causeFinder) failsNow() bool {
	return causeRules[f.group+"/"+f.kind] == nil && slices.ContainsFunc(f.events, func(e Event) bool {
		return e.Type == "Warning" && f.observed.Now.Sub(e.Last.Time) < recently
	})
}

// isOfLatest reports whether a condition says by itself that its controller has seen the latest change: Flux raises the
// generation of the whole object only when that has succeeded.
func (c Condition) isOfLatest() bool { return c.Generation != nil && c.Drift == InSync }

// evident appends what a field shows to a cause.
func (c *Cause) evident(path, text string, at *metav1.Time) {
	c.Evidence = append(c.Evidence, Evidence{Source: FromField, Name: path, Text: text, Time: at})
}

// evidence describes the Lease.
func (l *Lease) evidence(now time.Time) Evidence {
	out := Evidence{Source: FromLease, Name: l.Name, Text: "held by " + l.Holder}
	if !l.Renewed.IsZero() {
		out.Time = &metav1.Time{Time: l.Renewed}
	}
	switch {
	case l.Holder == "":
		out.Text = "held by no process"
	case l.Expired(now):
		out.Text += ", which does not renew it any more"
	}
	return out
}

// QueueLabel names the queue of what Kueue suspends and starts.
const QueueLabel = "kueue.x-k8s.io/queue-name"

// paused is for an object that is suspended: by a field, which its user sets unless it is in a queue, or without one as
// its status reports.
func (f *causeFinder) paused(field string) {
	c := Cause{Type: Paused, Certainty: Certain, Weight: Specific, Detail: f.report.Reason}
	if queue := f.Text("metadata", "labels", QueueLabel); queue != "" && field == "spec.suspend" {
		c.Type, c.Certainty, c.Detail = HeldByQueue, Likely, ""
		c.Refers = &Reference{
			Group: "kueue.x-k8s.io", Kind: "LocalQueue", Namespace: f.Text("metadata", "namespace"), Name: queue,
		}
		c.evident("metadata.labels["+QueueLabel+"]", queue, nil)
	}
	if field != "" {
		c.evident(field, f.report.Reason, nil)
	} else {
		c.Evidence = append(c.Evidence, f.suspendedBy()...)
	}
	f.add(c)
}

// suspendedBy returns the conditions, or else the status, by which an object reports that it is suspended.
func (f *causeFinder) suspendedBy() []Evidence {
	for _, c := range f.conditions {
		if reasonOf(c) == f.report.Reason {
			return []Evidence{conditionEvidence(c)}
		}
	}
	return []Evidence{{Source: FromField, Name: "status", Text: f.report.Reason}}
}

// conditionEvidence returns a condition as evidence.
func conditionEvidence(c Condition) Evidence {
	text := c.Status
	if c.Reason != "" {
		text += " " + c.Reason
	}
	if message := firstLine(c.Message); message != "" {
		text += ": " + TrimForbidden(message)
	}
	return Evidence{Source: FromCondition, Name: c.Type, Text: text, Time: c.Since}
}

// refused notes that the API server refuses what the controller writes, by a condition and Events with these reasons. A
// refusal that a condition reports is certain to be of the present; an Event may be old.
func (f *causeFinder) refused(c Condition, reasons ...string) {
	var out []Cause
	note := func(message string, e Evidence, certainty Certainty) {
		cause := f.refusal(message)
		if cause.Type == "" {
			cause = Cause{Type: WriteRefused, Weight: General, Detail: firstLine(TrimForbidden(message))}
		}
		cause.Certainty, cause.Evidence, cause.Since = certainty, []Evidence{e}, e.Time
		for i := range out {
			if out[i].Type != cause.Type || !sameReference(out[i].Refers, cause.Refers) {
				continue
			}
			told := slices.ContainsFunc(out[i].Evidence, func(known Evidence) bool {
				return known.Source == e.Source && known.Text == e.Text
			})
			if !told {
				out[i].Evidence = append(out[i].Evidence, e)
			}
			return
		}
		out = append(out, cause)
	}
	if c.Message != "" {
		note(c.Message, conditionEvidence(c), Certain)
	}
	for _, e := range f.events {
		if slices.Contains(reasons, e.Reason) && len(out) < 2 {
			ev := e.evidence()
			ev.Text = cutTo(ev.Text, maxDetailLength)
			note(e.text(), ev, Likely)
		}
	}
	for _, cause := range out {
		f.setByDefault(&cause)
		f.add(cause)
	}
}

func sameReference(a, b *Reference) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// counts notes what an object that counts others lacks of them.
func (f *causeFinder) counts() {
	if !f.report.NotReady() || f.report.Status.Status == Terminating {
		return
	}
	c := Cause{Type: PodsNotReady, Certainty: Certain, Weight: Symptom, Detail: f.report.Reason}
	if WaitsForController(f.obj) {
		c.Type, c.Certainty = PodsNotMade, Likely
	}
	ready := f.Count(0, "status", "readyReplicas")
	wait := f.Count(0, "spec", "minReadySeconds")
	if wait > 0 && ready >= f.Count(1, "spec", "replicas") && f.Count(0, "status", "availableReplicas") < ready {
		c.Weight = General
		c.Detail = fmt.Sprintf("%d are ready, and count as available %s after", ready, plural(wait, "second"))
		c.evident("spec.minReadySeconds", fmt.Sprint(wait), nil)
	}
	f.add(c)
}

// whileStarting is how certain it is that a pod starts of which nothing else is known: the less, the longer it lasts.
// Pulling a large image takes some minutes.
func (f *causeFinder) whileStarting() Certainty {
	since := f.created
	if f.report.Since != nil {
		since = f.report.Since.Time
	}
	switch waited := f.observed.Now.Sub(since); {
	case since.IsZero() || waited < time.Minute:
		return Certain
	case waited < 10*time.Minute:
		return Likely
	}
	return Possible
}

// handedOver is for an object that a field leaves to another controller.
func (f *causeFinder) handedOver(field, to string) {
	c := Cause{
		Type: HandedOver, Certainty: Likely, Weight: Specific, Detail: to + withSeparator("; ", f.report.Reason),
	}
	c.evident(field, to, nil)
	if w, ok := fields.LastStatusWriter(f.obj); ok {
		c.Evidence = append(c.Evidence, Evidence{
			Source: FromWriter, Name: w.Manager, Text: "wrote the status last", Time: w.Time,
		})
	}
	f.add(c)
}

// finalizers is for an object that is being deleted. Who removes those of Kubernetes itself, the caller knows.
func (f *causeFinder) finalizers() {
	all := f.Strings("metadata", "finalizers")
	since := deletionRequested(f.Map)
	for _, name := range all {
		c := Cause{Type: Finalizer, Certainty: Certain, Weight: Specific, Detail: name, Since: since}
		c.evident("metadata.finalizers", name, since)
		f.add(c)
	}
}

// knownWarnings are the reasons of Warnings about pods that rules know, or that restate what the pod reports.
var knownWarnings = []string{
	"FailedScheduling", "NotTriggerScaleUp", "FailedMount", "FailedMapVolume", "FailedAttachVolume",
	"FailedCreatePodSandBox", "NetworkNotReady", "Failed", "BackOff", "Unhealthy", "ProbeWarning", "InspectFailed",
	"ErrImageNeverPull", "NodeNotReady", "FailedToRetrieveImagePullSecret",
}

// warningReported notes the last Warning about an object of which nothing but symptoms is known: an operator or a hook
// may report by Events alone. One that is older than the state is of the past.
func (f *causeFinder) warningReported() {
	if slices.ContainsFunc(f.found, func(c Cause) bool { return c.Weight > Symptom }) {
		return
	}
	for _, e := range f.events {
		old := f.report.Since != nil && e.Last.Add(time.Minute).Before(f.report.Since.Time)
		if e.Type != "Warning" || e.Last.IsZero() || old ||
			f.kind == "Pod" && slices.Contains(knownWarnings, e.Reason) {
			continue
		}
		c := f.refusal(e.text())
		if c.Type == "" || c.Type == WriteRefused {
			c = Cause{Type: WarningReported, Weight: General, Detail: withReason(e.Reason, firstLine(e.text()))}
		}
		c.Certainty, c.Evidence, c.Since = Likely, []Evidence{e.evidence()}, &e.First
		if e.First.IsZero() {
			c.Since = nil
		}
		f.add(c)
		return
	}
}

// warnings adds, as evidence of what was found, the last Warnings of an object whose Events no rule knows.
func (f *causeFinder) warnings() {
	if len(f.found) == 0 {
		return
	}
	seen := map[string]bool{}
	for _, e := range f.events {
		if e.Type == "Warning" && !seen[e.Reason] && len(seen) < 2 {
			seen[e.Reason] = true
			f.found[0].Evidence = append(f.found[0].Evidence, e.evidence())
		}
	}
}

// recently is how short a time ago several managers must have set a field for it to be a fight.
const recently = 10 * time.Minute

// fieldFights is for an object that is changed again and again: its generation has grown fast, and several managers
// have written its spec lately.
func (f *causeFinder) fieldFights() {
	age := f.observed.Now.Sub(f.created)
	const fast = 2.0 // changes of the spec a minute
	if f.created.IsZero() || f.drift.Generation < 20 || float64(f.drift.Generation) < fast*age.Minutes() {
		return
	}
	var names []string
	var evidence []Evidence
	for _, m := range fields.SpecWriters(f.obj) {
		if m.Time != nil && f.observed.Now.Sub(m.Time.Time) < recently && !slices.Contains(names, m.Manager) {
			names = append(names, m.Manager)
			evidence = append(evidence, Evidence{
				Source: FromWriter, Name: m.Manager, Text: "wrote the spec", Time: m.Time,
			})
		}
	}
	if len(names) < 2 {
		return
	}
	c := Cause{
		Type: FieldFight, Certainty: Likely, Weight: Specific,
		Detail:   strings.Join(names, " and ") + " change it in turn",
		Evidence: evidence,
	}
	c.evident("metadata.generation", fmt.Sprintf("%d", f.drift.Generation), nil)
	f.add(c)
}
