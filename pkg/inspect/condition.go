package inspect

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition is one condition of an object's status.
type Condition struct {
	// Type is its name: Ready, Available, MemoryPressure.
	Type string `json:"type"`
	// Status is True, False or Unknown; or what else stands there.
	Status string `json:"status"`
	// Reason is a word for programs, Message a sentence for people. Both may be empty.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Severity is what some families give a False condition: Error, Warning, Info. Mostly it is empty.
	Severity string `json:"severity,omitempty"`
	// Since is when its status last changed; nil if that is not told.
	Since *metav1.Time `json:"since,omitempty"`
	// Generation is the condition's own observedGeneration; nil if it has none.
	Generation *int64 `json:"observedGeneration,omitempty"`
	// Drift is of its own generation, or else of the one that the object's status has observed.
	Drift DriftState `json:"drift"`
	// Polarity says which status is the good one.
	Polarity Polarity `json:"polarity"`
	// Guessed says that no table knows the condition: its polarity is taken from its name, or from what is usual.
	Guessed bool `json:"guessed,omitempty"`
	// Bad says that the status is the one that it should not be.
	Bad bool `json:"bad"`
}

// rank orders conditions: what is bad, what is not known, what is of an older generation, then the rest.
func (c Condition) rank() int {
	switch {
	case c.Bad:
		return 0
	case c.Status != "True" && c.Status != "False" && c.Polarity != Neutral:
		return 1
	case c.Drift == Behind:
		return 2
	}
	return 3
}

// conditionReader decodes the conditions of one object.
type conditionReader struct {
	group, kind string
	drift       Drift
	polarities  *Polarities
	flaws       *flaws
	// ended says that the object is a pod whose phase is final.
	ended bool
}

// read decodes the conditions: bad ones first, else by type.
func (r conditionReader) read(found any) []Condition {
	list, ok := found.([]any)
	if !ok && found != nil {
		r.flaws.lost("status.conditions is %s and no list", described(found))
	}
	var out []Condition
	for i, entry := range list {
		if c := r.condition(entry, i); c.Type != "" {
			out = append(out, c)
		}
	}
	out = withoutHasty(out)
	slices.SortStableFunc(out, func(a, b Condition) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Type, b.Type))
	})
	return out
}

// condition decodes one entry. One without a type is none: its Type is empty.
func (r conditionReader) condition(entry any, i int) Condition {
	m, ok := entry.(map[string]any)
	if !ok {
		r.flaws.lost("status.conditions[%d] is %s and no condition", i, described(entry))
		return Condition{}
	}
	v := values(m)
	c := Condition{Type: v.text("type"), Reason: v.text("reason"), Message: v.text("message"), Severity: v.text("severity")}
	if c.Type == "" {
		if v.text("phase") == "" { // else it is of the phases that the object went through, as OLM keeps them
			r.flaws.lost("status.conditions[%d] has no type", i)
		}
		return Condition{}
	}
	where := "condition " + shortened(c.Type) + ": "
	c.Status = r.status(v, where)
	c.Since = transition(v, r.flaws, where)
	c.Generation = generationAt(v, r.flaws, where, "observedGeneration")
	c.Drift = compareGenerations(r.drift.Generation, cmp.Or(c.Generation, r.drift.Observed))
	c.Polarity, c.Guessed = r.polarities.of(r.group, r.kind, c.Type)
	c.Bad = c.isBad() && (!r.ended || !c.endsWithPod())
	return c
}

// status reads a condition's status; a controller that writes true for "True" is understood.
func (r conditionReader) status(v values, where string) string {
	switch s := v.at("status").(type) {
	case string:
		return s
	case bool:
		r.flaws.odd("%sstatus is %s and no text", where, described(s))
		return map[bool]string{true: "True", false: "False"}[s]
	case nil:
		if r.group == "argoproj.io" && r.kind == "Application" {
			return "True" // its conditions have no status: they are there, or not
		}
		r.flaws.lost("%sthere is no status", where)
	default:
		r.flaws.lost("%sstatus is %s and no text", where, described(s))
	}
	return ""
}

// transition is when the status changed: some kinds tell when they last wrote the condition only.
func transition(v values, f *flaws, where string) *metav1.Time {
	for _, field := range []string{"lastTransitionTime", "lastUpdateTime"} {
		t, ok := v.time(field)
		if !ok {
			f.odd("%s%s is %s and no time", where, field, described(v.at(field)))
			return nil
		}
		if t != nil && !t.IsZero() {
			return t
		}
	}
	return nil
}

// meantReasons are of conditions that are not as they should be, and are meant to be so: the pod has done its work, the
// target of an autoscaler has no replicas, a backup of CloudNativePG has begun (LastBackupSucceeded is False until it ends),
// a machine of KubeVirt is not started. Cluster API and Knative have the severity Info for that.
var meantReasons = map[string]bool{"PodCompleted": true, "ScalingDisabled": true, "BackupStarted": true, "VMINotExists": true}

// isBad is the verdict of the condition alone. What is Unknown is not bad: it is on its way, mostly.
func (c Condition) isBad() bool {
	if c.Severity == "Info" || meantReasons[c.Reason] {
		return false
	}
	switch c.Polarity {
	case Positive:
		return c.Status == "False"
	case Negative:
		return c.Status == "True"
	case Neutral:
	}
	return false
}

// endsWithPod says whether the condition becomes False when a pod ends, well or not: nothing runs any more, and so nothing is
// ready. The phase tells how it ended.
func (c Condition) endsWithPod() bool {
	return c.Type == "ContainersReady" || c.Type == "PodReadyToStartContainers" || c.Type == "Ready"
}

// withoutHasty takes back verdicts on conditions that no table or name tells anything about: that True is good is usual,
// but where the condition that sums up the object is True, one more that is False is not held against it.
func withoutHasty(conditions []Condition) []Condition {
	fine := slices.ContainsFunc(conditions, func(c Condition) bool { return (c.sumsUp() || c.isResult()) && c.Status == "True" })
	for i := range conditions {
		if c := &conditions[i]; fine && c.Guessed && c.Polarity == Positive {
			c.Bad = false
		}
	}
	return conditions
}

// sumsUp says whether a condition of this name speaks for the whole object.
func (c Condition) sumsUp() bool {
	return c.Type == "Ready" || c.Type == "Available" || c.Type == "Healthy"
}

// isResult says whether a condition of this name tells how something that runs to an end has ended.
func (c Condition) isResult() bool {
	return c.Type == "Succeeded" || c.Type == "Complete" || c.Type == "Completed"
}

// isChange says whether the condition tells of a family that the object is being changed, though it works.
func (c Condition) isChange() bool {
	switch c.Type {
	case "Progressing", "RolloutProgressing", "RollingOut", "ScalingDown", "ScalingUp", "Updating":
		return c.Status == "True" && c.Polarity == Neutral && !c.Guessed
	}
	return false
}

// text is the condition as a reason for people: "Available=False MinimumReplicasUnavailable".
func (c Condition) text() string {
	return strings.TrimSpace(c.Type + "=" + c.Status + " " + c.Reason)
}
