package ownertree

import (
	"strings"
	"testing"
)

// TestFate is of what the garbage collector's test cannot show: what is not known, and what is said.
func TestFate(t *testing.T) {
	for _, tt := range []struct {
		lines  []string
		want   FateAction
		why    string
		reason string
	}{
		{[]string{"B n/o"}, Kept, "", "no owner"},
		{[]string{"B n/o <- A/gone"}, FateUnknown, "not known whether its owner A gone exists", "no live read has confirmed it"},
		{[]string{"B n/o <- Lost/x"}, FateUnknown, "discovery failed", "the owner's kind is not known"},
		{[]string{"B n/o <- Lost/x A/a", "A n/a"}, Kept, "Lost x exists", "another owner is there, whatever becomes of the first"},
		{[]string{"B n/o <- Nothing/x"}, NeverCollected, "does not find the kind Nothing of v1", "no such kind"},
		{[]string{"C o <- A/a", "A n/a"}, NeverCollected, "is in a namespace, and it is not", "upside down"},
		{[]string{"E n/o <- A/gone"}, NeverCollected, "does not watch e", "a kind that cannot be deleted or watched"},
		{[]string{"B n/o <- A/a", "A n/a deleting finalizer=x"}, Deleted, "its owner A a is being deleted", "its owner goes when its finalizer does"},
		{[]string{"B n/o <- A/a", "A n/a deleting finalizer=orphan"}, ReferencesStripped, "is being deleted and orphans", "its owner orphans it"},
		{[]string{"B n/o <- A/a A/b", "A n/a deleting finalizer=orphan", "A n/b deleting"}, FateUnknown, "which comes first", "one orphans it, the other does not"},
		{[]string{"B n/o deleting <- A/gone"}, BeingDeleted, "", "somebody was faster"},
	} {
		g := sketch(t, Scope{}, tt.lines...)
		fate := g.Fate(named(t, g, "o")[0])
		if fate.Action != tt.want || !strings.Contains(fate.Why, tt.why) || tt.why == "" && fate.Why != "" {
			t.Errorf("%s: %s, %q; want %s, %q", tt.reason, fate.Action, fate.Why, tt.want, tt.why)
		}
	}
}

func TestHeld(t *testing.T) {
	g := sketch(t, Scope{}, "A n/own deleting finalizer=foregroundDeletion finalizer=x", "B n/p2 <- A/own!", "B n/p1 <- A/own! A/own!", "B n/p3 <- A/own",
		"B m/stray <- A/own!", "A n/quick deleting", "B n/p4 <- A/quick!")
	hold, ok := g.Held(named(t, g, "own")[0])
	if got := namesOf(hold.Dependents); !ok || got != "stray p1 p2" || strings.Join(hold.Finalizers, " ") != "foregroundDeletion x" {
		t.Errorf("held by %q, %v; want those that block, found by uid in any namespace", got, hold.Finalizers)
	}
	hold, ok = g.Held(named(t, g, "quick")[0])
	if !ok || len(hold.Dependents)+len(hold.Finalizers) > 0 {
		t.Errorf("nothing holds what is not deleted in the foreground: %v", hold)
	}
	if _, ok := g.Held(named(t, g, "p1")[0]); ok {
		t.Error("what nobody deletes is not held")
	}
}
