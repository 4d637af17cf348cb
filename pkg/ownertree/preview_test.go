package ownertree_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// deletion is a row of TestPreviewComesTrue: objects in a namespace of their own, one of which is deleted.
type deletion struct {
	reason string
	policy metav1.DeletionPropagation
	// objects are ConfigMaps, as "name < owner! other" for one with two owners, the first of which it blocks. Words
	// with a colon are finalizers. The first is the one to delete.
	objects []string
	want    outcome
}

// outcome holds names.
type outcome struct {
	Deleted, Orphaned, Kept, Stuck, Unknown []string
	// Held are as "name: finalizer dependent".
	Held []string
	// Late stay until something held has gone.
	Late []string
}

var deletions = []deletion{
	{
		"alone", background, []string{"top"}, outcome{Deleted: []string{"top"}},
	},
	{
		"all that is below goes", background, []string{"top", "middle < top", "bottom < middle"},
		outcome{Deleted: []string{"bottom", "middle", "top"}},
	},
	{
		"in the foreground the same goes", foreground, []string{"top", "middle < top!", "bottom < middle!"},
		outcome{Deleted: []string{"bottom", "middle", "top"}},
	},
	{
		"orphans stay, with what they own", orphan, []string{"top", "middle < top", "bottom < middle"},
		outcome{Deleted: []string{"top"}, Orphaned: []string{"middle"}},
	},
	{
		"another owner keeps its dependent", background, []string{"top", "other", "shared < top other", "mine < top"},
		outcome{Deleted: []string{"mine", "top"}, Kept: []string{"shared"}},
	},
	{
		"in the foreground too: it loses the reference that blocks", foreground, []string{"top", "other", "shared < top! other"},
		outcome{Deleted: []string{"top"}, Kept: []string{"shared"}},
	},
	{
		"both owners go", background, []string{"top", "other < top", "shared < top other"},
		outcome{Deleted: []string{"other", "shared", "top"}},
	},
	{
		"a finalizer of another controller holds what has it, and not those above it", background, []string{"top", "held < top x:example.com/wait"},
		outcome{Deleted: []string{"held", "top"}, Held: []string{"held: example.com/wait"}},
	},
	{
		"in the foreground it holds those above it as well", foreground, []string{"top", "middle < top!", "held < middle! x:example.com/wait", "free < top"},
		outcome{Deleted: []string{"free", "held", "middle", "top"}, Held: []string{"held: example.com/wait", "middle: held", "top: middle"}},
	},
	{
		"unless the reference does not block", foreground, []string{"top", "held < top x:example.com/wait"},
		outcome{Deleted: []string{"held", "top"}, Held: []string{"held: example.com/wait"}},
	},
	{
		"a finalizer of the object itself: its dependents wait with it", background, []string{"top x:example.com/wait", "below < top"},
		outcome{Deleted: []string{"below", "top"}, Held: []string{"top: example.com/wait"}, Late: []string{"below"}},
	},
	{
		"and so does what is below these", background, []string{"top x:example.com/wait", "below < top", "bottom < below", "free < top2", "top2"},
		outcome{Deleted: []string{"below", "bottom", "top"}, Held: []string{"top: example.com/wait"}, Late: []string{"below", "bottom"}},
	},
	{
		"in the foreground they go before it", foreground, []string{"top x:example.com/wait", "below < top!", "bottom < below!"},
		outcome{Deleted: []string{"below", "bottom", "top"}, Held: []string{"top: example.com/wait"}},
	},
	{
		"orphans do not wait", orphan, []string{"top x:example.com/wait", "below < top"},
		outcome{Deleted: []string{"top"}, Orphaned: []string{"below"}, Held: []string{"top: example.com/wait"}},
	},
	{
		"one that is held itself is not deleted before", background, []string{"top x:example.com/wait", "below < top x:example.com/too"},
		outcome{Deleted: []string{"below", "top"}, Held: []string{"below: example.com/too", "top: example.com/wait"}, Late: []string{"below"}},
	},
	{
		"a dependent that is to orphan its own", background, []string{"top", "middle < top x:orphan", "bottom < middle"},
		outcome{Deleted: []string{"middle", "top"}, Orphaned: []string{"bottom"}},
	},
	{
		"an owner of no kind keeps a dependent forever", background, []string{"top", "stuck < top ?"},
		outcome{Deleted: []string{"top"}, Stuck: []string{"stuck"}},
	},
	{
		"and holds up its owner, if it blocks that", foreground, []string{"top", "stuck < top! ?"},
		outcome{Deleted: []string{"top"}, Stuck: []string{"stuck"}, Held: []string{"top: stuck"}},
	},
	{
		"what goes in any case is not of the deletion", background, []string{"top", "lost < absent", "below < lost top"},
		outcome{Deleted: []string{"below", "top"}},
	},
	{
		"a circle goes as a whole", background, []string{"left < right", "right < left", "below < right"},
		outcome{Deleted: []string{"below", "left", "right"}},
	},
	{
		"of a circle in the foreground nothing waits for itself", foreground, []string{"left < right!", "right < left!"},
		outcome{Deleted: []string{"left", "right"}},
	},
	{
		"what owns itself, and blocks that, waits for itself in the foreground", foreground, []string{"top < top!", "below < top!"},
		outcome{Deleted: []string{"below", "top"}, Held: []string{"top: top"}},
	},
	{
		"in the background it goes at once", background, []string{"top < top!"},
		outcome{Deleted: []string{"top"}},
	},
	{
		"and orphaning takes its own reference away", orphan, []string{"top < top!"},
		outcome{Deleted: []string{"top"}},
	},
	{
		"a reference that does not block holds up nothing", foreground, []string{"top < top"},
		outcome{Deleted: []string{"top"}},
	},
	{
		"of another's dependent that owns itself only the other goes", foreground, []string{"top", "self < top! self!"},
		outcome{Deleted: []string{"top"}, Kept: []string{"self"}},
	},
}

