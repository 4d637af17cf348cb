package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// showPreview shows what deleting the objects asked for would do.
func showPreview(ctx context.Context, q *query, ends func()) error {
	o, reader := q.options, q.cluster.Reader
	c, err := collect(ctx, q)
	if err != nil {
		return err
	}
	if len(c.asked) == 0 {
		if c.missing == nil {
			return explainEmpty(ctx, q, c.graph)
		}
		return c.missing
	}
	p, err := readPreview(ctx, reader, c, o.preview)
	if err != nil {
		return o.connection.Explain(err)
	}
	ends()
	p.expand = o.expand
	return errors.Join(o.printPreview(p), c.missing)
}

// readPreview settles the owner references of the graph and predicts the deletion of the objects asked for. The error
// is not nil only if ctx has ended.
func readPreview(
	ctx context.Context, reader *cluster.Reader, c *collected, policy metav1.DeletionPropagation,
) (*preview, error) {
	if err := c.graph.Ascend(ctx, reader, c.asked); err != nil {
		return nil, err
	}
	if err := c.graph.Confirm(ctx, reader, c.graph.Nodes()); err != nil {
		return nil, err
	}
	result := c.graph.DeletePreview(c.asked, policy)
	unread, err := c.graph.ReadNamespaces(ctx, reader, result.Deleted)
	if err != nil {
		return nil, err
	}
	result = c.graph.DeletePreview(c.asked, policy) // finalizers of namespaces are known now
	claims, unreadClaims, err := c.graph.PreviewClaims(ctx, reader, &result)
	if err != nil {
		return nil, err
	}
	result.Incomplete = cluster.SortIncomplete(slices.Concat(result.Incomplete, unread, unreadClaims))
	p := newPreview(&result, c.asked)
	p.claims = claims
	return p, nil
}

// preview is what deleting objects would do.
type preview struct {
	result *ownertree.Preview
	asked  []*ownertree.Node
	claims []ownertree.ClaimOutcome
	// namespaces reports that objects must be named with their namespace, expand that all are named.
	namespaces, expand bool
	kinds              kindNames
}

func newPreview(p *ownertree.Preview, asked []*ownertree.Node) *preview {
	all := slices.Concat(p.Deleted, p.Orphaned, p.Kept, p.Stuck, p.Unknown)
	out := &preview{result: p, asked: asked, kinds: kindNamesOf(all)}
	one := ""
	for _, n := range all {
		out.namespaces = out.namespaces || n.Namespace != "" && one != "" && n.Namespace != one
		one = cmp.Or(n.Namespace, one)
	}
	return out
}

func (o *Options) printPreview(p *preview) error {
	switch o.output {
	case "json", "yaml":
		return cli.WriteDocument(o.streams.Out, o.output, p.document())
	case "name":
		return cli.WriteNames(o.streams.Out, p.result.Deleted, (*ownertree.Node).String)
	}
	for _, line := range p.lines(o.palette) {
		if _, err := fmt.Fprintln(o.streams.Out, render.Wrap(line, o.width, "  ")); err != nil {
			return err
		}
	}
	return nil
}

// lines are the preview for people, escaped.
func (p *preview) lines(palette render.Palette) []string {
	var out []string
	add := func(tone render.Tone, head, text string) {
		out = append(out, palette.Paint(tone, cli.OneLine(head))+cli.OneLine(text))
	}
	atLeast := ""
	if p.result.AtLeast() {
		atLeast = "at least "
	}
	add(render.ToneTrouble, "would delete "+atLeast+cli.Plural(len(p.result.Deleted), "object"),
		": "+p.counts(p.result.Deleted))
	if len(p.result.Orphaned) > 0 {
		add(render.ToneChange, "would orphan "+cli.Plural(len(p.result.Orphaned), "object"),
			": "+p.counts(p.result.Orphaned)+"; they stay, without the reference")
	}
	for _, n := range first(p.result.Kept) {
		add(render.TonePlain, "would keep "+p.name(n), ", which is also owned by "+p.counts(p.keepers(n)))
	}
	p.claimLines(add)
	for _, n := range first(p.result.Stuck) {
		add(render.ToneChange, "would leave "+p.name(n), ": "+p.result.GCOutcome(n).Why)
	}
	for _, n := range first(p.result.Unknown) {
		add(render.ToneChange, "not known of "+p.name(n), ": "+p.result.GCOutcome(n).Why)
	}
	for i := range first(p.result.Blocked) {
		head := "would hang: "
		if p.result.Blocked[i].Perhaps {
			head = "may hang: "
		}
		add(render.ToneTrouble, head+p.name(p.result.Blocked[i].Node), p.blockersText(p.result.Blocked[i]))
	}
	if len(p.result.Late) > 0 {
		add(render.ToneChange, "would stay until what holds their owners has gone", ": "+p.counts(p.result.Late))
	}
	waits := p.openWaits()
	for i := range first(waits) {
		add(render.ToneChange, "would wait: "+p.name(waits[i].Node), p.blockersText(waits[i]))
	}
	for _, more := range []struct {
		n    int
		what string
	}{
		{len(p.result.Kept), "would keep"}, {len(p.result.Stuck), "would leave"},
		{len(p.result.Unknown), "not known of"}, {len(p.result.Blocked), "would hang"},
		{len(waits), "would wait"},
	} {
		if more.n > cli.MaxNotes {
			add(render.TonePlain, fmt.Sprintf("%s: %d more", more.what, more.n-cli.MaxNotes), "; -o json has all")
		}
	}
	for _, line := range connect.DescribeIncomplete(p.result.Incomplete) {
		add(render.ToneChange, line, "")
	}
	return out
}

