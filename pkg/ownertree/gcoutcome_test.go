package ownertree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// TestFate is of what the garbage collector's test cannot show: what is not known, and what is said.
func TestFate(t *testing.T) {
	for _, tt := range []struct {
		lines  []string
		want   GCAction
		why    string
		reason string
	}{
		{[]string{"B n/o"}, Kept, "", "no owner"},
		{[]string{"B n/o <- A/gone"}, GCUnknown, "not known whether its owner A gone exists", "no live read has confirmed it"},
		{[]string{"B n/o <- Lost/x"}, GCUnknown, "discovery failed", "the owner's kind is not known"},
		{[]string{"B n/o <- Lost/x A/a", "A n/a"}, Kept, "Lost x exists", "another owner is there, whatever becomes of the first"},
		{[]string{"B n/o <- Nothing/x"}, NeverCollected, "does not find the kind Nothing of v1", "no such kind"},
		{[]string{"C o <- A/a", "A n/a"}, NeverCollected, "so the garbage collector never deletes it", "upside down"},
		{[]string{"E n/o <- A/gone"}, NeverCollected, "does not watch e", "a kind that cannot be deleted or watched"},
		{[]string{"B n/o <- A/a", "A n/a deleting finalizer=x"}, DeletedWithOwner, "it goes when its owner A a has gone", "its owner goes when its finalizer does"},
		{
			[]string{"B n/o <- A/a! A/gone:gone", "A n/a deleting finalizer=x", "A n/gone:other"}, GCUnknown, "whether its owner A gone exists",
			"of a second owner nothing is confirmed",
		},
		{
			[]string{"B n/o <- A/a!", "A n/a deleting finalizer=foregroundDeletion finalizer=x"}, Deleted, "its owner A a is being deleted",
			"its owner waits for it",
		},
		{
			[]string{"B n/o <- A/w! A/a", "A n/w deleting finalizer=foregroundDeletion", "A n/a deleting finalizer=x"}, DeletedWithOwner,
			"it goes when its owner A a has gone; before, it loses its reference to A w", "one waits for it, another is there",
		},
		{
			[]string{"B n/o <- A/a A/b", "A n/a deleting finalizer=x", "A n/b"}, ReferencesStripped, "its owner A a is being deleted",
			"another owner keeps it",
		},
		{[]string{"B n/o <- A/a", "A n/a deleting finalizer=orphan"}, ReferencesStripped, "is being deleted and orphans", "its owner orphans it"},
		{[]string{"B n/o <- A/a A/b", "A n/a deleting finalizer=orphan", "A n/b deleting"}, GCUnknown, "which comes first", "one orphans it, the other does not"},
		{[]string{"B n/o deleting <- A/gone"}, BeingDeleted, "", "it was deleted before"},
	} {
		g := sketch(t, Scope{}, tt.lines...)
		fate := g.GCOutcome(named(t, g, "o")[0])
		if fate.Action != tt.want || !strings.Contains(fate.Why, tt.why) || tt.why == "" && fate.Why != "" {
			t.Errorf("%s: %s, %q; want %s, %q", tt.reason, fate.Action, fate.Why, tt.want, tt.why)
		}
	}
}

func TestHeld(t *testing.T) {
	g := sketch(t, Scope{}, "A n/own deleting finalizer=foregroundDeletion finalizer=x", "B n/p2 <- A/own!", "B n/p1 <- A/own! A/own!", "B n/p3 <- A/own",
		"B m/stray <- A/own!", "A n/quick deleting", "B n/p4 <- A/quick!")
	hold, ok := g.Blockers(named(t, g, "own")[0])
	if got := namesOf(hold.Dependents); !ok || got != "stray p1 p2" {
		t.Errorf("held by %q; want those that block, found by uid in any namespace", got)
	}
	if len(hold.Removals) != 1 || hold.Removals[0].Finalizer != "foregroundDeletion" || strings.Join(hold.Finalizers, " ") != "x" {
		t.Errorf("finalizers %v, released %v: want the collector's own apart", hold.Finalizers, hold.Removals)
	}
	hold, ok = g.Blockers(named(t, g, "quick")[0])
	if !ok || len(hold.Dependents)+len(hold.Finalizers) > 0 {
		t.Errorf("nothing holds what is not deleted in the foreground: %v", hold)
	}
	if _, ok := g.Blockers(named(t, g, "p1")[0]); ok {
		t.Error("what is not deleted is not held")
	}
}

