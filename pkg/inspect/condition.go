package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// Condition is one condition of an object's status.
type Condition struct {
	// Type is its name: Ready, Available, MemoryPressure.
	Type string `json:"type"`
	// Status is True, False or Unknown, or any other text that the object has.
	Status string `json:"status"`
	// Reason is one word, for programs; Message is for people. Both may be empty.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Severity is set by some families for False conditions: Error, Warning, Info. It is usually empty.
	Severity string `json:"severity,omitempty"`
	// Since is when its status last changed; nil if the condition does not have it.
	Since *metav1.Time `json:"since,omitempty"`
	// Generation is the condition's own observedGeneration; nil if it has none.
	Generation *int64 `json:"observedGeneration,omitempty"`
	// Drift compares the object's generation with the condition's, or with status.observedGeneration if the condition
	// has none.
	Drift DriftState `json:"drift"`
	// Polarity is which status is the good one.
	Polarity Polarity `json:"polarity"`
	// Guessed reports that no table has the condition: its polarity is derived from its name, or the default.
	Guessed bool `json:"guessed,omitempty"`
	// Bad reports that the status is the one that it should not be.
	Bad bool `json:"bad"`
	// Of names the part of the object that the condition belongs to: "listener https", "parent web". It is empty for
	// conditions of the whole object.
	Of string `json:"of,omitempty"`
	// Superseded reports that the condition is of an older generation while another part, such as another parent of a
	// route, has it of this generation: the controller that wrote this one may be gone.
	Superseded bool `json:"superseded,omitempty"`
}

// nested reports whether the condition belongs to a part of the object.
func (c Condition) nested() bool { return c.Of != "" }

// name returns the type, after the part that the condition belongs to.
func (c Condition) name() string { return c.prefixed(c.Type) }

// prefixed returns a text after the part that the condition belongs to.
func (c Condition) prefixed(text string) string {
	if c.Of == "" {
		return text
	}
	return c.Of + ": " + text
}

// rank orders conditions: bad ones, unknown ones, those of an older generation, then the rest.
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
	// podEnded reports that the object is a pod whose phase is final.
	podEnded bool
}

// partLists are the fields of the status that list parts with conditions, and what one part is called: the listeners
// of a Gateway, the parents of routes and the ancestors of policies of the Gateway API, the routers of an OpenShift
// Route.
var partLists = []struct{ field, one string }{
	{"listeners", "listener"}, {"parents", "parent"}, {"ancestors", "ancestor"}, {"ingress", "router"},
}

// readAll returns the conditions of the object and of its parts, sorted by rank and type.
func (r conditionReader) readAll(object untyped.Map) []Condition {
	found, where := object.At("status", "conditions"), "status.conditions"
	if annotated := object.Sub("metadata", "annotations")[conditionsOfV1]; r.group == "autoscaling" && found == nil {
		found, where = r.annotated(annotated), "annotation "+conditionsOfV1
	}
	out := clearGuessedBad(r.read(found, where, ""))
	for _, list := range partLists {
		if isBuiltInGroup(r.group) {
			break
		}
		var parts []Condition
		entries, _ := object.At("status", list.field).([]any)
		for i, entry := range entries {
			part, _ := entry.(map[string]any)
			where := fmt.Sprintf("status.%s[%d].conditions", list.field, i)
			parts = append(parts, r.read(untyped.Map(part).At("conditions"), where, partName(list.one, part, i))...)
		}
		out = append(out, markSuperseded(parts)...)
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Type, b.Type)) < 0
	})
	return out
}

// conditionsOfV1 is the annotation in which version v1 of HorizontalPodAutoscalers has the conditions of v2
// (k8s.io/kubernetes/pkg/apis/autoscaling/annotations.go).
const conditionsOfV1 = "autoscaling.alpha.kubernetes.io/conditions"

// annotated returns the conditions in the text of an annotation; nil if text is nil.
func (r conditionReader) annotated(text any) any {
	if text == nil {
		return nil
	}
	var list []any
	if s, _ := text.(string); json.Unmarshal([]byte(s), &list) != nil {
		r.problems.unreadable("annotation %s is %s, not a list of conditions", conditionsOfV1, untyped.Describe(text))
		return nil
	}
	return list
}

// partName names the entry i of a list of parts.
func partName(one string, part untyped.Map, i int) string {
	ref := part.Sub("parentRef")
	if ref == nil {
		ref = part.Sub("ancestorRef")
	}
	name := cmp.Or(part.Text("name"), ref.Text("name"), part.Text("routerName"), strconv.Itoa(i+1))
	return one + " " + name + withSeparator("/", ref.Text("sectionName"))
}

// markSuperseded sets Superseded, in place: see there. Such conditions are not bad.
func markSuperseded(parts []Condition) []Condition {
	for i := range parts {
		parts[i].Superseded = parts[i].Drift == Behind && slices.ContainsFunc(parts, func(c Condition) bool {
			return c.Type == parts[i].Type && c.Drift == InSync
		})
		parts[i].Bad = parts[i].Bad && !parts[i].Superseded
	}
	return parts
}

