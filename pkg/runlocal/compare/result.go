package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Verb is what a write does to an object. Updates and patches are the same.
type Verb string

// The verbs of writes.
const (
	VerbCreate Verb = "create"
	VerbUpdate Verb = "update"
	// VerbUpdateStatus is an update of the subresource status.
	VerbUpdateStatus Verb = "update status"
	VerbDelete       Verb = "delete"
)

// Write is a write of one object by a controller.
type Write struct {
	Verb   Verb         `json:"verb"`
	Object trace.Object `json:"object"`
	// Record is the number of the recorded event that shows the write, and Time its time; 0 for a write that was not
	// recorded.
	Record int64     `json:"record,omitempty"`
	Time   time.Time `json:"time,omitzero"`
	// Reconcile is the reconcile that wrote, in the trace of its session, and Causes are what led to it. They are zero
	// if they are not known.
	Reconcile trace.ReconcileID `json:"reconcile,omitempty"`
	Causes    []trace.Cause     `json:"causes,omitempty"`
	// Refused is what the API has answered, if it has refused the write.
	Refused string `json:"refused,omitempty"`
	// Changes are what the write changes in the object, for a creation all that it sets. They are set for writes that
	// have no counterpart only.
	Changes []fields.Change `json:"changes,omitempty"`
}

// Difference is the first write of a key that is not as it was recorded.
type Difference struct {
	// Recorded is what was recorded, Replayed what the controller wrote in its place.
	Recorded Write `json:"recorded"`
	Replayed Write `json:"replayed"`
	// Fields are what differs: Old is the recorded value, New the replayed one.
	Fields []fields.Change `json:"fields"`
}

// Key is the result for one key of a controller's queue.
type Key struct {
	// Controller is the short name of the controller, Key its key, mostly namespace/name.
	Controller string `json:"controller"`
	Key        string `json:"key"`
	// Object is the object that the key names; zero if that is not known.
	Object trace.Object `json:"object"`
	// Same counts the recorded writes that the controller made too. Merged are those among them that it made together
	// with another one, or in another order: statuses in between, which depend on when a controller happens to look,
	// and objects of which it makes or deletes several in no order.
	Same   int `json:"same"`
	Merged int `json:"merged,omitempty"`
	// Redacted counts the values in these writes that could not be compared, as the recording has placeholders for
	// them.
	Redacted int `json:"redacted,omitempty"`
	// Other is the first write that differs; nil if there is none. After it nothing of the key was compared: Uncompared
	// counts the recorded writes.
	Other      *Difference `json:"other,omitempty"`
	Uncompared int         `json:"uncompared,omitempty"`
	// Missing are recorded writes that the controller did not make, Extra are writes that were not recorded. The first
	// of Extra ends the comparison of the key, too.
	Missing []Write `json:"missing,omitempty"`
	Extra   []Write `json:"extra,omitempty"`
	// ByTimer are recorded writes that the controller would make later, at a time that it waits for, and that are not
	// compared.
	ByTimer []Write `json:"byTimer,omitempty"`
	// AfterEnd are statuses that a program wrote for the last events and that were not recorded: as the recording ends
	// soon after these, they are not compared.
	AfterEnd []Write `json:"afterEnd,omitempty"`
	// Unsure is true if what differs may be due to chance: a status in between, or a write that did not come again.
	Unsure bool `json:"unsure,omitempty"`
	// Repeats are writes of a program after the last event that change nothing; nil unless there are many. Whether the
	// recorded program made them is not known.
	Repeats *Repeats `json:"repeats,omitempty"`
}

// Repeats are writes that change nothing, or that the API refuses.
type Repeats struct {
	Writes int            `json:"writes"`
	Within trace.Duration `json:"within"`
}

// IsSame reports whether all that was compared was the same.
func (k *Key) IsSame() bool { return k.Other == nil && len(k.Missing) == 0 && len(k.Extra) == 0 }

// Counts are sums over keys.
type Counts struct {
	Keys int `json:"keys"`
	// Different counts the keys with something that is not the same.
	Different int `json:"different"`
	// Same, Merged, Missing, Extra, ByTimer and Uncompared count writes, Other keys with a Difference.
	Same    int `json:"same"`
	Merged  int `json:"merged"`
	Other   int `json:"other"`
	Missing int `json:"missing"`
	Extra   int `json:"extra"`
	ByTimer int `json:"byTimer"`
	// Redacted counts values.
	Redacted   int `json:"redacted"`
	Uncompared int `json:"uncompared"`
	// NotCompared counts the recorded writes of a program for which it is not known that it makes them: Merged,
	// ByTimer, Uncompared, and those of which the writer is not known.
	NotCompared int `json:"notCompared,omitempty"`
}

