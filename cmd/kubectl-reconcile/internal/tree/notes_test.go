package tree

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

func TestNotes(t *testing.T) {
	stripped := ownertree.GCOutcome{Action: ownertree.ReferencesStripped, Stripped: []metav1.OwnerReference{{Name: "old"}}}
	unknown := ownertree.GCOutcome{Action: ownertree.GCUnknown, Why: "it is not known whether its owner Deployment old exists"}
	for _, tt := range []struct {
		name   string
		build  objectOption
		want   []string
		reason string
	}{
		{"well", asked(), nil, "there is nothing to say"},
		{"behind", behind(4, 3), []string{"drift: ConfigMap/a has generation 4, its controller has seen 3 (for 10m)"}, "which generation, and since when"},
		{"condition behind", condition("Ready", 4, 2), []string{"drift: ConfigMap/a has generation 4, its condition Ready=True is of 2"}, "a condition may be older than the object's status"},
		{"both behind alike", func(g *testTree, b *ownertree.Branch, f *treestatus.Facts) {
			condition("Ready", 4, 3)(g, b, f)
			behind(4, 3)(g, b, f)
		}, []string{"drift: ConfigMap/a has generation 4, its controller has seen 3 (for 10m)"}, "once is enough"},
		{"no owner", withOwner(ownertree.OwnerMissing, deletedOutcome),
			[]string{"dangling: ConfigMap/a: owner Deployment/old (uid 3f2a7c11…) is gone; the garbage collector will delete it"}, "what is the matter, and what will happen"},
		{"orphaning", withOwner(ownertree.OtherUID, ownertree.GCOutcome{Action: ownertree.Deleted, Policy: metav1.DeletePropagationOrphan}),
			[]string{"dangling: ConfigMap/a: owner Deployment/old (uid 3f2a7c11…) is gone, another has its name; the garbage collector will delete it with the policy orphan"}, "a finalizer makes it another policy"},
		{"another owner", withOwner(ownertree.OtherNamespace, stripped),
			[]string{"dangling: ConfigMap/a: owner Deployment/old (uid 3f2a7c11…) does not count; the garbage collector will remove the reference and keep it"}, "it has another owner"},
		{"owner unknown", withOwner(ownertree.Unknown, unknown),
			[]string{"unknown owner: ConfigMap/a: owner Deployment/old (uid 3f2a7c11…) could not be checked; what the garbage collector will do is not known"}, "not known is not missing"},
		{"kind unknown", withOwner(ownertree.UnmappableKind, ownertree.GCOutcome{Action: ownertree.NeverCollected, Why: "it tries again"}),
			[]string{"unknown owner: ConfigMap/a: owner Deployment/old (uid 3f2a7c11…) is of a kind that is not served; it tries again"}, "the garbage collector leaves it alone"},
		{"owner going", ownedByDeleting("Deployment/web"), nil, "the owner is there, if not for long"},
		{"one owner going, another gone", func(g *testTree, b *ownertree.Branch, f *treestatus.Facts) {
			ownedByDeleting("Deployment/web")(g, b, f)
			withOwner(ownertree.OwnerMissing, g.outcomes[b.Node.UID])(g, b, f)
		}, []string{"dangling: ConfigMap/a: owner Deployment/old (uid 3f2a7c11…) is gone; the garbage collector will delete it"}, "one of them is not there"},
		{"many owners", func(g *testTree, b *ownertree.Branch, f *treestatus.Facts) {
			for range cli.MaxNames + 3 {
				withOwner(ownertree.OwnerMissing, deletedOutcome)(g, b, f)
			}
		}, []string{
			"dangling: ConfigMap/a: " + strings.Repeat("owner Deployment/old (uid 3f2a7c11…) is gone, ", cli.MaxNames-1) +
				"owner Deployment/old (uid 3f2a7c11…) is gone and 3 more; the garbage collector will delete it",
		}, "a few are named, the others counted"},
		{"to be held", withOwner(ownertree.OwnerMissing, ownertree.GCOutcome{Action: ownertree.Deleted, Policy: metav1.DeletePropagationBackground, Finalizers: []string{"x/y"}}),
			[]string{"dangling: ConfigMap/a: owner Deployment/old (uid 3f2a7c11…) is gone; the garbage collector will delete it; then it is held by the finalizer x/y, which its controller must remove"},
			"being deleted is not being gone"},
		{"going with its owner", withOwner(ownertree.Solid, ownertree.GCOutcome{Action: ownertree.DeletedWithOwner, Why: "it goes when its owner Deployment old has gone"}),
			nil, "its owner is there"},
		{"one owner gone, another going", withOwner(ownertree.OwnerMissing, ownertree.GCOutcome{Action: ownertree.DeletedWithOwner, Why: "it goes when its owner Deployment new has gone"}),
			[]string{"dangling: ConfigMap/a: owner Deployment/old (uid 3f2a7c11…) is gone; it goes when its owner Deployment new has gone"}, "a reference is to nothing"},
		{"reference taken away later", withOwner(ownertree.Solid, ownertree.GCOutcome{Action: ownertree.ReferencesStripped, After: make([]*ownertree.Node, 1)}), nil, "as long as the owner is there, it owns"},
		{"owner gone, and being deleted", func(g *testTree, b *ownertree.Branch, f *treestatus.Facts) {
			withOwner(ownertree.OwnerMissing, ownertree.GCOutcome{Action: ownertree.BeingDeleted})(g, b, f)
			deleting("x/y")(g, b, f)
		}, []string{
			"dangling: ConfigMap/a: owner Deployment/old (uid 3f2a7c11…) is gone; it is being deleted",
			"deleting: ConfigMap/a for 10m: held by the finalizer x/y, which its controller must remove",
		}, "it is certain that the owner is gone, whatever becomes of the object"},
		{"deleting", deleting("example.com/a"), []string{"deleting: ConfigMap/a for 10m: held by the finalizer example.com/a, which its controller must remove"}, "who must do something"},
		{"finalizers", deleting("b", "a"), []string{"deleting: ConfigMap/a for 10m: held by the finalizers b, a, which their controllers must remove"}, "several"},
		{"deleting by itself", deleting(), []string{"deleting: ConfigMap/a for 10m: nothing holds it up"}, "such as a pod that is given time"},
		{"missing", func(g *testTree, b *ownertree.Branch, f *treestatus.Facts) {
			needing("StorageClass/fast", "PersistentVolumeClaim/data")(g, b, f)
			needing("Secret/s", "")(g, b, f)
		}, []string{
			"missing: ConfigMap/a: needs StorageClass/fast, which does not exist; a PersistentVolumeClaim names it",
			"missing: ConfigMap/a: needs Secret/s, which does not exist",
		}, "what names it, unless that is the object"},
		{"warnings", func(g *testTree, b *ownertree.Branch, f *treestatus.Facts) {
			reported("Warning", "BackOff", "Back-off pulling image", 9)(g, b, f)
			reported("Warning", "Failed", "Error: ErrImagePull", 3)(g, b, f)
			reported("Normal", "Scheduled", "assigned to node-1", 1)(g, b, f)
			reported("Warning", "Failed", "Failed to pull image: not\x1b found", 2)(g, b, f)
		}, []string{"warning: ConfigMap/a: Failed (2 times, 5m ago): Failed to pull image: not^[ found"}, "of each reason the longest message; that something is put off explains nothing"},
		{"only that it is put off", reported("Warning", "BackOff", "Back-off restarting", 1), []string{"warning: ConfigMap/a: BackOff (5m ago): Back-off restarting"}, "unless there is nothing else"},
		{"a warning that repeats the object's message", func(g *testTree, b *ownertree.Branch, f *treestatus.Facts) {
			f.Message = "0/3 nodes are available: no room"
			reported("Warning", "FailedScheduling", "0/3 nodes are available: no room", 3)(g, b, f)
		}, nil, "nothing is said twice"},
		{"a warning of what is missing", func(g *testTree, b *ownertree.Branch, f *treestatus.Facts) {
			needing("StorageClass/fast", "")(g, b, f)
			reported("Warning", "ProvisioningFailed", `storageclass.storage.k8s.io "fast" not found`, 3)(g, b, f)
		}, []string{"missing: ConfigMap/a: needs StorageClass/fast, which does not exist"}, "nor in other words"},
		{"many warnings", func(g *testTree, b *ownertree.Branch, f *treestatus.Facts) {
			for _, reason := range []string{"A", "B", "C"} {
				reported("Warning", reason, "", 1)(g, b, f)
			}
		}, []string{"warning: ConfigMap/a: A (5m ago)", "warning: ConfigMap/a: B (5m ago)"}, "the last ones are shown"},
		{"problem", func(_ *testTree, _ *ownertree.Branch, f *treestatus.Facts) {
			f.Problems = []string{"status is a number\x1b, not a map"}
		},
			[]string{"problem: ConfigMap/a: status is a number^[, not a map"}, "escaped: it comes from the cluster"},
	} {
		g := newTestTree()
		nodes := g.nodes(g.object("ConfigMap/a", tt.build))
		if diff := cmp.Diff(tt.want, noteMaker{items: itemMaker{now: treeTime}, collector: g}.all(nodes)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, tt.reason, diff)
		}
	}
}

