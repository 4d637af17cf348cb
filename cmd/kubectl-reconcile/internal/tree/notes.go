package tree

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// noteMaker makes the lines below a tree.
type noteMaker struct {
	itemMaker
	collector collector
	palette   render.Palette
	// namespaces says that objects must be told apart by namespace.
	namespaces bool
	// width is that of the terminal; 0 if there is none.
	width int
}

// notes are the lines below the tree, escaped.
func (t *tree) notes() []string {
	m := t.noteMaker()
	out := m.all(t.limbs())
	for _, line := range connect.DescribeIncomplete(t.allIncomplete()) {
		out = append(out, m.line(render.ToneChange, line))
	}
	return out
}

// All are the lines about objects, by what they are about.
func (m noteMaker) all(limbs []*limb) []string {
	objects := each(limbs, true)
	var out []string
	for _, sort := range []struct {
		name  string
		tone  render.Tone
		lines func(*limb) []string
	}{
		{"drift", render.ToneChange, m.drift},
		{"dangling", render.ToneTrouble, m.dangling},
		{"unknown owner", render.ToneChange, m.unknownOwner},
		{"deleting", render.ToneChange, m.deleting},
		{"missing", render.ToneTrouble, m.missing},
		{"warning", render.ToneChange, m.warning},
		{"odd", render.ToneChange, m.odd},
	} {
		out = append(out, m.sort(sort.name, sort.tone, objects, sort.lines)...)
	}
	return out
}

func (t *tree) noteMaker() noteMaker {
	return noteMaker{t.itemMaker(), t.graph, t.palette, t.namespaces, t.width}
}

// each lists objects in the order of the trees; once, each only where it comes first.
func each(all []*limb, once bool) []*limb {
	var out []*limb
	seen := map[*ownertree.Node]bool{}
	var walk func([]*limb)
	walk = func(all []*limb) {
		for _, l := range all {
			if !once || !seen[l.Node] {
				seen[l.Node] = true
				out = append(out, l)
			}
			walk(l.children)
		}
	}
	walk(all)
	return out
}