// TestPreviewComesTrue foretells deletions, lets the real garbage collector do them, and compares.
func TestPreviewComesTrue(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	made := make([]map[string]*unstructured.Unstructured, len(deletions))
	for i, d := range deletions {
		made[i] = s.family(fmt.Sprintf("ns-%d", i), d.objects)
	}
	s.comparePreviews(made)
	s.collectGarbage()
	// A collector that begins when an owner waits already does not look at dependents that do not block it.
	marker := s.configMap("default", "marker", nowhere("v1", "ConfigMap", "absent"))
	s.eventually("the collector knows all objects", func() bool { return s.get(marker) == nil })
	for i, d := range deletions {
		s.delete(made[i][first(d.objects)], d.policy)
	}
	for i, d := range deletions {
		s.checkAfter(d, made[i])
	}
	// What is held is looked at again when the collector has handled something that came later.
	last := s.configMap("default", "last", nowhere("v1", "ConfigMap", "absent"))
	s.eventually("the last object is collected", func() bool { return s.get(last) == nil })
	for i, d := range deletions {
		for _, h := range d.want.Held {
			name, _, _ := strings.Cut(h, ":")
			if s.get(made[i][name]) == nil {
				s.Errorf("%s: %s is gone, and should be held", d.reason, name)
			}
		}
	}
	if kinds := s.kinds().Incomplete(); len(kinds) > 0 {
		t.Errorf("not discovered: %v", kinds)
	}
}