// condition is Ready=True of an older generation than the object's.
func condition(name string, generation, observed int64) objectOption {
	return func(_ *testTree, b *ownertree.Branch, f *treestatus.Facts) {
		b.Node.Generation, f.Drift = generation, inspect.Drift{Generation: generation, Observed: &generation, State: inspect.InSync}
		f.Conditions = []inspect.Condition{{Type: name, Status: "True", Generation: &observed, Drift: inspect.Behind}}
	}
}

func TestNotesAreBounded(t *testing.T) {
	g := newTestTree()
	var all []*ownertree.Branch
	for i := range 25 {
		all = append(all, g.object(fmt.Sprintf("ConfigMap/%02d", i), behind(2, 1)))
	}
	all = append(all, all[0]) // drawn twice, it is named once
	got := noteMaker{items: itemMaker{now: treeTime}, collector: g, namespaces: true}.all(g.nodes(all...))
	if len(got) != cli.MaxNotes+1 || got[cli.MaxNotes] != "drift: and 15 more; -o json has all" {
		t.Errorf("25 objects make %d lines, of which the last is %q", len(got), got[len(got)-1])
	}
	if want := "drift: shop ConfigMap/00 has generation 2, "; !strings.HasPrefix(got[0], want) {
		t.Errorf("of several namespaces the object's is missing: %q", got[0])
	}
}

