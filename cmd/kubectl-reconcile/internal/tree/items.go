package tree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// wideColumns are those that -o wide adds to a tree.
var wideColumns = []string{"LAST WRITER", "WRITTEN", "FINALIZERS", "UID", "WAITING"}

// itemMaker makes lines of twigs.
type itemMaker struct {
	now  time.Time
	wide bool
	// Events shows the Events of objects.
	events bool
	// Kinds names kinds.
	kinds kindNames
}

func (m itemMaker) items(twigs []*twig) []*render.TreeItem {
	out := make([]*render.TreeItem, 0, len(twigs))
	for _, t := range twigs {
		item := m.item(t)
		if len(t.folded) == 0 && t.elsewhere == nowhere && !t.Cycle {
			for _, c := range t.facts.containers {
				item.Children = append(item.Children, containerItem(t.Node, c))
			}
			item.Children = append(item.Children, m.eventItems(t.limb)...)
		}
		item.Children = append(item.Children, m.items(t.children)...)
		out = append(out, item)
	}
	return out
}

// item is the line of a twig alone.
func (m itemMaker) item(t *twig) *render.TreeItem {
	item := &render.TreeItem{
		Namespace: t.Node.Namespace, Dotted: t.Relation != "",
		Status: t.status(), Tone: t.tone(), Reason: t.ownersReason(),
	}
	if len(t.folded) > 0 {
		m.describeFold(item, t)
		return item
	}
	item.Label, item.Note, item.Asked = m.kinds.label(t.Node), note(t), t.Asked
	item.Ready, item.Age = t.facts.Ready, m.age(&t.Node.Created)
	item.Generation, item.Drift = generation(t.limb)
	if m.wide {
		item.More = m.more(t.limb)
	}
	return item
}

// ownersReason is the reason of a line: of an object that is well by itself, what is the matter with its owners.
func (l *limb) ownersReason() string {
	own := l.reason()
	switch {
	case l.status() == dangling:
		return l.fate.Why
	case own == "" && (l.dangles() || l.fate.Action == ownertree.GCUnknown):
		return lostOwner(l.Node)
	case own == "" && (l.fate.Action == ownertree.Deleted || l.fate.Action == ownertree.DeletedWithOwner):
		return l.fate.Why
	}
	return own
}

// note says what is particular about a line.
func note(t *twig) string {
	var notes []string
	if t.Relation != "" {
		notes = append(notes, t.Relation)
	}
	switch {
	case t.Cycle:
		notes = append(notes, "owned in a circle")
	case t.elsewhere == above:
		notes = append(notes, "shown above")
	case t.elsewhere == below:
		notes = append(notes, "shown below")
	case t.Truncated > 0:
		notes = append(notes, fmt.Sprintf("%d more below", t.Truncated))
	}
	return strings.Join(notes, ", ")
}

// describeFold sums up several objects in the same state.
func (m itemMaker) describeFold(item *render.TreeItem, t *twig) {
	item.Label = fmt.Sprintf("%s (%d)", m.kinds.of(t.Node), len(t.folded))
	if hidden := m.hiddenBelow(t.folded); hidden != "" {
		item.Note = "with " + hidden
	}
	if t.Relation != "" {
		item.Note = strings.TrimSuffix(t.Relation+", "+item.Note, ", ")
	}
	item.Ready = readyOfAll(t.folded)
	item.Age = m.ages(t.folded)
	if item.Reason == "" {
		item.Reason = namesOf(t.folded)
	}
	item.Generation = generationOfAll(t.folded)
}

// hiddenBelow counts the objects that lie below folded ones: "Pod (3)".
func (m itemMaker) hiddenBelow(all []*limb) string {
	counts := map[string]int{}
	var walk func(*limb)
	walk = func(l *limb) {
		for _, c := range l.children {
			if c.Relation == "" {
				counts[m.kinds.of(c.Node)]++
				walk(c)
			}
		}
	}
	for _, l := range all {
		walk(l)
	}
	return countsByKind(counts)
}