// TestPreviewOfCircle: of objects that own each other, all deleted in the foreground before the real garbage collector
// comes to the first, each waits for the other for ever. A preview cannot know whether it does.
func TestPreviewOfCircle(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	made := s.family("shop", []string{"left < right!", "right < left!", "above", "below < above!"})
	g := s.collect(ownertree.Scope{})
	var asked []*ownertree.Node
	for _, name := range []string{"left", "right", "above", "below"} {
		asked = append(asked, g.ByUID(made[name].GetUID()))
	}
	p := g.DeletePreview(asked, foreground)
	want := outcome{Deleted: []string{"above", "below", "left", "right"}, Held: []string{"left: right", "right: left"}}
	if diff := cmp.Diff(want, outcomeOf(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, h := range p.Blocked {
		if !h.Perhaps {
			t.Errorf("%s would be held for certain, and that depends on what comes first", h.Node)
		}
	}
	for _, n := range asked {
		s.delete(made[n.Name], foreground)
	}
	s.collectGarbage()
	s.eventually("what waits for no circle is gone", func() bool { return s.get(made["above"]) == nil })
	marker := s.configMap("shop", "marker", nowhere("v1", "ConfigMap", "absent"))
	s.eventually("the collector has reached the marker", func() bool { return s.get(marker) == nil })
	if s.get(made["left"]) == nil || s.get(made["right"]) == nil {
		t.Error("the circle is gone, and should wait for itself")
	}
}

// comparePreviews compares the preview of each deletion with what is wanted.
func (s *sandbox) comparePreviews(made []map[string]*unstructured.Unstructured) {
	s.Helper()
	g := s.collect(ownertree.Scope{})
	for i, d := range deletions {
		top := g.ByUID(made[i][first(d.objects)].GetUID())
		got := outcomeOf(g.DeletePreview([]*ownertree.Node{top}, d.policy))
		if diff := cmp.Diff(d.want, got); diff != "" {
			s.Errorf("%s (-want +got):\n%s", d.reason, diff)
		}
	}
}

// checkAfter waits for what the deletion does.
func (s *sandbox) checkAfter(d deletion, made map[string]*unstructured.Unstructured) {
	s.Helper()
	held := map[string]bool{}
	for _, h := range d.want.Held {
		name, _, _ := strings.Cut(h, ":")
		held[name] = true
	}
	for name, obj := range made {
		what := d.reason + ": " + name
		switch {
		case slices.Contains(d.want.Late, name):
			s.eventually(what+" has been left alone", func() bool { now := s.get(obj); return now != nil && now.GetDeletionTimestamp() == nil })
		case held[name]:
			s.eventually(what+" is being deleted", func() bool { now := s.get(obj); return now != nil && now.GetDeletionTimestamp() != nil })
		case slices.Contains(d.want.Deleted, name):
			s.eventually(what+" is gone", func() bool { return s.get(obj) == nil })
		case slices.Contains(d.want.Orphaned, name), slices.Contains(d.want.Kept, name):
			s.eventually(what+" loses a reference", func() bool {
				now := s.get(obj)
				return now != nil && len(now.GetOwnerReferences()) == len(obj.GetOwnerReferences())-1
			})
		case slices.Contains(d.want.Stuck, name):
			if now := s.get(obj); now == nil || len(now.GetOwnerReferences()) != len(obj.GetOwnerReferences()) {
				s.Errorf("%s has not stayed as it was", what)
			}
		}
	}
}

// family makes the objects of a row.
func (s *sandbox) family(namespace string, objects []string) map[string]*unstructured.Unstructured {
	s.Helper()
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	made := map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		name := strings.Fields(object)[0]
		var finalizers []string
		for _, word := range strings.Fields(object)[1:] {
			if finalizer, ok := strings.CutPrefix(word, "x:"); ok {
				finalizers = append(finalizers, finalizer)
			}
		}
		made[name] = s.create(namespace, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, finalizers: [%s]}}", name, strings.Join(finalizers, ",")))
	}
	for _, object := range objects {
		if refs := references(object, made); len(refs) > 0 {
			s.own(made[strings.Fields(object)[0]], refs...)
		}
	}
	return made
}

// references are the owners of an object of a row; ? is one of a kind that there is not.
func references(object string, made map[string]*unstructured.Unstructured) []metav1.OwnerReference {
	var out []metav1.OwnerReference
	for _, word := range strings.Fields(object)[1:] {
		owner, blocks := strings.CutSuffix(word, "!")
		ref := nowhere("v1", "ConfigMap", owner)
		switch {
		case word == "<" || strings.HasPrefix(word, "x:"):
			continue
		case word == "?":
			ref = nowhere("example.com/v1", "Nothing", "x")
		case made[owner] != nil:
			ref = owned(made[owner])
		}
		if blocks {
			ref.BlockOwnerDeletion = new(true)
		}
		out = append(out, ref)
	}
	return out
}

func first(objects []string) string { return strings.Fields(objects[0])[0] }

