package treestatus

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// outcomes are what the garbage collector will do; Kept without an entry.
type outcomes map[types.UID]ownertree.GCOutcome

func (o outcomes) GCOutcome(n *ownertree.Node) ownertree.GCOutcome {
	if outcome, ok := o[n.UID]; ok {
		return outcome
	}
	return ownertree.GCOutcome{Action: ownertree.Kept}
}

// object is NAME or NAME:STATUS, Current without one, with what it owns.
func object(facts FactsByUID, text string, children ...*ownertree.Branch) *ownertree.Branch {
	name, status, _ := strings.Cut(text, ":")
	report := inspect.Report{Status: inspect.Status{Status: inspect.Current}, Drift: inspect.Drift{State: inspect.NotReported}}
	switch status {
	case "":
	case "drifted":
		report.Drift.State = inspect.Behind
	case "unreported":
		report.Status = inspect.Status{Status: inspect.Unknown, Reason: "no status reported"}
	default:
		report.Status.Status = status
	}
	facts[types.UID(name)] = &Facts{Report: report}
	return &ownertree.Branch{Node: &ownertree.Node{Kind: kindOf("Pod"), Name: name, UID: types.UID(name)}, Children: children}
}

func changed(b *ownertree.Branch, change func(*ownertree.Branch)) *ownertree.Branch {
	change(b)
	return b
}