// readyOfAll adds up "1/1" and "0/2" to "1/3"; it is empty if not all have such counts.
func readyOfAll(all []*limb) string {
	ready, wanted := 0, 0
	for _, l := range all {
		r, w, ok := strings.Cut(l.facts.Ready, "/")
		n, err := strconv.Atoi(r)
		of, err2 := strconv.Atoi(w)
		if !ok || err != nil || err2 != nil {
			return ""
		}
		ready, wanted = ready+n, wanted+of
	}
	return fmt.Sprintf("%d/%d", ready, wanted)
}

// generationOfAll is the generation that all have, empty if they differ.
func generationOfAll(all []*limb) string {
	first, _ := generation(all[0])
	if slices.ContainsFunc(all, func(l *limb) bool { g, _ := generation(l); return g != first }) {
		return ""
	}
	return first
}

// generation is what the column GEN shows: "4", or "3/4" if the controller has seen an older one or, oddly, a newer one.
func generation(l *limb) (string, render.Tone) {
	of := l.Node.Generation
	if of == 0 {
		return "", render.TonePlain
	}
	seen := of
	if o := l.facts.Drift.Observed; o != nil {
		seen = *o
	}
	if l.facts.Drift.State == inspect.NeverSeen {
		seen = 0
	}
	for _, c := range l.facts.Conditions {
		if c.Drift == inspect.Behind && c.Generation != nil && !c.Superseded {
			seen = min(seen, *c.Generation)
		}
	}
	if seen == of {
		return strconv.FormatInt(of, 10), render.TonePlain
	}
	return fmt.Sprintf("%d/%d", seen, of), render.ToneChange
}

// tone is that of the status, which may be one that no object has by itself.
func (l *limb) tone() render.Tone {
	if status := l.status(); status == absent || status == dangling {
		return render.ToneTrouble
	}
	return render.StatusTone(l.facts.Status)
}

func (m itemMaker) age(t *metav1.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return duration.HumanDuration(m.now.Sub(t.Time))
}

// ages of several objects are from the youngest to the oldest.
func (m itemMaker) ages(all []*limb) string {
	youngest, oldest := all[0].Node.Created, all[0].Node.Created
	for _, l := range all {
		if created := l.Node.Created; created.Before(&oldest) {
			oldest = created
		} else if youngest.Before(&created) {
			youngest = created
		}
	}
	from, to := m.age(&youngest), m.age(&oldest)
	if from == to {
		return from
	}
	return from + "-" + to
}

// more are the cells of wideColumns.
func (m itemMaker) more(l *limb) []string {
	writer, written := "", ""
	if w := l.facts.writer; w != nil {
		writer, written = render.WriterText(w), m.age(w.Time)
	}
	waiting := ""
	if l.facts.NotReady() {
		waiting = m.age(l.facts.Since)
	}
	return []string{writer, written, finalizersCell(l.Node.Finalizers), string(l.Node.UID), waiting}
}

// finalizersCell lists finalizers without blanks, the first of them and a count if they are many.
func finalizersCell(all []string) string {
	if more := len(all) - cli.MaxNames; more > 0 {
		return strings.Join(all[:cli.MaxNames], ",") + fmt.Sprintf(",+%d", more)
	}
	return strings.Join(all, ",")
}

// mostEventLines is how many Events of an object are shown.
const mostEventLines = 5

// eventItems are the lines of an object's Events, the last first.
func (m itemMaker) eventItems(l *limb) []*render.TreeItem {
	if !m.events || l.found == nil {
		return nil
	}
	var out []*render.TreeItem
	for _, e := range l.found.events[:min(len(l.found.events), mostEventLines)] {
		item := &render.TreeItem{
			Namespace: l.Node.Namespace, Dotted: true, Label: "event/" + e.Reason,
			Status: e.Type, Reason: eventMessage(e.Message), Age: m.age(&e.Last),
		}
		if e.Count > 1 {
			item.Note = fmt.Sprintf("%d times", e.Count)
		}
		if e.Type != corev1.EventTypeNormal {
			item.Tone = render.ToneChange
		}
		out = append(out, item)
	}
	return out
}