func outcomeOf(p ownertree.Preview) outcome {
	var held []string
	for _, h := range p.Blocked {
		held = append(held, h.Node.Name+": "+strings.Join(append(slices.Clone(h.Finalizers), names(h.Dependents)...), " "))
	}
	return outcome{names(p.Deleted), names(p.Orphaned), names(p.Kept), names(p.Stuck), names(p.Unknown), held, names(p.Late)}
}

func names(nodes []*ownertree.Node) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}

// TestPreviewOfContainers: what is in a namespace goes with it, and so do the objects of a kind with its definition;
// the garbage collector has no part in it.
func TestPreviewOfContainers(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	made := s.family("shop", []string{"top", "held < top x:example.com/wait"})
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: other}}")
	g := s.collect(ownertree.Scope{})
	namespace := g.Find(s.kind("namespaces"), "", "shop")
	got := outcomeOf(g.DeletePreview([]*ownertree.Node{namespace}, background))
	want := outcome{Deleted: []string{"held", "top", "shop"}, Held: []string{"held: example.com/wait", "shop: held"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deleting the namespace (-want +got):\n%s", diff)
	}
	if g.ByUID(made["held"].GetUID()).Deleting != nil {
		t.Error("a preview has changed the graph")
	}
}

// TestPreviewReasons: an object of a preview has its own reason.
func TestPreviewReasons(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	made := s.family("shop", []string{"top", "other", "below < top", "shared < top other"})
	g := s.collect(ownertree.Scope{})
	node := func(name string) *ownertree.Node { return g.ByUID(made[name].GetUID()) }
	p := g.DeletePreview([]*ownertree.Node{node("top")}, orphan)
	tests := []struct {
		name   string
		action ownertree.GCAction
		why    string
	}{
		{"top", ownertree.Deleted, "it would be deleted"},
		{"below", ownertree.ReferencesStripped, "its owner ConfigMap top would be deleted and orphan its dependents"},
		{"shared", ownertree.ReferencesStripped, "its owner ConfigMap top would be deleted and orphan its dependents"},
		{"other", ownertree.Kept, ""},
	}
	for _, tt := range tests {
		if fate := p.GCOutcome(node(tt.name)); fate.Action != tt.action || fate.Why != tt.why {
			t.Errorf("%s: %s (%s), want %s (%s)", tt.name, fate.Action, fate.Why, tt.action, tt.why)
		}
	}
	background := g.DeletePreview([]*ownertree.Node{node("top")}, background)
	if why := background.GCOutcome(node("below")).Why; why != "its owner ConfigMap top would be deleted" {
		t.Errorf("below: %s", why)
	}
	if fate := g.GCOutcome(node("below")); fate.Action != ownertree.Kept {
		t.Errorf("without the deletion below is %s: a preview must leave nothing behind", fate.Action)
	}
}

// TestDefaultPropagation: the API server's own choices.
func TestDefaultPropagation(t *testing.T) {
	kind := func(group, version, name string) *cluster.Kind {
		k := cluster.Kind{}
		k.Group, k.Version, k.Kind = group, version, name
		return &k
	}
	tests := []struct {
		reason string
		node   ownertree.Node
		want   metav1.DeletionPropagation
	}{
		{"as most", ownertree.Node{Kind: kind("apps", "v1", "Deployment")}, background},
		{"jobs of batch/v1 leave their pods, for old clients", ownertree.Node{Kind: kind("batch", "v1", "Job")}, orphan},
		{"a kind of another group of that name does not", ownertree.Node{Kind: kind("example.com", "v1", "Job")}, background},
		{"replication controllers do", ownertree.Node{Kind: kind("", "v1", "ReplicationController")}, orphan},
		{
			"a finalizer decides before the kind",
			ownertree.Node{Kind: kind("batch", "v1", "Job"), Finalizers: []string{metav1.FinalizerDeleteDependents}}, foreground,
		},
		{"the other finalizer", ownertree.Node{Kind: kind("apps", "v1", "Deployment"), Finalizers: []string{metav1.FinalizerOrphanDependents}}, orphan},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if got := ownertree.DefaultPropagation(&tt.node); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// kind resolves a kind as users name it.
func (s *sandbox) kind(arg string) cluster.Kind {
	s.Helper()
	kind, err := s.kinds().Resolve(arg)
	if err != nil {
		s.Fatal(err)
	}
	return kind
}
