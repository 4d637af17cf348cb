package tree

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1/schematest"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// treeSchema is the schema of trees.
const treeSchema = "../../../../docs/tree.schema.json"

// rich is a tree in which every field of the document has a value somewhere.
func rich(g *testTree) *ownertree.Branch {
	code, controller := int64(1), true
	pod := g.object("Pod/web-1", status(inspect.Failed, "0/1", "CrashLoopBackOff: exit 1"), deleting("example.com/a"), withOwner(ownertree.OwnerMissing, deletedOutcome),
		func(g *testTree, b *ownertree.Branch, f *treestatus.Facts) {
			f.Message, f.Since, f.Problems = "back-off", &metav1.Time{Time: treeTime}, []string{"status is no map"}
			f.Writer = &fields.Writer{Manager: "kubelet", Operation: "Update", Subresource: "status", Time: f.Since}
			f.Containers = []inspect.Container{{Name: "main", Type: inspect.MainContainer, Image: "nginx", State: "waiting", Reason: "CrashLoopBackOff", Message: "m", ExitCode: &code, LastReason: "Error", Restarts: 3}}
			b.Node.Owners[0].Controller, b.Node.Owners[0].BlockOwnerDeletion, b.Node.Owners[0].Detail = &controller, &controller, "gone"
			b.Truncated = 2
			g.find(b).Lacks = []ownertree.Lack{{Object: &ownertree.Node{Kind: g.kind("Secret"), Namespace: "shop", Name: "s"}, NamedBy: b.Node}}
			g.find(b).Events = []ownertree.Event{{Type: "Warning", Reason: "Failed", Message: "m", Count: 2, First: metav1.Time{Time: treeTime}, Last: metav1.Time{Time: treeTime}, By: "kubelet"}}
		})
	settings := g.object("ConfigMap/settings", relatedBy("mounts"), branch(func(b *ownertree.Branch) { b.Repeated, b.Cycle, b.Beside, b.Missing = true, true, true, true }))
	return g.object("Deployment/web", asked(), behind(4, 3), owning(pod, settings), condition("Ready", 4, 3), func(_ *testTree, _ *ownertree.Branch, f *treestatus.Facts) {
		c := &f.Conditions[0]
		c.Reason, c.Message, c.Severity, c.Since, c.Polarity, c.Guessed = "R", "m", "Warning", &metav1.Time{Time: treeTime}, inspect.Positive, true
		c.Of, c.Superseded, f.JudgedBy = "listener https", true, inspect.BuiltIn
	})
}

