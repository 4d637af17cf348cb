package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/recent"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// NarrowFlags select a part of the run that is shown.
type NarrowFlags struct {
	objects, trees []string
	flags          *pflag.FlagSet // all of the command
}

func (f *NarrowFlags) addTo(cmd *cobra.Command) {
	f.flags = cmd.Flags()
	f.flags.StringSliceVar(&f.objects, "object", nil, "show only the reconciles of this object, as TYPE/NAME, those "+
		"that write it, and changes of it; the summary is of the whole run")
	f.flags.StringSliceVar(&f.trees, "tree", nil,
		"as --object, for this object, as TYPE/NAME, and all that it owns")
}

// Complete completes the flags from a cluster.
func (f *NarrowFlags) Complete(cmd *cobra.Command, from *connect.Flags) {
	cli.CompleteList(cmd, "object", from.OfferTargets())
	cli.CompleteList(cmd, "tree", from.OfferTargets())
}

// ToNarrowing returns Options.Narrow, or an error if a name is wrong or another flag asks for an output that is not
// narrowed.
func (f *NarrowFlags) ToNarrowing() (n Narrowing, err error) {
	if len(f.objects)+len(f.trees) == 0 {
		return n, nil
	}
	for _, other := range []string{"quiet", "output"} {
		if f.flags.Changed(other) {
			return n, cli.WithHint(fmt.Errorf("--object and --tree exclude --%s", other),
				"they narrow the story, blocks and changes of fields; a trace and the summary are of the whole run")
		}
	}
	if n.Objects, err = ObjectNames("object", f.objects, ""); err != nil {
		return n, err
	}
	n.Trees, err = ObjectNames("tree", f.trees, "")
	return n, err
}

// ObjectNames parses the values of a flag that are TYPE/NAME, of objects in a namespace; in any if that is empty.
func ObjectNames(flag string, texts []string, namespace string) ([]timeline.Name, error) {
	var out []timeline.Name
	for _, text := range texts {
		kind, name, ok := strings.Cut(text, "/")
		if !ok || kind == "" || name == "" || strings.Contains(name, "/") {
			return nil, cli.WithHint(fmt.Errorf("--%s %q must be TYPE/NAME", flag, text), "for example deploy/web")
		}
		out = append(out, timeline.Name{Kind: kind, Namespace: namespace, Name: name})
	}
	return out, nil
}

// Narrowing is the part of a run that is shown: what concerns Objects, and Trees with all that they own. The zero value
// is all of it.
type Narrowing struct{ Objects, Trees []timeline.Name }

func (n *Narrowing) isZero() bool { return len(n.Objects)+len(n.Trees) == 0 }

// shownText names the objects, and says of trees that they are.
func (n *Narrowing) shownText() string {
	var out []string
	for _, name := range n.Objects {
		out = cli.AppendUnique(out, name.Kind+"/"+name.Name)
	}
	for _, name := range n.Trees {
		out = cli.AppendUnique(out, name.Kind+"/"+name.Name+" with what it owns")
	}
	return cli.Enumerate(out)
}

// names are the objects as the user named them.
func (n *Narrowing) names() []string {
	var out []string
	for _, name := range slices.Concat(n.Objects, n.Trees) {
		out = cli.AppendUnique(out, name.Kind+"/"+name.Name)
	}
	return out
}

// maxTree bounds the objects of trees that are remembered, and those whose owners are not known.
const maxTree = 1 << 18

// narrowed is a trace.Sink that passes on what concerns some objects: reconciles whose key names one or that write one,
// and changes of them. A reconcile of which it is not known yet is held back until it writes one, or one of its writes
// is watched, and thus comes before all that reacts to it. Its methods must not be called concurrently.
type narrowed struct {
	Narrowing
	next trace.Sink

	held  map[trace.ReconcileID][]*trace.Event
	shown recent.Map[trace.ReconcileID, bool]
	// tree has the UIDs and objectIDs of what trees own; orphans are objects by the UID of an owner that is in no tree.
	tree    recent.Map[string, bool]
	orphans recent.Map[string, []trace.Object]
	learnt  recent.Map[string, bool] // the UIDs of orphans
	seen    map[string]bool          // the names that something had
}

func newNarrowed(n Narrowing, next trace.Sink) *narrowed {
	return &narrowed{
		Narrowing: n, next: next, held: map[trace.ReconcileID][]*trace.Event{}, seen: map[string]bool{},
		tree:    recent.Map[string, bool]{Capacity: maxTree},
		orphans: recent.Map[string, []trace.Object]{Capacity: maxTree},
		learnt:  recent.Map[string, bool]{Capacity: maxTree},
	}
}

