package tree

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// noteMaker makes the lines below a tree.
type noteMaker struct {
	items     itemMaker
	collector garbageCollector
	palette   render.Palette
	// namespaces reports that objects must be named with their namespace.
	namespaces bool
	// width is that of the terminal; 0 if there is none.
	width int
}

// notes are the lines below the tree, escaped.
func (m noteMaker) notes(v *view) []string {
	out := m.all(v.nodes)
	for _, line := range connect.DescribeIncomplete(v.incomplete) {
		out = append(out, m.line(render.ToneChange, line))
	}
	return out
}

// all are the lines about objects, by what they are about.
func (m noteMaker) all(nodes []*treestatus.StatusNode) []string {
	objects := treestatus.Each(nodes)
	var out []string
	for _, sort := range []struct {
		name  string
		tone  render.Tone
		lines func(*treestatus.StatusNode) []string
	}{
		{"drift", render.ToneChange, m.drift},
		{"dangling", render.ToneTrouble, m.dangling},
		{"unknown owner", render.ToneChange, m.unknownOwner},
		{"deleting", render.ToneChange, m.deleting},
		{"missing", render.ToneTrouble, m.missing},
		{"warning", render.ToneChange, m.warning},
		{"problem", render.ToneChange, m.problem},
	} {
		out = append(out, m.sort(sort.name, sort.tone, objects, sort.lines)...)
	}
	return out
}

// sort makes the lines of one sort, of which only the first are shown.
func (m noteMaker) sort(
	name string, tone render.Tone, all []*treestatus.StatusNode, lines func(*treestatus.StatusNode) []string,
) []string {
	var texts []string
	for _, n := range all {
		texts = append(texts, lines(n)...)
	}
	texts = together(texts)
	var out []string
	for _, text := range texts[:min(len(texts), cli.MaxNotes)] {
		out = append(out, m.line(tone, name+": "+text))
	}
	if more := len(texts) - cli.MaxNotes; more > 0 {
		out = append(out, m.line(tone, fmt.Sprintf("%s: and %d more; -o json has all", name, more)))
	}
	return out
}

// together joins lines that say the same of several objects: "Pod/a: gone" and "Pod/b: gone" are "Pod/a, Pod/b: gone".
func together(lines []string) []string {
	objects := map[string][]string{}
	var order []string
	for _, line := range lines {
		object, text, _ := strings.Cut(line, ": ")
		if text == "" {
			object, text = "", object
		}
		if _, known := objects[text]; !known {
			order = append(order, text)
		}
		objects[text] = cli.AppendUnique(objects[text], object)
	}
	out := make([]string, 0, len(order))
	for _, text := range order {
		if about := objects[text]; about[0] != "" {
			text = cli.Enumerate(about) + ": " + text
		}
		out = append(out, text)
	}
	return out
}

// maxNote is how many letters of a line below a tree are written.
const maxNote = 2000

// line colours what stands before the colon, and breaks the line where the terminal ends.
func (m noteMaker) line(tone render.Tone, text string) string {
	name, rest, _ := strings.Cut(cli.OneLine(render.Cut(text, maxNote)), ":")
	return render.Wrap(m.palette.Paint(tone, name+":")+rest, m.width, "  ")
}

func (m noteMaker) label(n *ownertree.Node) string {
	if m.namespaces && n.Namespace != "" {
		return n.Namespace + " " + m.items.kinds.label(n)
	}
	return m.items.kinds.label(n)
}

// drift describes which generation has been observed, of the object and of conditions that have their own.
func (m noteMaker) drift(n *treestatus.StatusNode) []string {
	var out []string
	d := n.Facts.Drift
	since := d.Since
	if d.State == inspect.NeverSeen {
		since = &n.Branch.Node.Created
	}
	ago := ""
	if age := m.items.age(since); age != "" {
		ago = " (for " + age + ")"
	}
	switch d.State {
	case inspect.Behind:
		const text = "%s has generation %d, its controller has seen %d%s"
		out = append(out, fmt.Sprintf(text, m.label(n.Branch.Node), d.Generation, *d.Observed, ago))
	case inspect.NeverSeen:
		out = append(out, fmt.Sprintf("%s was never seen by its controller%s", m.label(n.Branch.Node), ago))
	case inspect.InSync, inspect.NotReported, inspect.Ahead:
	}
	for _, c := range n.Facts.Conditions {
		behind := c.Drift == inspect.Behind && c.Generation != nil && !c.Superseded
		if behind && (d.State != inspect.Behind || *c.Generation != *d.Observed) {
			const text = "%s has generation %d, its condition %s=%s is of %d"
			out = append(out, fmt.Sprintf(text, m.label(n.Branch.Node), d.Generation, c.Type, c.Status, *c.Generation))
		}
	}
	return out
}