func TestTreeDocumentFollowsItsSchema(t *testing.T) {
	g := newTestTree()
	missing := []cluster.Incomplete{{Group: "g", Version: "v1", Resource: "things", Namespace: "shop", Reason: "Forbidden", Message: "no"}}
	for name, d := range map[string]any{
		"rich":    &v1alpha1.OwnerTree{APIVersion: v1alpha1.APIVersion, Kind: "OwnerTree", Trees: treeObjects(g.nodes(rich(g)), g), Incomplete: missing},
		"nothing": newDocument(&view{}),
		"preview": (&preview{result: &ownertree.Preview{
			Policy: metav1.DeletePropagationForeground, Deleted: []*ownertree.Node{g.object("Pod/a").Node}, Orphaned: []*ownertree.Node{g.object("Pod/b").Node},
			Kept: []*ownertree.Node{g.object("Pod/c").Node}, Incomplete: missing,
			Blocked: []ownertree.DeletionBlockers{{Node: g.object("Pod/a").Node, Finalizers: []string{"f"}, Dependents: []*ownertree.Node{g.object("Pod/d").Node}, Undiscovered: missing, Perhaps: true}},
			Waits: []ownertree.DeletionBlockers{{Node: g.object("Pod/a").Node, Removals: []ownertree.FinalizerRemoval{
				{Finalizer: "f", By: "b", Once: "once", Certain: true}, {Finalizer: "g", By: "b", Once: "once", Users: []*ownertree.Node{g.object("Pod/e").Node}},
			}}},
			Late: []*ownertree.Node{g.object("Pod/a").Node},
		}, claims: []ownertree.ClaimOutcome{
			{Claim: g.object("PersistentVolumeClaim/c").Node, Set: g.object("StatefulSet/s").Node, WhenDeleted: "Retain"},
			{Claim: g.object("PersistentVolumeClaim/d").Node, Deleted: true, Volume: &ownertree.Node{Kind: g.kind("PersistentVolume"), Name: "v"}, Reclaim: "Delete"},
		}}).document(),
		"going": newDocument(&view{collector: g, nodes: g.nodes(g.object("Pod/f", withOwner(ownertree.Solid, ownertree.GCOutcome{
			Action: ownertree.DeletedWithOwner, After: []*ownertree.Node{g.object("Pod/a").Node}, Finalizers: []string{"f"},
		})))}),
	} {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.Check(treeSchema, bytes.NewReader(text)); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// TestSchemaIsStrict makes sure that the schema refuses what it does not describe: else it would be no promise.
func TestSchemaIsStrict(t *testing.T) {
	g := newTestTree()
	valid, err := json.Marshal(newDocument(&view{nodes: g.nodes(rich(g)), collector: g}))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, updated, reason string }{
		{`"kind":"OwnerTree"`, `"kind":"Tree"`, "another kind"},
		{`"status":"Failed"`, `"status":"Broken"`, "a status that there is not"},
		{`"asked":true`, `"wanted":true`, "a field that is not described"},
		{`"type":"Ready"`, `"tpye":"Ready"`, "a condition without a type"},
		{`"generation":4`, `"generation":"4"`, "text for a number"},
		{`"2026-03-04T11:00:00Z"`, `"yesterday"`, "no time"},
		{`"verdict":"OwnerMissing"`, `"verdict":"Gone"`, "a verdict that there is not"},
	} {
		broken := strings.Replace(string(valid), tt.old, tt.updated, 1)
		if broken == string(valid) {
			t.Errorf("%s: the document has no %s", tt.reason, tt.old)
		}
		if schematest.Check(treeSchema, strings.NewReader(broken)) == nil {
			t.Errorf("the schema allows %s", tt.reason)
		}
	}
}

// TestSchemaDescribesNoMore compares the fields that the schema describes for an object with those of the rich tree, so
// that none is described that is never written.
func TestSchemaDescribesNoMore(t *testing.T) {
	g := newTestTree()
	text, err := json.Marshal(treeObjects(g.nodes(rich(g)), g))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(treeSchema)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	for _, def := range []string{"treeObject", "condition", "container", "owner", "event"} {
		for field := range schema.Defs[def].Properties {
			if !strings.Contains(string(text), `"`+field+`":`) {
				t.Errorf("%s has no field %s in a tree that has everything", def, field)
			}
		}
	}
}

func TestTreeDocument(t *testing.T) {
	g := newTestTree()
	got := treeObjects(g.nodes(g.object("Deployment/web", asked(), status(inspect.InProgress, "0/1", "0 of 1 pods ready"), owning(g.object("Pod/x", status(inspect.Failed, "0/1", "Error: 1"))))), g)[0]
	if got.Summary != "0 of 1 pods ready: Error on x" || got.Reason != "0 of 1 pods ready" || !got.NotReady || !got.Asked || len(got.Children) != 1 {
		t.Errorf("the document has the reason of the object, and beside it what the tree shows: %+v", got)
	}
	want := v1alpha1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "Deployment-web"}
	if diff := cmp.Diff(want, got.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.GarbageCollector != nil || got.HeldBy != nil {
		t.Errorf("an object that stays needs no outcome: %+v, %+v", got.GarbageCollector, got.HeldBy)
	}
}