func TestHeldUnblocked(t *testing.T) {
	unread := []cluster.Incomplete{{Resource: "bs", Namespace: "n", Reason: cluster.ReasonForbidden}}
	for _, tt := range []struct {
		reason     string
		scope      Scope
		lines      []string
		incomplete []cluster.Incomplete
		want       bool
	}{
		{"no dependent at all", Scope{}, []string{"A n/o deleting finalizer=foregroundDeletion"}, nil, true},
		{"one that does not block", Scope{}, []string{"A n/o deleting finalizer=foregroundDeletion", "B n/p <- A/o"}, nil, true},
		{"one that blocks", Scope{}, []string{"A n/o deleting finalizer=foregroundDeletion", "B n/p <- A/o!"}, nil, false},
		{"itself", Scope{}, []string{"A n/o deleting finalizer=foregroundDeletion <- A/o!"}, nil, false},
		{"dependents were not listed", Scope{Nothing: true}, []string{"A n/o deleting finalizer=foregroundDeletion"}, nil, false},
		{"not all kinds could be listed", Scope{}, []string{"A n/o deleting finalizer=foregroundDeletion"}, unread, false},
		{"no foreground deletion", Scope{}, []string{"A n/o deleting finalizer=orphan"}, nil, false},
	} {
		g := sketch(t, tt.scope, tt.lines...)
		g.missing(tt.incomplete)
		if hold, _ := g.Blockers(named(t, g, "o")[0]); hold.Unblocked != tt.want {
			t.Errorf("%s: unblocked is %t, want %t", tt.reason, hold.Unblocked, tt.want)
		}
	}
}

// TestFateAfter: what is said of when, and of finalizers.
func TestFateAfter(t *testing.T) {
	const held = "A n/held deleting finalizer=x"
	for _, tt := range []struct {
		reason                      string
		lines                       []string
		after, finalizers, stripped string
		policy                      metav1.DeletionPropagation
	}{
		{"its owner is there", []string{"B n/o <- A/held", held}, "held", "", "", metav1.DeletePropagationBackground},
		{"both are", []string{"B n/o <- A/held A/two", held, "A n/two deleting"}, "held two", "", "", metav1.DeletePropagationBackground},
		{"one waits for it, and has to let it go", []string{"B n/o <- A/w A/held", "B n/below <- B/o", "A n/w deleting finalizer=foregroundDeletion", held}, "held", "", "w", metav1.DeletePropagationBackground},
		{"one waits for it, and nothing keeps it", []string{"B n/o <- A/w", "B n/below <- B/o", "A n/w deleting finalizer=foregroundDeletion"}, "", "", "", metav1.DeletePropagationForeground},
		{"its own finalizers hold it then", []string{"B n/o <- A/held finalizer=y finalizer=orphan", held}, "held", "y", "", metav1.DeletePropagationOrphan},
		{"a reference is taken away later", []string{"B n/o <- A/held A/stays", held, "A n/stays"}, "held", "", "held", ""},
		{"and at once, if the owner waits", []string{"B n/o <- A/w A/stays", "A n/w deleting finalizer=foregroundDeletion", "A n/stays"}, "", "", "w", ""},
	} {
		g := sketch(t, Scope{}, tt.lines...)
		fate := g.GCOutcome(named(t, g, "o")[0])
		var stripped []string
		for _, ref := range fate.Stripped {
			stripped = append(stripped, ref.Name)
		}
		got := []string{namesOf(fate.After), strings.Join(fate.Finalizers, " "), strings.Join(stripped, " "), string(fate.Policy)}
		if diff := cmp.Diff([]string{tt.after, tt.finalizers, tt.stripped, string(tt.policy)}, got); diff != "" {
			t.Errorf("%s: %s, after, finalizers, stripped and policy (-want +got):\n%s", tt.reason, fate.Action, diff)
		}
	}
}