// dangling names the owners that do not exist, and what the garbage collector will do about it.
func (m noteMaker) dangling(n *treestatus.StatusNode) []string {
	if !n.Dangles() {
		return nil
	}
	why := cmp.Or(m.verdicts(n.Branch.Node), n.Outcome.Why)
	return []string{m.label(n.Branch.Node) + ": " + why + "; " + outcomeText(n.Outcome)}
}

// unknownOwner names the owners of which nothing certain is known, and what follows.
func (m noteMaker) unknownOwner(n *treestatus.StatusNode) []string {
	text := m.verdicts(n.Branch.Node)
	if text == "" || m.dangling(n) != nil {
		return nil
	}
	return []string{m.label(n.Branch.Node) + ": " + text + "; " + outcomeText(n.Outcome)}
}

// verdicts describe the owners that are not certainly there, the first of them if they are many.
func (m noteMaker) verdicts(n *ownertree.Node) string {
	var out []string
	for i := range n.Owners {
		if o := &n.Owners[i]; o.Verdict != ownertree.Solid {
			out = append(out, verdictText(o, m.items.kinds))
		}
	}
	return cli.Enumerate(out)
}

// deleting describes since when an object is being deleted, and what delays it.
func (m noteMaker) deleting(n *treestatus.StatusNode) []string {
	blockers, held := m.collector.Blockers(n.Branch.Node)
	if !held {
		return nil
	}
	text := m.label(n.Branch.Node)
	if age := m.items.age(n.Branch.Node.Deleting); age != "" {
		text += " for " + age
	}
	return []string{text + blockersText(blockers, namespaceWaits(n), m.items.kinds)}
}

// missing names what the object needs and is not there. Of what names it only the kind is shown, so that objects which
// lack the same share a line.
func (m noteMaker) missing(n *treestatus.StatusNode) []string {
	if n.Findings == nil {
		return nil
	}
	var out []string
	for _, lack := range n.Findings.Lacks {
		text := m.label(n.Branch.Node) + ": needs " + m.label(lack.Object) + ", which does not exist"
		if lack.NamedBy != n.Branch.Node {
			text += "; a " + m.items.kinds.of(lack.NamedBy) + " names it"
		}
		out = append(out, text)
	}
	return out
}

// warning describes the Warnings of an object. With --events they stand below it, but a terminal cuts these.
func (m noteMaker) warning(n *treestatus.StatusNode) []string {
	if n.Findings == nil || m.items.events && (m.width == 0 || n.OwnSeverity <= treestatus.SeverityNormal) {
		return nil
	}
	var out []string
	for _, e := range n.Findings.Warnings() {
		message := eventMessage(e.Message)
		if message != "" && repeatsEvent(n, message) {
			continue
		}
		text := fmt.Sprintf("%s: %s", m.label(n.Branch.Node), e.Reason)
		var when []string
		if e.Count > 1 {
			when = append(when, fmt.Sprintf("%d times", e.Count))
		}
		if age := m.items.age(&e.Last); age != "" {
			when = append(when, age+" ago")
		}
		if len(when) > 0 {
			text += " (" + strings.Join(when, ", ") + ")"
		}
		if message != "" {
			text += ": " + message
		}
		out = append(out, text)
	}
	return out
}

// eventMessage is the message of an Event without what its reason already contains: that Events were combined
// (client-go's tools/record/events_cache.go), that an object could not be created (pkg/controller/controller_utils.go),
// and that it is forbidden.
func eventMessage(message string) string {
	message = strings.TrimPrefix(message, "(combined from similar events): ")
	message = strings.TrimPrefix(message, "Error creating: ")
	return strings.TrimSpace(inspect.TrimForbidden(message))
}

// repeatsEvent reports whether the message of an Event is already shown, as the object's status or as what is missing.
func repeatsEvent(n *treestatus.StatusNode, message string) bool {
	return strings.Contains(n.Facts.Reason, message) || strings.Contains(n.Facts.Message, message) ||
		strings.Contains(message, "not found") && slices.ContainsFunc(n.Findings.Lacks, func(lack ownertree.Lack) bool {
			return strings.Contains(message, strconv.Quote(lack.Object.Name))
		})
}

