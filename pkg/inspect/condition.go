package inspect

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// conditionsOf decodes the conditions: bad ones first, else by type.
func conditionsOf(obj *unstructured.Unstructured, d Drift, p *Polarities, f *flaws) []Condition {
	list := conditionList(obj, f)
	group, kind := obj.GroupVersionKind().Group, obj.GetKind()
	var out []Condition
	for i, entry := range list {
		c := conditionFrom(entry, i, d, f)
		if c.Type != "" {
			c.Polarity, c.Guessed = p.of(group, kind, c.Type)
			c.Bad = c.isBad()
			out = append(out, c)
		}
	}
	out = withoutHasty(out)
	slices.SortStableFunc(out, func(a, b Condition) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Type, b.Type))
	})
	return out
}

func conditionList(obj *unstructured.Unstructured, f *flaws) []any {
	v := values(obj.Object)
	if status := v.at("status"); status != nil && v.sub("status") == nil {
		f.lost("status is %s and no map", described(status))
		return nil
	}
	found := v.at("status", "conditions")
	list, ok := found.([]any)
	if !ok && found != nil {
		f.lost("status.conditions is %s and no list", described(found))
	}
	return list
}

// conditionFrom decodes one entry. One without a type is none: its Type is empty.
func conditionFrom(entry any, i int, d Drift, f *flaws) Condition {
	m, ok := entry.(map[string]any)
	if !ok {
		f.lost("status.conditions[%d] is %s and no condition", i, described(entry))
		return Condition{}
	}
	v := values(m)
	c := Condition{Type: v.text("type"), Reason: v.text("reason"), Message: v.text("message"), Severity: v.text("severity")}
	if c.Type == "" {
		f.lost("status.conditions[%d] has no type", i)
		return Condition{}
	}
	where := "condition " + shortened(c.Type) + ": "
	c.Status = statusAt(v, f, where)
	c.Since = transition(v, f, where)
	c.Generation = generationAt(v, f, where, "observedGeneration")
	c.Drift = compareGenerations(d.Generation, cmp.Or(c.Generation, d.Observed))
	return c
}

// statusAt reads a condition's status; a controller that writes true for "True" is understood.
func statusAt(v values, f *flaws, where string) string {
	switch s := v.at("status").(type) {
	case string:
		return s
	case bool:
		f.odd("%sstatus is %s and no text", where, described(s))
		return map[bool]string{true: "True", false: "False"}[s]
	case nil:
		f.lost("%sthere is no status", where)
	default:
		f.lost("%sstatus is %s and no text", where, described(s))
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

// isBad is the verdict of the condition alone. What is Unknown is not bad: it is on its way, mostly.
func (c Condition) isBad() bool {
	if c.Severity == "Info" { // Cluster API and Knative: False, and meant to be
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

// withoutHasty takes back verdicts on conditions that no table or name tells anything about: that True is good is usual,
// but where the condition that sums up the object is True, one more that is False is not held against it.
func withoutHasty(conditions []Condition) []Condition {
	fine := slices.ContainsFunc(conditions, func(c Condition) bool { return c.sumsUp() && c.Status == "True" })
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

// text is the condition as a reason for people: "Available=False MinimumReplicasUnavailable".
func (c Condition) text() string {
	return strings.TrimSpace(c.Type + "=" + c.Status + " " + c.Reason)
}