// first bounds what has a line each.
func first[T any](all []T) []T { return all[:min(len(all), cli.MaxNotes)] }

// maxNamed is how many objects of a kind are named.
const maxNamed = 10

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
		if len(names[kind]) > maxNamed && !p.expand {
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
		owner := n.Owners[i].Node
		if owner != nil && !slices.Contains(p.result.Deleted, owner) && !slices.Contains(out, owner) {
			out = append(out, owner)
		}
	}
	return out
}

// openWaits are those that wait for something which the deletion itself may not bring about.
func (p *preview) openWaits() []ownertree.DeletionBlockers {
	return slices.DeleteFunc(slices.Clone(p.result.Waits), func(h ownertree.DeletionBlockers) bool {
		return !slices.ContainsFunc(h.Removals, func(r ownertree.FinalizerRemoval) bool { return !r.Certain })
	})
}

func (p *preview) blockersText(blockers ownertree.DeletionBlockers) string {
	parts := openParts(blockers)
	for _, r := range blockers.Removals {
		if len(r.Users) > 0 {
			parts = append(parts, p.counts(r.Users)+" would stay, and may use it")
			break
		}
	}
	others := slices.DeleteFunc(slices.Clone(blockers.Dependents), func(n *ownertree.Node) bool {
		return n == blockers.Node
	})
	if len(others) < len(blockers.Dependents) {
		parts = append(parts, "would wait for itself: it is its own owner, and blocks itself")
	}
	switch {
	case len(others) > 0 && blockers.Perhaps:
		parts = append(parts, "would wait for "+p.counts(others)+
			", which would wait for it, unless the garbage collector comes between")
	case len(others) > 0:
		parts = append(parts, "would wait for "+p.counts(others))
	}
	return ": " + strings.Join(parts, "; ")
}

// claimLines describe the claims that StatefulSets would leave behind, and what becomes of the volumes of claims that
// would go.
func (p *preview) claimLines(add func(tone render.Tone, head, text string)) {
	var sets []ownertree.ClaimOutcome
	kept := map[*ownertree.Node][]*ownertree.Node{}
	volumes := map[corev1.PersistentVolumeReclaimPolicy][]*ownertree.Node{}
	for _, c := range p.claims {
		switch {
		case c.Volume != nil:
			volumes[c.Reclaim] = append(volumes[c.Reclaim], c.Volume)
		case c.Set != nil && !c.Deleted && !slices.Contains(p.result.Orphaned, c.Claim):
			if kept[c.Set] == nil {
				sets = append(sets, c)
			}
			kept[c.Set] = append(kept[c.Set], c.Claim)
		}
	}
	for _, c := range first(sets) {
		text := fmt.Sprintf(", made by %s: %s", p.name(c.Set), retentionText(c.WhenDeleted))
		add(render.TonePlain, "would keep "+p.counts(kept[c.Set]), text)
	}
	if more := len(sets) - cli.MaxNotes; more > 0 {
		add(render.TonePlain, fmt.Sprintf("would keep: the claims of %d more StatefulSets", more), "; -o json has all")
	}
	for _, v := range []struct {
		policy     corev1.PersistentVolumeReclaimPolicy
		tone       render.Tone
		head, text string
	}{
		{corev1.PersistentVolumeReclaimDelete, render.ToneTrouble, "would delete with claims",
			"what is stored goes, too"},
		{corev1.PersistentVolumeReclaimRecycle, render.ToneTrouble, "would empty", "what is stored goes"},
		{corev1.PersistentVolumeReclaimRetain, render.TonePlain, "would release", "what is stored stays"},
	} {
		if all := volumes[v.policy]; len(all) > 0 {
			add(v.tone, v.head, fmt.Sprintf(": %s; reclaim policy %s: %s", p.counts(all), v.policy, v.text))
		}
	}
}

// retentionText explains why a claim stays though the StatefulSet that made it goes.
func retentionText(whenDeleted appsv1.PersistentVolumeClaimRetentionPolicyType) string {
	if whenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		return "its retention policy is Delete, but is not in force: it does not own them"
	}
	return "its retention policy is Retain"
}