// Result is what came out of a run.
type Result struct {
	// Controllers are the short names of those that were compared.
	Controllers []string `json:"controllers"`
	// Writers are the field managers, or users, by which the writes of a program are told from those of others; nil for
	// controllers.
	Writers []string `json:"writers,omitempty"`
	// Keys are in the order of controllers and keys. Keys of which nothing was recorded and nothing was written are
	// left out.
	Keys []Key `json:"keys"`
	// Inputs and Effects count the events that were played and those that were withheld, up to their time.
	Inputs  int `json:"inputs"`
	Effects int `json:"effects"`
	// Unattributed counts the inputs of which it is not known who wrote them, though one of the controllers may have.
	Unattributed int `json:"unattributed"`
	// Relisted counts the events that a list has shown: what happened in between was not recorded. They are inputs.
	Relisted int `json:"relisted,omitempty"`
	// Before counts the recorded writes that were caused by versions of objects from before those that a list has shown
	// first, and that the controller did not make. They are inputs.
	Before int `json:"before,omitempty"`
	// Outside counts writes to volumes of claims in namespaces that were not recorded, which cannot be compared.
	Outside int `json:"outside,omitempty"`
	// NotServed counts the inputs that the API does not serve, such as those of kinds that this version does not know.
	NotServed int `json:"notServed,omitempty"`
	// ByTrace is true if the recording has a trace that says who wrote what.
	ByTrace bool `json:"byTrace,omitempty"`
	// ByAuditLog is true if an audit log in the input says who wrote what.
	ByAuditLog bool `json:"byAuditLog,omitempty"`
	// Gaps counts the times in which nothing was recorded.
	Gaps int `json:"gaps,omitempty"`
	// Behind is how late the run was, at most, when it came to an event while time passed as it was recorded, and when
	// a controller decided otherwise than it did. It depends on how busy the machine is. From a second on timers may
	// have ended beside other events than they did.
	Behind trace.Duration `json:"behind,omitempty"`
}

// Counts sums up the result.
func (r *Result) Counts() Counts {
	var c Counts
	for i := range r.Keys {
		k := &r.Keys[i]
		c.Keys++
		if !k.IsSame() {
			c.Different++
		}
		if k.Other != nil {
			c.Other++
		}
		c.Same += k.Same
		c.Merged += k.Merged
		c.Redacted += k.Redacted
		c.Missing += len(k.Missing)
		c.Extra += len(k.Extra)
		c.ByTimer += len(k.ByTimer)
		c.Uncompared += k.Uncompared
	}
	if r.Writers != nil {
		c.NotCompared = c.Merged + c.ByTimer + c.Uncompared + r.Unattributed
	}
	return c
}

// IsSame reports whether all that was compared was the same, and IsEnough is true.
func (r *Result) IsSame() bool { return r.Counts().Different == 0 && r.IsEnough() }

// IsEnough reports whether at least two thirds of the recorded writes of a program were compared. It is true for
// controllers.
func (r *Result) IsEnough() bool { return 3*r.Counts().NotCompared <= r.Effects }

// IsUnsure reports whether all that differs may be due to chance, and something does.
func (r *Result) IsUnsure() bool {
	different := false
	for i := range r.Keys {
		if k := &r.Keys[i]; !k.IsSame() {
			if different = true; !k.Unsure {
				return false
			}
		}
	}
	return different
}

// Difference returns how two results of one recording differ in short, "" if they do not: two runs of controllers that
// depend on nothing but their inputs have the same result. Reconciles and causes are not compared.
func (r *Result) Difference(other *Result) string {
	mine, others := r.byKey(), other.byKey()
	either := maps.Clone(mine)
	maps.Copy(either, others)
	for _, name := range slices.Sorted(maps.Keys(either)) {
		a, b := mine[name], others[name]
		if a != b {
			return fmt.Sprintf("%s: %s, and %s", name, cmp.Or(a, "nothing"), cmp.Or(b, "nothing"))
		}
	}
	return ""
}

// byKey returns a text of each key's result.
func (r *Result) byKey() map[string]string {
	out := make(map[string]string, len(r.Keys))
	for i := range r.Keys {
		k := &r.Keys[i]
		var text strings.Builder
		fmt.Fprintf(&text, "%d same, %d uncompared", k.Same, k.Uncompared)
		if k.Other != nil {
			fmt.Fprintf(&text, ", other %s", describeWrite(&k.Other.Replayed))
			for _, f := range k.Other.Fields {
				fmt.Fprintf(&text, " %s", f)
			}
		}
		for _, set := range []struct {
			word   string
			writes []Write
		}{{"missing", k.Missing}, {"extra", k.Extra}, {"by timer", k.ByTimer}} {
			for i := range set.writes {
				fmt.Fprintf(&text, ", %s %s", set.word, describeWrite(&set.writes[i]))
			}
		}
		out[k.Controller+" "+k.Key] = text.String()
	}
	return out
}

func describeWrite(w *Write) string {
	return fmt.Sprintf("%s %s %s", w.Verb, w.Object.Resource, w.Object.Name)
}