func TestRollUp(t *testing.T) {
	failed := inspect.Status{Status: inspect.Failed}.Severity()
	inProgress := inspect.Status{Status: inspect.InProgress}.Severity()
	for _, tt := range []struct {
		name          string
		build         func(FactsByUID, outcomes) *ownertree.Branch
		status        string
		own, severity int
		worst         int
		cause         string
		causes        int
		reason        string
	}{
		{"well", func(f FactsByUID, _ outcomes) *ownertree.Branch { return object(f, "a", object(f, "b")) },
			inspect.Current, 0, 0, 0, "", 0, "nothing is wrong"},
		{"failed below", func(f FactsByUID, _ outcomes) *ownertree.Branch {
			return object(f, "a", object(f, "b", object(f, "c:Failed")))
		},
			inspect.Current, 0, 0, failed, "c", 1, "the cause is found at any depth"},
		{"explained", func(f FactsByUID, _ outcomes) *ownertree.Branch {
			return object(f, "a", object(f, "b:Failed", object(f, "c:InProgress")))
		},
			inspect.Current, 0, 0, failed, "c", 1, "what something below explains is no cause itself"},
		{"several", func(f FactsByUID, _ outcomes) *ownertree.Branch {
			return object(f, "a", object(f, "b:InProgress"), object(f, "c:Failed"), object(f, "d:Failed"))
		}, inspect.Current, 0, 0, failed, "c", 3, "the worst is the cause, the first of several"},
		{"suspended", func(f FactsByUID, _ outcomes) *ownertree.Branch { return object(f, "a", object(f, "b:Suspended")) },
			inspect.Current, 0, 0, 1, "", 0, "what is suspended is where it should be"},
		{"unreported", func(f FactsByUID, _ outcomes) *ownertree.Branch { return object(f, "a:unreported") },
			inspect.Unknown, SeverityNormal, SeverityNormal, SeverityNormal, "", 0, "a kind without a controller is normal"},
		{"drifted", func(f FactsByUID, _ outcomes) *ownertree.Branch { return object(f, "a", object(f, "b:drifted")) },
			inspect.Current, 0, 0, inProgress, "", 0, "drift is of note, but explains nothing above"},
		{"related", func(f FactsByUID, _ outcomes) *ownertree.Branch {
			return object(f, "a", changed(object(f, "b:Failed"), func(b *ownertree.Branch) { b.Relation = "runs on" }))
		}, inspect.Current, 0, 0, 0, "", 0, "what is related does not count"},
		{"circle", func(f FactsByUID, _ outcomes) *ownertree.Branch {
			return object(f, "a", changed(object(f, "b:Failed"), func(b *ownertree.Branch) { b.Cycle = true }))
		}, inspect.Current, 0, 0, 0, "", 0, "what is above is not below"},
		{"repeated", func(f FactsByUID, _ outcomes) *ownertree.Branch {
			full := object(f, "s", object(f, "p:Failed"))
			return object(f, "a", object(f, "b", full), object(f, "c", &ownertree.Branch{Node: full.Node, Repeated: true}))
		}, inspect.Current, 0, 0, failed, "p", 1, "an object that is drawn twice is one cause"},
		{"missing", func(f FactsByUID, _ outcomes) *ownertree.Branch {
			return changed(object(f, "a"), func(b *ownertree.Branch) { b.Missing = true })
		}, Missing, 0, SeverityDegraded, SeverityDegraded, "", 0, "something refers to it"},
		{"dangling", func(f FactsByUID, o outcomes) *ownertree.Branch {
			o["b"] = ownertree.GCOutcome{Action: ownertree.Deleted}
			return object(f, "a", object(f, "b"))
		}, inspect.Current, 0, 0, SeverityDegraded, "b", 1, "what the garbage collector will delete is a cause"},
		{"loses an owner", func(f FactsByUID, o outcomes) *ownertree.Branch {
			o["b"] = ownertree.GCOutcome{Action: ownertree.ReferencesStripped}
			return object(f, "a", object(f, "b"))
		}, inspect.Current, 0, 0, SeverityDegraded, "", 0, "it is of note, but well: no cause"},
		{"loses an owner later", func(f FactsByUID, o outcomes) *ownertree.Branch {
			o["b"] = ownertree.GCOutcome{Action: ownertree.ReferencesStripped, After: make([]*ownertree.Node, 1)}
			return object(f, "a", object(f, "b"))
		}, inspect.Current, 0, 0, 0, "", 0, "as long as the owner exists, it owns"},
	} {
		facts, gc := FactsByUID{}, outcomes{}
		n := RollUp([]*ownertree.Branch{tt.build(facts, gc)}, gc, facts, nil)[0]
		cause := ""
		if n.Cause != nil {
			cause = n.Cause.Branch.Node.Name
		}
		if n.Status != tt.status || n.OwnSeverity != tt.own || n.Severity != tt.severity || n.WorstSeverity != tt.worst || cause != tt.cause || n.Causes != tt.causes {
			t.Errorf("%s: %s, own %d, severity %d, worst %d, cause %q of %d; want %s, own %d, severity %d, worst %d, cause %q of %d: %s", tt.name,
				n.Status, n.OwnSeverity, n.Severity, n.WorstSeverity, cause, n.Causes,
				tt.status, tt.own, tt.severity, tt.worst, tt.cause, tt.causes, tt.reason)
		}
	}
}

// TestReplaced: pods that have ended are replaced by their owner, unless each new one ends, and so explain nothing.
func TestReplaced(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		reason, owner string
		ages          []time.Duration // of pods that have ended
		want          int             // how many are replaced
	}{
		{"one was evicted", "ReplicaSet", []time.Duration{time.Minute}, 1},
		{"each new one ends", "ReplicaSet", []time.Duration{time.Second, time.Minute, 2 * time.Minute}, 0},
		{"many were evicted long ago", "ReplicaSet", []time.Duration{time.Second, time.Hour, 2 * time.Hour, 3 * time.Hour}, 4},
		{"a Job counts those that have failed", "Job", []time.Duration{time.Minute}, 0},
	} {
		owner := kindOf(tt.owner)
		owner.Group = map[string]string{"ReplicaSet": "apps", "Job": "batch"}[tt.owner]
		n := &StatusNode{Branch: &ownertree.Branch{Node: &ownertree.Node{Kind: owner}}}
		for _, age := range tt.ages {
			pod := &ownertree.Node{Kind: kindOf("Pod"), Created: metav1.NewTime(now.Add(-age))}
			n.Children = append(n.Children, &StatusNode{Branch: &ownertree.Branch{Node: pod}, Facts: &Facts{Ended: true}})
		}
		n.markReplaced()
		replaced := 0
		for _, c := range n.Children {
			if c.Replaced {
				replaced++
			}
		}
		if replaced != tt.want {
			t.Errorf("%s: %d are replaced, want %d", tt.reason, replaced, tt.want)
		}
	}
}

