package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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
	// Of names the part of the object that the condition is of: "listener https", "parent web". It is empty for conditions
	// of the whole object.
	Of string `json:"of,omitempty"`
	// Superseded says that the condition is of an older generation, and that another part, another parent of a route for
	// one, has it of this generation: what wrote this one may be gone.
	Superseded bool `json:"superseded,omitempty"`
}

// nested reports whether the condition is of a part of the object.
func (c Condition) nested() bool { return c.Of != "" }

// name is the type, with the part that it is of before it.
func (c Condition) name() string { return c.prefixed(c.Type) }

// prefixed is a text about the condition, with the part that it is of before it.
func (c Condition) prefixed(text string) string {
	if c.Of == "" {
		return text
	}
	return c.Of + ": " + text
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
	problems    *problems
	// podEnded says that the object is a pod whose phase is final.
	podEnded bool
}

// partLists are the fields of the status that hold a list of parts that have conditions, and what one part is
// called: the listeners of a Gateway, what routes and policies of the Gateway API are attached to, the routers of a
// Route of OpenShift.
var partLists = []struct{ field, one string }{
	{"listeners", "listener"}, {"parents", "parent"}, {"ancestors", "ancestor"}, {"ingress", "router"},
}

// readAll decodes the conditions of the object and of its parts: bad ones first, else by type.
func (r conditionReader) readAll(object values) []Condition {
	found, where := object.at("status", "conditions"), "status.conditions"
	if annotated := object.sub("metadata", "annotations")[conditionsOfV1]; r.group == "autoscaling" && found == nil {
		found, where = r.annotated(annotated), "annotation "+conditionsOfV1
	}
	out := clearGuessedBad(r.read(found, where, ""))
	for _, list := range partLists {
		if isBuiltInGroup(r.group) {
			break
		}
		var parts []Condition
		entries, _ := object.at("status", list.field).([]any)
		for i, entry := range entries {
			part, _ := entry.(map[string]any)
			where := fmt.Sprintf("status.%s[%d].conditions", list.field, i)
			parts = append(parts, r.read(values(part).at("conditions"), where, partName(list.one, part, i))...)
		}
		out = append(out, markSuperseded(parts)...)
	}
	slices.SortStableFunc(out, func(a, b Condition) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Type, b.Type))
	})
	return out
}

// conditionsOfV1 is the annotation in which version v1 of HorizontalPodAutoscalers has the conditions of v2
// (k8s.io/kubernetes/pkg/apis/autoscaling/annotations.go).
const conditionsOfV1 = "autoscaling.alpha.kubernetes.io/conditions"

// annotated are the conditions of an annotation; nil if it is not there.
func (r conditionReader) annotated(text any) any {
	if text == nil {
		return nil
	}
	var list []any
	if s, _ := text.(string); json.Unmarshal([]byte(s), &list) != nil {
		r.problems.unreadable("annotation %s is %s and no list of conditions", conditionsOfV1, describe(text))
		return nil
	}
	return list
}

// partName names an entry of a list of parts.
func partName(one string, part values, i int) string {
	ref := part.sub("parentRef")
	if ref == nil {
		ref = part.sub("ancestorRef")
	}
	name := cmp.Or(part.text("name"), ref.text("name"), part.text("routerName"), strconv.Itoa(i+1))
	return one + " " + name + withSeparator("/", ref.text("sectionName"))
}

// markSuperseded marks what is of an older generation where another part has the same condition of this one.
func markSuperseded(parts []Condition) []Condition {
	for i := range parts {
		parts[i].Superseded = parts[i].Drift == Behind && slices.ContainsFunc(parts, func(c Condition) bool {
			return c.Type == parts[i].Type && c.Drift == InSync
		})
		parts[i].Bad = parts[i].Bad && !parts[i].Superseded
	}
	return parts
}

// read decodes a list of conditions, which stands at a path of the object and is of the part named, if it is of one.
func (r conditionReader) read(found any, where, of string) []Condition {
	list, ok := found.([]any)
	if !ok && found != nil {
		r.problems.unreadable("%s is %s and no list", where, describe(found))
	}
	var out []Condition
	for i, entry := range list {
		if c := r.condition(entry, fmt.Sprintf("%s[%d]", where, i)); c.Type != "" {
			c.Of = of
			out = append(out, c)
		}
	}
	return out
}

// condition decodes one entry. One without a type is none: its Type is empty.
func (r conditionReader) condition(entry any, at string) Condition {
	m, ok := entry.(map[string]any)
	if !ok {
		r.problems.unreadable("%s is %s and no condition", at, describe(entry))
		return Condition{}
	}
	v := values(m)
	c := Condition{Type: v.text("type"), Reason: v.text("reason"), Message: v.text("message"), Severity: v.text("severity")}
	if c.Type == "" {
		if v.text("phase") == "" { // else it is of the phases that the object went through, as OLM keeps them
			r.problems.unreadable("%s has no type", at)
		}
		return Condition{}
	}
	where := "condition " + truncate(c.Type) + ": "
	c.Status = r.status(v, where)
	c.Since = transition(v, r.problems, where)
	c.Generation = generationAt(v, r.problems, where, "observedGeneration")
	c.Drift = compareGenerations(r.drift.Generation, cmp.Or(c.Generation, r.drift.Observed))
	c.Polarity, c.Guessed = r.polarities.lookup(r.group, r.kind, c.Type)
	c.Bad = c.isBad() && (!r.podEnded || !c.isFalseAfterPodEnd())
	return c
}