func TestNotesOnATerminal(t *testing.T) {
	g := newTestTree()
	p := render.NewPalette(&bytes.Buffer{}, render.ColorAlways, os.Getenv)
	m := noteMaker{items: itemMaker{now: treeTime}, collector: g, palette: p, width: 40}
	got := m.all(g.nodes(g.object("ConfigMap/a", behind(4, 3))))
	want := []string{p.Change("drift:") + " ConfigMap/a has generation 4, its\n  controller has seen 3 (for 10m)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines are broken between words where the terminal ends (-want +got):\n%s", diff)
	}
}

// TestWarningsBesideEvents: where Events are drawn a Warning is not repeated, but on a terminal, which cuts them.
func TestWarningsBesideEvents(t *testing.T) {
	for _, tt := range []struct {
		with   objectOption
		width  int
		want   []string
		reason string
	}{
		{status(inspect.InProgress, "0/1", ""), 0, nil, "in a pipe the Event has its whole message"},
		{status(inspect.InProgress, "0/1", ""), 80, []string{"warning: Pod/a: Failed (5m ago): no such image"}, "on a terminal it may be cut"},
		{status(inspect.Current, "1/1", ""), 80, nil, "of what is Current it may be of the past"},
	} {
		g := newTestTree()
		nodes := g.nodes(g.object("Pod/a", tt.with, reported("Warning", "Failed", "no such image", 1)))
		m := noteMaker{items: itemMaker{now: treeTime, events: true}, collector: g, width: tt.width}
		if diff := cmp.Diff(tt.want, m.all(nodes)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestBlockersText(t *testing.T) {
	g := newTestTree()
	dependents := []*ownertree.Node{g.object("Pod/a").Node, g.object("Pod/b").Node}
	pod := g.object("Pod/c").Node
	foreground := ownertree.FinalizerRemoval{Finalizer: metav1.FinalizerDeleteDependents, By: "m", Once: "once its dependents have gone", Certain: true}
	for _, tt := range []struct {
		blockers ownertree.DeletionBlockers
		known    string
		want     string
		reason   string
	}{
		{ownertree.DeletionBlockers{}, "", ": nothing holds it up", "it goes by itself"},
		{ownertree.DeletionBlockers{Node: pod}, "", ": waits for its kubelet to end its containers", "a pod is given time, or its node is gone"},
		{ownertree.DeletionBlockers{}, "discovery failed: g/v1", ": discovery failed: g/v1", "a namespace reports itself why not"},
		{
			ownertree.DeletionBlockers{Removals: []ownertree.FinalizerRemoval{{Finalizer: "kubernetes", By: "m", Once: "once all that is in it has gone", Certain: true}}}, "some are left",
			": m removes the finalizer kubernetes once all that is in it has gone; some are left", "a namespace, and who removes its finalizer",
		},
		{
			ownertree.DeletionBlockers{Removals: []ownertree.FinalizerRemoval{foreground}, Unblocked: true}, "",
			": no dependent blocks it; m, if it runs, removes the finalizer foregroundDeletion", "nothing is left to wait for, and the finalizer is there",
		},
		{
			ownertree.DeletionBlockers{Removals: []ownertree.FinalizerRemoval{foreground}}, "",
			": m removes the finalizer foregroundDeletion once its dependents have gone", "its dependents are not known",
		},
		{
			ownertree.DeletionBlockers{Removals: []ownertree.FinalizerRemoval{{Finalizer: "orphan", By: "m", Once: "once its dependents have lost it", Certain: true}}}, "",
			": m removes the finalizer orphan once its dependents have lost it", "the other finalizer of the garbage collector",
		},
		{
			ownertree.DeletionBlockers{Node: pod, Removals: []ownertree.FinalizerRemoval{foreground}, Dependents: []*ownertree.Node{pod}}, "",
			": waits for itself: it is its own owner, and blocks itself", "a circle of one",
		},
		{
			ownertree.DeletionBlockers{Undiscovered: []cluster.Incomplete{{Group: "g", Version: "v1"}}}, "discovery failed: g/v1",
			": no namespace goes while the kinds of g/v1 are not known", "a namespace, and an API that does not answer",
		},
		{
			ownertree.DeletionBlockers{Removals: []ownertree.FinalizerRemoval{{Finalizer: "a/b", By: "x", Once: "once it rains"}, {Finalizer: "c/d", By: "m", Once: "soon", Certain: true}}}, "",
			": x removes the finalizer a/b once it rains; m removes the finalizer c/d soon", "one under a condition, one that is certain to go, and still there",
		},
		{ownertree.DeletionBlockers{Removals: []ownertree.FinalizerRemoval{foreground}, Dependents: dependents[:1]}, "", ": waits for a dependent that blocks it: Pod/a", "foreground deletion"},
		{ownertree.DeletionBlockers{Finalizers: []string{"x/y"}, Removals: []ownertree.FinalizerRemoval{foreground}, Dependents: dependents}, "", ": held by the finalizer x/y, which its controller must remove; waits for dependents that block it: Pod/a, Pod/b", "both"},
	} {
		if tt.blockers.Node == nil {
			tt.blockers.Node = g.object("ConfigMap/a").Node
		}
		if got := blockersText(tt.blockers, tt.known, nil); got != tt.want {
			t.Errorf("%q, want %q: %s", got, tt.want, tt.reason)
		}
	}
}

func TestTogether(t *testing.T) {
	for _, tt := range []struct {
		in, want []string
		reason   string
	}{
		{nil, []string{}, "nothing to say"},
		{[]string{"Pod/a: gone", "Pod/b: gone", "Pod/c: kept"}, []string{"Pod/a, Pod/b: gone", "Pod/c: kept"}, "the same of two is said once"},
		{[]string{"Pod/a: owner X: gone", "Pod/b: owner X: gone"}, []string{"Pod/a, Pod/b: owner X: gone"}, "the object ends at the first colon"},
		{[]string{"Pod/a has drifted", "Pod/b has drifted"}, []string{"Pod/a has drifted", "Pod/b has drifted"}, "sentences stay as they are"},
	} {
		if diff := cmp.Diff(tt.want, together(tt.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestEventMessage(t *testing.T) {
	const quota = "exceeded quota: q, requested: pods=1"
	for _, tt := range []struct{ reason, message, want string }{
		{"combined, and of an object that could not be created", `(combined from similar events): Error creating: pods "web-x" is forbidden: ` + quota, quota},
		{"one alone", `Error creating: pods "web-x" is forbidden: ` + quota, quota},
		{"another stays as it is", "Back-off pulling image", "Back-off pulling image"},
	} {
		if got := eventMessage(tt.message); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}