// TestSeverities: the constants are those of package inspect.
func TestSeverities(t *testing.T) {
	if got := (inspect.Status{Status: inspect.Suspended}).Severity(); got != SeverityNormal {
		t.Errorf("the severity of Suspended is %d, SeverityNormal is %d", got, SeverityNormal)
	}
	if got := (inspect.Status{Status: inspect.Degraded}).Severity(); got != SeverityDegraded {
		t.Errorf("the severity of Degraded is %d, SeverityDegraded is %d", got, SeverityDegraded)
	}
}

func TestWalk(t *testing.T) {
	facts := FactsByUID{}
	shared := object(facts, "b")
	tops := RollUp([]*ownertree.Branch{object(facts, "a", shared, object(facts, "c", object(facts, "d"))), shared}, outcomes{}, facts, nil)
	var all, first string
	for level, n := range Walk(tops) {
		all += strings.Repeat("-", level) + n.Branch.Node.Name + " "
	}
	for level, n := range Walk(tops) {
		first += strings.Repeat("-", level) + n.Branch.Node.Name + " "
		if n.Branch.Node.Name == "d" {
			break // a further call of yield would panic
		}
	}
	if all != "a -b -c --d b " || first != "a -b -c --d " {
		t.Errorf("all nodes: %s; until one: %s", all, first)
	}
	if n := len(Each(tops)); n != 4 {
		t.Errorf("%d objects, one of them twice in the tree, want 4", n)
	}
}

func TestUnexplained(t *testing.T) {
	facts := FactsByUID{}
	tops := []*ownertree.Branch{
		object(facts, "a:Failed", object(facts, "b:InProgress"), object(facts, "c:Failed")), object(facts, "d"), object(facts, "e:Failed"),
		{Node: &ownertree.Node{Kind: kindOf("Pod"), Name: "unread", UID: "unread"}},
	}
	var got []string
	for _, n := range unexplained(RollUp(tops, outcomes{}, facts, nil)) {
		got = append(got, n.Name)
	}
	if want := "c e b a"; strings.Join(got, " ") != want {
		t.Errorf("first those that nothing below explains, the worst first, and none that was not read: %v, want %s", got, want)
	}
}

func TestWarnings(t *testing.T) {
	warning := func(reason, message string) ownertree.Event {
		return ownertree.Event{Type: "Warning", Reason: reason, Message: message}
	}
	for _, tt := range []struct {
		reason string
		events []ownertree.Event
		want   string
	}{
		{"none", nil, ""},
		{"what is normal is no warning", []ownertree.Event{{Type: "Normal", Reason: "Scheduled"}}, ""},
		{"of each reason the longest message", []ownertree.Event{warning("Failed", "short"), warning("Failed", "longer"), warning("Failed", "long")}, "Failed longer"},
		{"that a retry is put off explains nothing", []ownertree.Event{warning("BackOff", "b"), warning("Failed", "f")}, "Failed f"},
		{"unless there is nothing else", []ownertree.Event{warning("BackOff", "b")}, "BackOff b"},
		{"the last ones", []ownertree.Event{warning("A", "1"), warning("B", "2"), warning("C", "3")}, "A 1, B 2"},
	} {
		var got []string
		for _, e := range (&Findings{Events: tt.events}).Warnings() {
			got = append(got, e.Reason+" "+e.Message)
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: %v, want %s", tt.reason, got, tt.want)
		}
	}
	if (*Findings)(nil).Warnings() != nil {
		t.Error("nil findings have warnings")
	}
}