// sort makes the lines of one sort, of which only the first are shown.
func (m noteMaker) sort(name string, tone render.Tone, all []*limb, lines func(*limb) []string) []string {
	var texts []string
	for _, l := range all {
		texts = append(texts, lines(l)...)
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

// mostNote is how many letters of a line below a tree are written.
const mostNote = 2000

// line colours what stands before the colon, and breaks the line where the terminal ends.
func (m noteMaker) line(tone render.Tone, text string) string {
	name, rest, _ := strings.Cut(cli.OneLine(render.Cut(text, mostNote)), ":")
	return render.Wrap(m.palette.Paint(tone, name+":")+rest, m.width, "  ")
}

func (m noteMaker) label(n *ownertree.Node) string {
	if m.namespaces && n.Namespace != "" {
		return n.Namespace + " " + m.kinds.label(n)
	}
	return m.kinds.label(n)
}

// drift says which generation has been seen, of the object and of conditions that tell one of their own.
func (m noteMaker) drift(l *limb) []string {
	var out []string
	d := l.facts.Drift
	since := d.Since
	if d.State == inspect.NeverSeen {
		since = &l.Node.Created
	}
	ago := ""
	if age := m.age(since); age != "" {
		ago = " (for " + age + ")"
	}
	switch d.State {
	case inspect.Behind:
		const text = "%s has generation %d, its controller has seen %d%s"
		out = append(out, fmt.Sprintf(text, m.label(l.Node), d.Generation, *d.Observed, ago))
	case inspect.NeverSeen:
		out = append(out, fmt.Sprintf("%s was never seen by its controller%s", m.label(l.Node), ago))
	case inspect.InSync, inspect.NotReported, inspect.Ahead:
	}
	for _, c := range l.facts.Conditions {
		behind := c.Drift == inspect.Behind && c.Generation != nil && !c.Superseded
		if behind && (d.State != inspect.Behind || *c.Generation != *d.Observed) {
			const text = "%s has generation %d, its condition %s=%s is of %d"
			out = append(out, fmt.Sprintf(text, m.label(l.Node), d.Generation, c.Type, c.Status, *c.Generation))
		}
	}
	return out
}

// dangling says which owners are not there, and what the garbage collector will do about it.
func (m noteMaker) dangling(l *limb) []string {
	if !l.isDangling() {
		return nil
	}
	return []string{m.label(l.Node) + ": " + cmp.Or(m.verdicts(l.Node), l.fate.Why) + "; " + fateText(l.fate)}
}

// unknownOwner says which owners nothing certain is known about, and what follows.
func (m noteMaker) unknownOwner(l *limb) []string {
	text := m.verdicts(l.Node)
	if text == "" || m.dangling(l) != nil {
		return nil
	}
	return []string{m.label(l.Node) + ": " + text + "; " + fateText(l.fate)}
}

// verdicts describe the owners that are not certainly there, the first of them if they are many.
func (m noteMaker) verdicts(n *ownertree.Node) string {
	var out []string
	for i := range n.Owners {
		if o := &n.Owners[i]; o.Verdict != ownertree.Solid {
			out = append(out, verdictText(o, m.kinds))
		}
	}
	return cli.Enumerate(out)
}

// deleting says since when an object is being deleted, and what holds it.
func (m noteMaker) deleting(l *limb) []string {
	hold, held := m.collector.Blockers(l.Node)
	if !held {
		return nil
	}
	text := m.label(l.Node)
	if age := m.age(l.Node.Deleting); age != "" {
		text += " for " + age
	}
	return []string{text + holdText(hold, namespaceWaits(l), m.kinds)}
}

// missing names what the object needs and is not there. Of what names it only the kind is shown, so that objects which
// lack the same share a line.
func (m noteMaker) missing(l *limb) []string {
	if l.found == nil {
		return nil
	}
	var out []string
	for _, lack := range l.found.lacks {
		text := m.label(l.Node) + ": needs " + m.label(lack.Object) + ", which is not there"
		if lack.NamedBy != l.Node {
			text += "; a " + m.kinds.of(lack.NamedBy) + " names it"
		}
		out = append(out, text)
	}
	return out
}

// warning describes the Warnings of an object. With --events they stand below it, but a terminal cuts these.
func (m noteMaker) warning(l *limb) []string {
	if l.found == nil || m.events && (m.width == 0 || l.ailing() <= calm) {
		return nil
	}
	var out []string
	for _, e := range l.found.warnings() {
		message := eventMessage(e.Message)
		if message != "" && l.repeatsEvent(message) {
			continue
		}
		text := fmt.Sprintf("%s: %s", m.label(l.Node), e.Reason)
		var when []string
		if e.Count > 1 {
			when = append(when, fmt.Sprintf("%d times", e.Count))
		}
		if age := m.age(&e.Last); age != "" {
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

// eventMessage is the message of an Event without what its reason says already: that Events were combined (client-go's
// tools/record/events_cache.go), that an object could not be created (pkg/controller/controller_utils.go), and that it is forbidden.
func eventMessage(message string) string {
	message = strings.TrimPrefix(message, "(combined from similar events): ")
	message = strings.TrimPrefix(message, "Error creating: ")
	return strings.TrimSpace(inspect.TrimForbidden(message))
}

// repeatsEvent reports whether the message of an Event is shown already, as the object's status or as what is missing.
func (l *limb) repeatsEvent(message string) bool {
	return strings.Contains(l.facts.Reason, message) || strings.Contains(l.facts.Message, message) ||
		strings.Contains(message, "not found") && slices.ContainsFunc(l.found.lacks, func(lack ownertree.Lack) bool {
			return strings.Contains(message, strconv.Quote(lack.Object.Name))
		})
}

// odd says what of an object is not what its kind promises.
func (m noteMaker) odd(l *limb) []string {
	var out []string
	for _, problem := range l.facts.Problems {
		out = append(out, m.label(l.Node)+": "+problem)
	}
	return out
}