// status reads a condition's status; a controller that writes true for "True" is understood.
func (r conditionReader) status(v values, where string) string {
	switch s := v.at("status").(type) {
	case string:
		return s
	case bool:
		r.problems.tolerated("%sstatus is %s and no text", where, describe(s))
		return map[bool]string{true: "True", false: "False"}[s]
	case nil:
		if r.group == "argoproj.io" && r.kind == "Application" {
			return "True" // its conditions have no status: they are there, or not
		}
		r.problems.unreadable("%sthere is no status", where)
	default:
		r.problems.unreadable("%sstatus is %s and no text", where, describe(s))
	}
	return ""
}

// transition is when the status changed: some kinds tell when they last wrote the condition only.
func transition(v values, f *problems, where string) *metav1.Time {
	for _, field := range []string{"lastTransitionTime", "lastUpdateTime"} {
		t, ok := v.time(field)
		if !ok {
			f.tolerated("%s%s is %s and no time", where, field, describe(v.at(field)))
			return nil
		}
		if t != nil && !t.IsZero() {
			return t
		}
	}
	return nil
}

// intendedReasons are of conditions that are not as they should be, and are meant to be so: the pod has done its work, the
// target of an autoscaler has no replicas, a backup of CloudNativePG has begun (LastBackupSucceeded is False until it
// ends), a machine of KubeVirt is not started, a managed resource of Crossplane is not wanted. Cluster API and Knative
// have the severity Info for that.
var intendedReasons = wordSet("PodCompleted ScalingDisabled BackupStarted VMINotExists InactiveManagedResource")

// isBad is the verdict of the condition alone. What is Unknown is not bad: it is on its way, mostly.
func (c Condition) isBad() bool {
	if c.Severity == "Info" || intendedReasons[c.Reason] {
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

// isFalseAfterPodEnd reports whether the condition becomes False when a pod ends, well or not: nothing runs any more, and so nothing is
// ready. The phase tells how it ended.
func (c Condition) isFalseAfterPodEnd() bool {
	return c.Type == "ContainersReady" || c.Type == "PodReadyToStartContainers" || c.Type == "Ready"
}

// clearGuessedBad takes back verdicts on conditions that no table or name tells anything about: that True is good is usual,
// but where the condition that sums up the object is True, one more that is False is not held against it, unless it
// sums the object up, too.
func clearGuessedBad(conditions []Condition) []Condition {
	fine := slices.ContainsFunc(conditions, func(c Condition) bool { return (c.isSummary() || c.isResult()) && c.Status == "True" })
	for i := range conditions {
		if c := &conditions[i]; fine && c.Guessed && c.Polarity == Positive && !c.isSummary() {
			c.Bad = false
		}
	}
	return conditions
}

// isSummary reports whether the condition speaks for the whole object.
func (c Condition) isSummary() bool {
	return !c.nested() && (c.Type == "Ready" || c.Type == "Available" || c.Type == "Healthy")
}

// isResult reports whether a condition of this name is for how something that runs to an end has ended.
func (c Condition) isResult() bool {
	return c.Type == "Succeeded" || c.Type == "Complete" || c.Type == "Completed" || c.Type == "Finished"
}

// isProgressing reports whether by the condition, whose meaning a table has, the object is being changed, though it works.
func (c Condition) isProgressing() bool {
	switch c.Type {
	case "Progressing", "RolloutProgressing", "RollingOut", "ScalingDown", "ScalingUp", "Updating":
		return c.Status == "True" && c.Polarity == Neutral && !c.Guessed
	}
	return false
}

// progressingWords are the first words of conditions that tell, in families that no table has, that the object is being changed.
var progressingWords = wordSet(`Scaling Resizing Rolling Updating Upgrading Migrating Rebalancing Resharding Restarting
	Replacing`)

// isGuessedProgressing reports whether the object is being changed by the name of a condition. Progressing is also a
// word for all being well; it is a change beside the conditions Available and Degraded, as operators of OpenShift have
// the three.
func (o subject) isGuessedProgressing(c Condition) bool {
	words := wordsOf(c.Type)
	switch {
	case c.Status != "True" || c.Polarity != Neutral || !c.Guessed || c.nested() || c.Drift == Behind:
		return false
	case c.Type == "Progressing":
		return o.condition("Available").Type != "" && o.condition("Degraded").Type != ""
	}
	return len(words) > 0 && len(words) <= 2 && progressingWords[words[0]]
}

// text is the condition as a reason for people: "Available=False MinimumReplicasUnavailable".
func (c Condition) text() string {
	return c.prefixed(strings.TrimSpace(c.Type + "=" + c.Status + " " + c.Reason))
}