// read returns the conditions of a list. where is its path, for problems; of is the part that it belongs to, if any.
func (r conditionReader) read(found any, where, of string) []Condition {
	list, ok := found.([]any)
	if !ok && found != nil {
		r.problems.unreadable("%s is %s, not a list", where, untyped.Describe(found))
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

// condition decodes one entry. An entry without a type is not a condition: its Type is empty.
func (r conditionReader) condition(entry any, at string) Condition {
	m, ok := entry.(map[string]any)
	if !ok {
		r.problems.unreadable("%s is %s, not a condition", at, untyped.Describe(entry))
		return Condition{}
	}
	v := untyped.Map(m)
	c := Condition{
		Type: v.Text("type"), Reason: v.Text("reason"), Message: v.Text("message"), Severity: v.Text("severity"),
	}
	if c.Type == "" {
		if v.Text("phase") == "" { // OLM records past phases in this list
			r.problems.unreadable("%s has no type", at)
		}
		return Condition{}
	}
	where := "condition " + untyped.Truncate(c.Type) + ": "
	c.Status = r.status(v, where)
	c.Since = transition(v, r.problems, where)
	c.Generation = generationAt(v, r.problems, where, "observedGeneration")
	c.Drift = compareGenerations(r.drift.Generation, cmp.Or(c.Generation, r.drift.Observed))
	c.Polarity, c.Guessed = r.polarities.lookup(r.group, r.kind, c.Type)
	c.Bad = c.isBad() && (!r.podEnded || !c.isFalseAfterPodEnd())
	return c
}

// status returns a condition's status; true, which some controllers write, is "True".
func (r conditionReader) status(v untyped.Map, where string) string {
	switch s := v.At("status").(type) {
	case string:
		return s
	case bool:
		r.problems.tolerated("%sstatus is %s, not a text", where, untyped.Describe(s))
		return map[bool]string{true: "True", false: "False"}[s]
	case nil:
		if r.group == "argoproj.io" && r.kind == "Application" {
			return "True" // its conditions have no status: they exist or not
		}
		r.problems.unreadable("%sthere is no status", where)
	default:
		r.problems.unreadable("%sstatus is %s, not a text", where, untyped.Describe(s))
	}
	return ""
}

// transition returns when the status changed; for kinds that do not record that, when the condition was last written.
func transition(v untyped.Map, f *problems, where string) *metav1.Time {
	for _, field := range []string{"lastTransitionTime", "lastUpdateTime"} {
		t, ok := v.Time(field)
		if !ok {
			f.tolerated("%s%s is %s, not a time", where, field, untyped.Describe(v.At(field)))
			return nil
		}
		if t != nil && !t.IsZero() {
			return t
		}
	}
	return nil
}

// intendedReasons are reasons of conditions that do not have their good status on purpose: the pod has completed, the
// target of an autoscaler is scaled to 0, a backup of CloudNativePG has begun (LastBackupSucceeded is False until it
// ends), a KubeVirt machine is not started, a managed resource of Crossplane is inactive. Cluster API and Knative use
// the severity Info for that.
var intendedReasons = wordSet("PodCompleted ScalingDisabled BackupStarted VMINotExists InactiveManagedResource")

// isBad reports whether the condition, looked at alone, has the status that it should not have. Unknown is not bad:
// mostly the controller is still working on it. The Prometheus operator has Degraded for what is not fully True.
func (c Condition) isBad() bool {
	if c.Severity == "Info" || intendedReasons[c.Reason] {
		return false
	}
	switch c.Polarity {
	case Positive:
		return c.Status == "False" || c.Status == Degraded
	case Negative:
		return c.Status == "True"
	case Neutral:
	}
	return false
}

// isFalseAfterPodEnd reports whether the condition becomes False when a pod ends, whether it succeeded or failed:
// nothing runs any more, so nothing is ready. The phase shows how the pod ended.
func (c Condition) isFalseAfterPodEnd() bool {
	return c.Type == "ContainersReady" || c.Type == "PodReadyToStartContainers" || c.Type == "Ready"
}

// clearGuessedBad clears, in place, Bad of conditions whose polarity is only the default: where a condition that
// summarizes the object is True, another one that is False does not count as bad, unless it summarizes the object as
// well.
func clearGuessedBad(conditions []Condition) []Condition {
	fine := slices.ContainsFunc(conditions, func(c Condition) bool {
		return (c.isSummary() || c.isResult()) && c.Status == "True"
	})
	for i := range conditions {
		if c := &conditions[i]; fine && c.Guessed && c.Polarity == Positive && !c.isSummary() {
			c.Bad = false
		}
	}
	return conditions
}

// isSummary reports whether the condition summarizes the whole object.
func (c Condition) isSummary() bool {
	return !c.nested() && (c.Type == "Ready" || c.Type == "Available" || c.Type == "Healthy")
}

// isResult reports whether the condition is the result of an object that runs to completion.
func (c Condition) isResult() bool {
	return c.Type == "Succeeded" || c.Type == "Complete" || c.Type == "Completed" || c.Type == "Finished"
}

// isProgressing reports whether the condition, whose meaning is in a table, shows that the object is being changed
// while it works.
func (c Condition) isProgressing() bool {
	switch c.Type {
	case "Progressing", "RolloutProgressing", "RollingOut", "ScalingDown", "ScalingUp", "Updating":
		return c.Status == "True" && c.Polarity == Neutral && !c.Guessed
	}
	return false
}

// progressingWords are the first words of conditions that show, in families that no table has, that the object is
// being changed.
var progressingWords = wordSet(`Scaling Resizing Rolling Updating Upgrading Migrating Rebalancing Resharding Restarting
	Replacing`)

// isGuessedProgressing reports whether the name of a condition shows that the object is being changed.
// Progressing=True may also mean that all is well; it means a change if the object has the conditions Available and
// Degraded too, as operators of OpenShift do.
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

// text returns the condition as a reason for people: "Available=False MinimumReplicasUnavailable".
func (c Condition) text() string {
	return c.prefixed(strings.TrimSpace(c.Type + "=" + c.Status + " " + c.Reason))
}