// Record implements trace.Sink.
func (n *narrowed) Record(e *trace.Event) {
	selected := false
	switch d := e.Detail.(type) {
	case *trace.Start:
		if selected = n.selectsKey(e, d); !selected {
			n.held[e.Reconcile] = nil
		}
		n.shown.Put(e.Reconcile, selected)
	case *trace.Watch:
		n.learn(d)
		selected = n.selects(&d.Object)
		if d.Event == trace.Deleted {
			n.tree.Delete(objectID(&d.Object))
			n.tree.Delete(d.UID)
		}
		if selected {
			n.show(d.WrittenBy)
		} else {
			selected, _ = n.shown.Get(d.WrittenBy)
		}
		if selected {
			n.next.Record(e)
		}
		return
	case *trace.ClientRequest:
		selected = n.selects(&d.Object)
	case *trace.Request:
		selected = d.IsWrite() && n.selects(&d.Object) || d.Recorded != nil && n.selects(&d.Recorded.Regarding)
		if selected {
			n.show(e.Reconcile)
		}
	}
	events, held := n.held[e.Reconcile]
	known, _ := n.shown.Get(e.Reconcile)
	switch {
	case selected || known && e.Reconcile != 0:
		n.next.Record(e)
	case held && e.Type() == trace.TypeEnd:
		delete(n.held, e.Reconcile)
	case held:
		n.held[e.Reconcile] = append(events, e)
	}
}

// show passes on a reconcile that was held back.
func (n *narrowed) show(id trace.ReconcileID) {
	events, held := n.held[id]
	if !held {
		return
	}
	delete(n.held, id)
	n.shown.Put(id, true)
	for _, e := range events {
		n.next.Record(e)
	}
}

// selectsKey reports whether the key of a reconcile names one of the objects. If it is not known what the keys of a
// controller name, it is what a cause is about that has the key as its name.
func (n *narrowed) selectsKey(e *trace.Event, start *trace.Start) bool {
	namespace, name, namespaced := strings.Cut(e.Key, "/")
	if !namespaced {
		namespace, name = "", e.Key
	}
	c, _ := controllers.ByShort(e.Controller)
	kinds := c.Keys
	if e.Controller == nodes.SchedulerName || e.Controller == nodes.KubeletName {
		kinds = []controllers.ObjectKind{{Kind: "Pod", Resource: "pods"}}
	}
	if kinds == nil {
		return slices.ContainsFunc(start.Causes, func(c trace.Cause) bool {
			return c.Watch != nil && c.Watch.Namespace == namespace && c.Watch.Name == name &&
				n.selects(&c.Watch.Object)
		})
	}
	return slices.ContainsFunc(kinds, func(kind controllers.ObjectKind) bool {
		return n.selects(&trace.Object{
			Group: kind.Group, Kind: kind.Kind, Resource: kind.Resource, Namespace: namespace, Name: name,
		})
	})
}

// selects reports whether an object is one of those that are shown.
func (n *narrowed) selects(o *trace.Object) bool {
	isTree, _ := n.tree.Get(objectID(o))
	if !isTree && o.UID != "" { // an Event names no resource
		isTree, _ = n.tree.Get(o.UID)
	}
	return n.isNamed(n.Objects, o) || n.isNamed(n.Trees, o) || isTree
}

// isNamed reports whether an object has one of the names, and remembers which. Short names are those of the API's own
// kinds.
func (n *narrowed) isNamed(names []timeline.Name, o *trace.Object) bool {
	found := false
	for _, name := range names {
		kind := replay.Stream{
			Group: o.Group, Version: o.Version, Kind: o.Kind,
			Resource: cmp.Or(o.Resource, cluster.GuessResource(o.Kind)), // that of an owner is not known
		}
		if name.Name == o.Name && timeline.HasKind(name.Kind, []replay.Stream{kind}) {
			n.seen[name.Kind+"/"+name.Name], found = true, true
		}
	}
	return found
}

// learn finds out whether an object belongs to a tree, by its owners.
func (n *narrowed) learn(w *trace.Watch) {
	if known, _ := n.learnt.Get(w.UID); len(n.Trees) == 0 || known || w.Event == trace.Deleted {
		return
	}
	if n.isNamed(n.Trees, &w.Object) {
		n.addToTree(w.Object)
		return
	}
	for i := range w.Owners {
		owner := &w.Owners[i]
		if isTree, _ := n.tree.Get(owner.UID); isTree || n.isNamed(n.Trees, owner) {
			n.addToTree(w.Object)
			return
		}
		others, _ := n.orphans.Get(owner.UID)
		n.orphans.Put(owner.UID, append(others, w.Object))
	}
	n.learnt.Put(w.UID, len(w.Owners) > 0)
}

// addToTree adds an object and what it owns.
func (n *narrowed) addToTree(o trace.Object) {
	n.tree.Put(objectID(&o), true)
	n.tree.Put(o.UID, true)
	owned, _ := n.orphans.Get(o.UID)
	n.orphans.Delete(o.UID)
	for _, below := range owned {
		n.addToTree(below)
	}
}

// objectID names an object of any kind.
func objectID(o *trace.Object) string {
	return o.Group + "/" + o.Resource + "/" + o.Namespace + "/" + o.Name
}

// unseen returns the names that nothing had.
func (n *narrowed) unseen() []string {
	return slices.DeleteFunc(n.names(), func(name string) bool { return n.seen[name] })
}