// problem describes the fields of an object that do not have the type that the API documents.
func (m noteMaker) problem(n *treestatus.StatusNode) []string {
	var out []string
	for _, problem := range n.Facts.Problems {
		out = append(out, m.label(n.Branch.Node)+": "+problem)
	}
	return out
}

// blockersText describes, behind the name of an object that is being deleted, what delays it. As long as a finalizer
// exists the object does, however certain it is which component removes it: that may not be running. Known is what the
// object itself reports: a namespace counts what is still in it.
func blockersText(blockers ownertree.DeletionBlockers, known string, kinds kindNames) string {
	parts := finalizerParts(blockers)
	for _, r := range blockers.Removals {
		if r.Finalizer != metav1.FinalizerDeleteDependents {
			parts = append(parts, removalText(r))
			continue
		}
		parts = append(parts, dependentsText(blockers, r, kinds))
	}
	if len(blockers.Undiscovered) > 0 {
		parts, known = append(parts, undiscoveredText(blockers.Undiscovered)), ""
	}
	if known != "" {
		parts = append(parts, known)
	}
	switch {
	case len(parts) > 0:
		return ": " + strings.Join(parts, "; ")
	case blockers.Node.Kind.GroupKind() == schema.GroupKind{Kind: "Pod"}:
		return ": waits for its kubelet to end its containers"
	}
	return ": nothing holds it up"
}

// dependentsText names the dependents that a foreground deletion waits for, or else what is left to do.
func dependentsText(blockers ownertree.DeletionBlockers, r ownertree.FinalizerRemoval, kinds kindNames) string {
	switch {
	case len(blockers.Dependents) == 0 && blockers.Unblocked:
		return fmt.Sprintf("no dependent blocks it; %s, if it runs, removes the finalizer %s", r.By, r.Finalizer)
	case len(blockers.Dependents) == 0:
		return removalText(r)
	}
	names := make([]string, 0, len(blockers.Dependents))
	for _, d := range blockers.Dependents {
		if d == blockers.Node {
			return "waits for itself: it is its own owner, and blocks itself"
		}
		names = append(names, kinds.label(d))
	}
	who := cli.PluralOf(len(names), "a dependent that blocks it", "dependents that block it")
	return fmt.Sprintf("waits for %s: %s", who, cli.Enumerate(names))
}

// finalizerParts describe the finalizers that others remove.
func finalizerParts(blockers ownertree.DeletionBlockers) []string {
	if len(blockers.Finalizers) == 0 {
		return nil
	}
	return []string{finalizersText(blockers.Finalizers)}
}

// openParts describe what would blockers up a deletion beside other objects and what Kubernetes certainly removes.
func openParts(blockers ownertree.DeletionBlockers) []string {
	parts := finalizerParts(blockers)
	for _, r := range blockers.Removals {
		if !r.Certain {
			parts = append(parts, removalText(r))
		}
	}
	if len(blockers.Undiscovered) > 0 {
		parts = append(parts, undiscoveredText(blockers.Undiscovered))
	}
	return parts
}

// namespaceWaits is what a namespace that is being deleted reports of what is left in it; empty for other objects.
func namespaceWaits(n *treestatus.StatusNode) string {
	if n.Branch.Node.Kind.GroupKind() != (schema.GroupKind{Kind: "Namespace"}) {
		return ""
	}
	for _, c := range n.Facts.Conditions {
		if c.Bad && c.Status == "True" {
			return n.Facts.Reason
		}
	}
	return ""
}

// finalizersText names the finalizers that others must remove.
func finalizersText(finalizers []string) string {
	if len(finalizers) == 1 {
		return "held by the finalizer " + finalizers[0] + ", which its controller must remove"
	}
	return "held by the finalizers " + cli.Enumerate(finalizers) + ", which their controllers must remove"
}

// removalText names the component that removes a finalizer, and when.
func removalText(r ownertree.FinalizerRemoval) string {
	return fmt.Sprintf("%s removes the finalizer %s %s", r.By, r.Finalizer, r.Once)
}

// undiscoveredText names the APIs that a namespace waits for.
func undiscoveredText(all []cluster.Incomplete) string {
	names := make([]string, 0, len(all))
	for _, i := range all {
		names = append(names, connect.IncompleteName(i))
	}
	return fmt.Sprintf("no namespace goes while the kinds of %s are not known", cli.Enumerate(names))
}
