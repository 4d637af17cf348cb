package tree

import (
	"context"
	"errors"
	"maps"
	"slices"

	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// treeReader reads what `tree` shows.
type treeReader struct {
	*Options
	*connect.Cluster
	// sought is what the command line names; nothing stands for the forest.
	sought []connect.Target
	// only and without are --kinds and --exclude-kinds; nil without them.
	only, without func(cluster.Kind) bool
	// readEnds is called before anything is shown, again and again if need be.
	readEnds func()
}

// prepare asks which kinds there are, and finds those of the command line.
func (o *Options) prepare(ctx context.Context) (*treeReader, error) {
	config := rest.CopyConfig(o.connection.Config)
	config.WarningHandler = rest.NoWarnings{} // that a kind is deprecated does not matter to who did not ask for it
	served, err := o.connection.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	r := &treeReader{Options: o, Cluster: served}
	if r.sought, err = r.find(); err != nil {
		return nil, o.connection.ExplainEach(err)
	}
	if r.only, err = r.among(o.include); err != nil {
		return nil, o.connection.Explain(err)
	}
	if r.without, err = r.among(o.exclude); err != nil {
		return nil, o.connection.Explain(err)
	}
	return r, nil
}

// find turns the command line into what is asked for; nothing stands for the forest.
func (r *treeReader) find() ([]connect.Target, error) {
	if r.targets.Manifests.Given() {
		return r.targets.FromFiles(r.streams.In, r.Kinds, r.connection)
	}
	return r.named.Resolve(r.Kinds, r.namespace())
}

// Namespace is the one of the command line, empty for all.
func (r *treeReader) namespace() string {
	if r.targets.AllNamespaces {
		return ""
	}
	return r.connection.Namespace
}

// among makes a test of a list of kinds or categories; nil of none.
func (r *treeReader) among(names []string) (func(cluster.Kind) bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var all []cluster.Kind
	for _, name := range names {
		kinds, err := r.Kinds.ResolveAll(name)
		if err != nil {
			return nil, err
		}
		all = append(all, kinds...)
	}
	return func(kind cluster.Kind) bool {
		return slices.ContainsFunc(all, func(k cluster.Kind) bool { return k.GroupResource() == kind.GroupResource() })
	}, nil
}

// scope is what must be listed: what the objects asked for may own, or where they must be looked for.
func (r *treeReader) scope() ownertree.Scope {
	if len(r.sought) == 0 {
		if r.namespace() == "" {
			return ownertree.Scope{}
		}
		return ownertree.Scope{Namespaces: []string{r.namespace()}}
	}
	refs := make([]ownertree.Ref, 0, len(r.sought))
	whole := false
	for _, t := range r.sought {
		if t.Kind.Namespaced && t.Namespace == "" {
			return ownertree.Scope{} // of all namespaces
		}
		whole = whole || t.Name == ""
		refs = append(refs, ownertree.Ref{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name})
	}
	return ownertree.ScopeOf(refs, r.down || whole)
}

// tree is what was read.
type tree struct {
	*treeReader
	graph    *ownertree.Graph
	branches []*ownertree.Branch
	// Read are the facts as they were read, facts those that are shown: see judgeServices.
	read, facts factsByUID
	found       *allFindings
	incomplete  []cluster.Incomplete
	relations   []ownertree.Relation
	// added are the branches with what is known of them, nil until they are wanted: see limbs.
	added []*limb
	// namespaces says that the namespace of an object must be told.
	namespaces bool
	// gone says that all that was asked for was there, and is not any more.
	gone bool
}

// Read reads everything that is shown. The error is for objects asked for that are not there, or if nothing could be read
// at all; then there may be no tree.
func (r *treeReader) read(ctx context.Context) (*tree, error) {
	graph, err := ownertree.Collect(ctx, r.Reader, r.Kinds, r.scope())
	if err != nil {
		return nil, r.connection.Explain(err)
	}
	return r.layOut(ctx, graph, nil)
}

// layOut makes a tree of what was collected. Facts that are known are not read again.
func (r *treeReader) layOut(ctx context.Context, graph *ownertree.Graph, known *knownFacts) (*tree, error) {
	asked, missing := r.asked(ctx, graph)
	if missing != nil && len(asked) == 0 {
		return nil, missing
	}
	t := &tree{treeReader: r, graph: graph}
	if err := t.grow(ctx, asked, known); err != nil {
		return nil, r.connection.Explain(err)
	}
	if len(t.branches) == 0 && known != nil && known.facts != nil {
		return nil, missing // it was there, and is on the screen still
	}
	if len(t.branches) == 0 {
		return nil, errors.Join(missing, t.nothing(ctx))
	}
	return t, missing
}

// grow lays out the tree and reads what it shows.
func (t *tree) grow(ctx context.Context, asked []*ownertree.Node, known *knownFacts) error {
	if t.up {
		if err := t.graph.Ascend(ctx, t.Reader, asked); err != nil {
			return err
		}
	}
	forest := t.forest()
	if forest {
		asked = t.graph.Roots()
	}
	t.branches = t.graph.Tree(asked, ownertree.TreeOptions{
		Depth: t.depth, Up: t.up, Down: t.down, Kinds: t.only, Exclude: t.without,
	})
	if forest {
		t.branches = t.unmarked(t.branches)
	}
	unrelated, err := t.relate(ctx)
	if err != nil {
		return err
	}
	nodes := nodesOf(t.branches)
	if err := t.graph.Confirm(ctx, t.Reader, nodes); err != nil {
		return err
	}
	t.graph.FindElsewhere(ctx, t.Reader, nodes)
	deleting := slices.DeleteFunc(slices.Clone(nodes), func(n *ownertree.Node) bool { return n.Deleting == nil })
	unread, err := t.graph.ReadNamespaces(ctx, t.Reader, deleting)
	if err != nil {
		return err
	}
	t.namespaces = t.targets.AllNamespaces || slices.ContainsFunc(nodes, func(n *ownertree.Node) bool {
		return n.Namespace != "" && n.Namespace != t.connection.Namespace
	})
	facts := &factsReader{reader: t.Reader, whole: t.whole(), containers: t.containers, known: known}
	facts.read(ctx, nodes, t.graph.Nodes(), t.scope().Namespaces == nil && !t.scope().Nothing)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.read, t.facts = facts.facts, maps.Clone(facts.facts)
	t.judgeServices()
	t.incomplete = cluster.SortIncomplete(slices.Concat(t.graph.Incomplete(), unrelated, unread, facts.incomplete))
	// If nothing was looked for before, what now is not Current has not been.
	if last := known.lastFindings(); last != nil && last.open && !last.old(t.clock.Now()) {
		t.found = last
		return nil
	}
	if t.output == "name" {
		return nil
	}
	return t.explain(ctx)
}

// relate draws in what is related in other ways than by ownership, and returns what could not be read for that.
func (t *tree) relate(ctx context.Context) ([]cluster.Incomplete, error) {
	if !t.related {
		return nil, nil
	}
	relations, missing, err := t.graph.Relate(ctx, t.Reader, nodesOf(t.branches), ownertree.RelateOptions{})
	if err != nil {
		return nil, err
	}
	ownertree.Related(t.branches, relations)
	t.relations = relations
	return missing, nil
}

// forest reports whether all there is was asked for, so that nothing in particular was.
func (r *treeReader) forest() bool { return len(r.sought) == 0 && r.selector().Empty() }

// unmarked takes back the marks: in a forest, nothing was asked for by itself. Kinds that are not to be shown go.
func (t *tree) unmarked(branches []*ownertree.Branch) []*ownertree.Branch {
	var out []*ownertree.Branch
	for _, b := range branches {
		b.Asked = false
		if t.hides(b.Node) {
			out = append(out, t.unmarked(b.Children)...)
			continue
		}
		b.Children = t.unmarked(b.Children)
		out = append(out, b)
	}
	return out
}

func (t *tree) hides(n *ownertree.Node) bool {
	return t.only != nil && !t.only(*n.Kind) || t.without != nil && t.without(*n.Kind)
}

// whole reports whether managedFields are wanted.
func (o *Options) whole() bool {
	return o.output == "wide" || o.output == "json" || o.output == "yaml"
}
