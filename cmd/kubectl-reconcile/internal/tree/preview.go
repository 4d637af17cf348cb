package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// showPreview shows what deleting the objects asked for would do.
func (r *treeReader) showPreview(ctx context.Context) error {
	graph, err := ownertree.Collect(ctx, r.Reader, r.Kinds, r.scope())
	if err != nil {
		return r.connection.Explain(err)
	}
	asked, missing := r.asked(ctx, graph)
	if len(asked) == 0 {
		if missing == nil {
			missing = (&tree{treeReader: r, graph: graph}).nothing(ctx)
		}
		return missing
	}
	if err := graph.Ascend(ctx, r.Reader, asked); err != nil {
		return r.connection.Explain(err)
	}
	if err := graph.Confirm(ctx, r.Reader, graph.Nodes()); err != nil {
		return r.connection.Explain(err)
	}
	r.readEnds()
	p := graph.DeletePreview(asked, r.preview)
	unread, err := graph.ReadNamespaces(ctx, r.Reader, p.Deleted)
	if err != nil {
		return r.connection.Explain(err)
	}
	p = graph.DeletePreview(asked, r.preview)
	claims, unreadClaims, err := graph.PreviewClaims(ctx, r.Reader, &p)
	if err != nil {
		return r.connection.Explain(err)
	}
	p.Incomplete = cluster.SortIncomplete(slices.Concat(p.Incomplete, unread, unreadClaims))
	shown := newPreview(&p, asked)
	shown.expand, shown.claims = r.expand, claims
	return errors.Join(r.printPreview(shown), missing)
}

// preview is what deleting objects would do.
type preview struct {
	*ownertree.Preview
	asked  []*ownertree.Node
	claims []ownertree.ClaimOutcome
	// namespaces says that objects must be told apart by namespace, expand that all are named.
	namespaces, expand bool
	kinds              kindNames
}

func newPreview(p *ownertree.Preview, asked []*ownertree.Node) *preview {
	all := slices.Concat(p.Deleted, p.Orphaned, p.Kept, p.Stuck, p.Unknown)
	out := &preview{Preview: p, asked: asked, kinds: kindNamesOf(all)}
	one := ""
	for _, n := range all {
		out.namespaces = out.namespaces || n.Namespace != "" && one != "" && n.Namespace != one
		one = cmp.Or(n.Namespace, one)
	}
	return out
}

func (r *treeReader) printPreview(p *preview) error {
	switch r.output {
	case "json", "yaml":
		return cli.WriteDocument(r.streams.Out, r.output, p.document())
	case "name":
		return cli.WriteNames(r.streams.Out, p.Deleted, (*ownertree.Node).String)
	}
	for _, line := range p.lines(r.palette) {
		if _, err := fmt.Fprintln(r.streams.Out, render.Wrap(line, r.width, "  ")); err != nil {
			return err
		}
	}
	return nil
}

// lines tell it in words, escaped.
func (p *preview) lines(palette render.Palette) []string {
	var out []string
	add := func(tone render.Tone, head, text string) {
		out = append(out, palette.Paint(tone, cli.OneLine(head))+cli.OneLine(text))
	}
	atLeast := ""
	if p.AtLeast() {
		atLeast = "at least "
	}
	add(render.ToneTrouble, "would delete "+atLeast+cli.Plural(len(p.Deleted), "object"), ": "+p.counts(p.Deleted))
	if len(p.Orphaned) > 0 {
		add(render.ToneChange, "would orphan "+cli.Plural(len(p.Orphaned), "object"),
			": "+p.counts(p.Orphaned)+"; they stay, without the reference")
	}
	for _, n := range first(p.Kept) {
		add(render.TonePlain, "would keep "+p.name(n), ", which is also owned by "+p.counts(p.keepers(n)))
	}
	p.claimLines(add)
	for _, n := range first(p.Stuck) {
		add(render.ToneChange, "would leave "+p.name(n), ": "+p.GCOutcome(n).Why)
	}
	for _, n := range first(p.Unknown) {
		add(render.ToneChange, "not known of "+p.name(n), ": "+p.GCOutcome(n).Why)
	}
	for i := range first(p.Blocked) {
		head := "would hang: "
		if p.Blocked[i].Perhaps {
			head = "may hang: "
		}
		add(render.ToneTrouble, head+p.name(p.Blocked[i].Node), p.holdText(p.Blocked[i]))
	}
	if len(p.Late) > 0 {
		add(render.ToneChange, "would stay until what holds their owners has gone", ": "+p.counts(p.Late))
	}
	waits := p.openWaits()
	for i := range first(waits) {
		add(render.ToneChange, "would wait: "+p.name(waits[i].Node), p.holdText(waits[i]))
	}
	for _, more := range []struct {
		n    int
		what string
	}{
		{len(p.Kept), "would keep"}, {len(p.Stuck), "would leave"}, {len(p.Unknown), "not known of"}, {len(p.Blocked), "would hang"},
		{len(waits), "would wait"},
	} {
		if more.n > cli.MaxNotes {
			add(render.TonePlain, fmt.Sprintf("%s: %d more", more.what, more.n-cli.MaxNotes), "; -o json has all")
		}
	}
	for _, line := range connect.DescribeIncomplete(p.Incomplete) {
		add(render.ToneChange, line, "")
	}
	return out
}

// first bounds what is told of one by one.
func first[T any](all []T) []T { return all[:min(len(all), cli.MaxNotes)] }

// fewOfAKind is how many objects of a kind are named.
const fewOfAKind = 10

// counts lists objects by kind, with their names where they are few: "Deployment web, ReplicaSet (11)".
func (p *preview) counts(nodes []*ownertree.Node) string {
	names := map[string][]string{}
	var kinds []string
	for _, n := range nodes {
		kind := p.kinds.of(n)
		if names[kind] == nil {
			kinds = append(kinds, kind)
		}
		names[kind] = append(names[kind], p.inNamespace(n))
	}
	// What was asked for comes first: its kind is the one that the user thinks of.
	slices.SortStableFunc(kinds, func(a, b string) int { return p.rank(a) - p.rank(b) })
	var out []string
	for _, kind := range kinds {
		if len(names[kind]) > fewOfAKind && !p.expand {
			out = append(out, fmt.Sprintf("%s (%d)", kind, len(names[kind])))
		} else {
			out = append(out, kind+" "+strings.Join(shortened(names[kind]), ", "))
		}
	}
	return strings.Join(out, ", ")
}

func (p *preview) rank(kind string) int {
	if slices.ContainsFunc(p.asked, func(n *ownertree.Node) bool { return p.kinds.of(n) == kind }) {
		return 0
	}
	return 1
}

func (p *preview) name(n *ownertree.Node) string { return p.kinds.of(n) + " " + p.inNamespace(n) }

func (p *preview) inNamespace(n *ownertree.Node) string {
	if p.namespaces && n.Namespace != "" {
		return n.Namespace + "/" + n.Name
	}
	return n.Name
}

// keepers are the owners of an object that would stay.
func (p *preview) keepers(n *ownertree.Node) []*ownertree.Node {
	var out []*ownertree.Node
	for i := range n.Owners {
		if owner := n.Owners[i].Node; owner != nil && !slices.Contains(p.Deleted, owner) && !slices.Contains(out, owner) {
			out = append(out, owner)
		}
	}
	return out
}

// openWaits are those that wait for something which the deletion itself may not bring about.
func (p *preview) openWaits() []ownertree.DeletionBlockers {
	return slices.DeleteFunc(slices.Clone(p.Waits), func(h ownertree.DeletionBlockers) bool {
		return !slices.ContainsFunc(h.Removals, func(r ownertree.FinalizerRemoval) bool { return !r.Certain })
	})
}

func (p *preview) holdText(hold ownertree.DeletionBlockers) string {
	parts := openParts(hold)
	for _, r := range hold.Removals {
		if len(r.Users) > 0 {
			parts = append(parts, p.counts(r.Users)+" would stay, and may use it")
			break
		}
	}
	others := slices.DeleteFunc(slices.Clone(hold.Dependents), func(n *ownertree.Node) bool { return n == hold.Node })
	if len(others) < len(hold.Dependents) {
		parts = append(parts, "would wait for itself: it is its own owner, and blocks itself")
	}
	switch {
	case len(others) > 0 && hold.Perhaps:
		parts = append(parts, "would wait for "+p.counts(others)+
			", which would wait for it, unless the garbage collector comes between")
	case len(others) > 0:
		parts = append(parts, "would wait for "+p.counts(others))
	}
	return ": " + strings.Join(parts, "; ")
}
