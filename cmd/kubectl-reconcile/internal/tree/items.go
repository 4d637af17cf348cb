package tree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// wideColumns are those that -o wide adds to a tree.
var wideColumns = []string{"LAST WRITER", "WRITTEN", "FINALIZERS", "UID", "WAITING"}

// itemMaker makes lines of rows.
type itemMaker struct {
	now  time.Time
	wide bool
	// events shows the Events of objects.
	events bool
	// kinds names kinds.
	kinds kindNames
}

func (m itemMaker) items(rows []*row) []*render.TreeItem {
	out := make([]*render.TreeItem, 0, len(rows))
	for _, r := range rows {
		item := m.item(r)
		if len(r.folded) == 0 && r.elsewhere == nowhere && !r.node.Branch.Cycle {
			for _, c := range r.node.Facts.Containers {
				item.Children = append(item.Children, containerItem(r.node.Branch.Node, c))
			}
			item.Children = append(item.Children, m.eventItems(r.node)...)
		}
		item.Children = append(item.Children, m.items(r.children)...)
		out = append(out, item)
	}
	return out
}

// item is the line of a row without what is below it.
func (m itemMaker) item(r *row) *render.TreeItem {
	n, node := r.node, r.node.Branch.Node
	item := &render.TreeItem{
		Namespace: node.Namespace, Dotted: isRelated(n), Status: n.Status, Tone: statusTone(n), Reason: rowReason(n),
	}
	if len(r.folded) > 0 {
		m.describeFold(item, r)
		return item
	}
	item.Label, item.Note, item.Asked = m.kinds.label(node), note(r), n.Branch.Asked
	item.Ready, item.Age = n.Facts.Ready, m.age(&node.Created)
	item.Generation, item.Drift = generation(n)
	if m.wide {
		item.More = m.more(n)
	}
	return item
}

// note is what is particular about a row.
func note(r *row) string {
	var notes []string
	b := r.node.Branch
	if b.Relation != "" {
		notes = append(notes, b.Relation)
	}
	switch {
	case b.Cycle:
		notes = append(notes, "owned in a circle")
	case r.elsewhere == above:
		notes = append(notes, "shown above")
	case r.elsewhere == below:
		notes = append(notes, "shown below")
	case b.Truncated > 0:
		notes = append(notes, fmt.Sprintf("%d more below", b.Truncated))
	}
	return strings.Join(notes, ", ")
}

// describeFold sums up several objects in the same state.
func (m itemMaker) describeFold(item *render.TreeItem, r *row) {
	item.Label = fmt.Sprintf("%s (%d)", m.kinds.of(r.node.Branch.Node), len(r.folded))
	if hidden := m.hiddenBelow(r.folded); hidden != "" {
		item.Note = "with " + hidden
	}
	if relation := r.node.Branch.Relation; relation != "" {
		item.Note = strings.TrimSuffix(relation+", "+item.Note, ", ")
	}
	item.Ready = readyOfAll(r.folded)
	item.Age = m.ages(r.folded)
	if item.Reason == "" {
		item.Reason = namesOf(r.folded)
	}
	item.Generation = generationOfAll(r.folded)
}

// hiddenBelow counts the objects that lie below folded ones: "Pod (3)".
func (m itemMaker) hiddenBelow(all []*treestatus.StatusNode) string {
	counts := map[string]int{}
	var walk func(*treestatus.StatusNode)
	walk = func(n *treestatus.StatusNode) {
		for _, c := range n.Children {
			if !isRelated(c) {
				counts[m.kinds.of(c.Branch.Node)]++
				walk(c)
			}
		}
	}
	for _, n := range all {
		walk(n)
	}
	return countsByKind(counts)
}

// readyOfAll adds up "1/1" and "0/2" to "1/3"; it is empty if not all have such counts.
func readyOfAll(all []*treestatus.StatusNode) string {
	ready, wanted := 0, 0
	for _, node := range all {
		r, w, ok := strings.Cut(node.Facts.Ready, "/")
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
func generationOfAll(all []*treestatus.StatusNode) string {
	first, _ := generation(all[0])
	if slices.ContainsFunc(all, func(n *treestatus.StatusNode) bool { g, _ := generation(n); return g != first }) {
		return ""
	}
	return first
}

// generation is what the column GEN shows: "4", or "3/4" if the controller has seen an older one or, against all rules,
// a newer one.
func generation(n *treestatus.StatusNode) (string, render.Tone) {
	of := n.Branch.Node.Generation
	if of == 0 {
		return "", render.TonePlain
	}
	seen := of
	if o := n.Facts.Drift.Observed; o != nil {
		seen = *o
	}
	if n.Facts.Drift.State == inspect.NeverSeen {
		seen = 0
	}
	for _, c := range n.Facts.Conditions {
		if c.Drift == inspect.Behind && c.Generation != nil && !c.Superseded {
			seen = min(seen, *c.Generation)
		}
	}
	if seen == of {
		return strconv.FormatInt(of, 10), render.TonePlain
	}
	return fmt.Sprintf("%d/%d", seen, of), render.ToneChange
}

// statusTone is that of the status, which may be one that no object has by itself.
func statusTone(n *treestatus.StatusNode) render.Tone {
	if n.Status == treestatus.Missing || n.Status == treestatus.Dangling {
		return render.ToneTrouble
	}
	return render.StatusTone(n.Facts.Status)
}

func (m itemMaker) age(t *metav1.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return render.Age(m.now.Sub(t.Time))
}

// ages of several objects are from the youngest to the oldest.
func (m itemMaker) ages(all []*treestatus.StatusNode) string {
	youngest, oldest := all[0].Branch.Node.Created, all[0].Branch.Node.Created
	for _, n := range all {
		if created := n.Branch.Node.Created; created.Before(&oldest) {
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
func (m itemMaker) more(n *treestatus.StatusNode) []string {
	writer, written := "", ""
	if w := n.Facts.Writer; w != nil {
		writer, written = render.WriterText(w), m.age(w.Time)
	}
	waiting := ""
	if n.Facts.NotReady() {
		waiting = m.age(n.Facts.Since)
	}
	return []string{writer, written, finalizersCell(n.Branch.Node.Finalizers), string(n.Branch.Node.UID), waiting}
}

// finalizersCell lists finalizers without blanks, the first of them and a count if they are many.
func finalizersCell(all []string) string {
	if more := len(all) - cli.MaxNames; more > 0 {
		return strings.Join(all[:cli.MaxNames], ",") + fmt.Sprintf(",+%d", more)
	}
	return strings.Join(all, ",")
}

// maxEventLines is how many Events of an object are shown.
const maxEventLines = 5

// eventItems are the lines of an object's Events, the last first.
func (m itemMaker) eventItems(n *treestatus.StatusNode) []*render.TreeItem {
	if !m.events || n.Findings == nil {
		return nil
	}
	var out []*render.TreeItem
	for _, e := range n.Findings.Events[:min(len(n.Findings.Events), maxEventLines)] {
		item := &render.TreeItem{
			Namespace: n.Branch.Node.Namespace, Dotted: true, Label: "event/" + e.Reason,
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

// containerItem is the line of a container of a pod.
func containerItem(pod *ownertree.Node, c inspect.Container) *render.TreeItem {
	kind := c.Type
	if kind != inspect.MainContainer {
		kind += " container"
	}
	item := &render.TreeItem{
		Namespace: pod.Namespace, Label: kind + "/" + c.Name, Status: containerState(c), Tone: containerTone(c),
	}
	why := []string{c.Reason}
	if c.ExitCode != nil && c.State == "terminated" {
		why = append(why, fmt.Sprintf("exit code %d", *c.ExitCode))
	}
	if c.Restarts > 0 {
		why = append(why, cli.Plural(int(c.Restarts), "restart"))
	}
	if c.LastReason != "" && c.State != "terminated" {
		why = append(why, "last end: "+c.LastReason)
	}
	why = append(why, c.Image)
	item.Reason = strings.Join(slices.DeleteFunc(why, func(s string) bool { return s == "" }), ", ")
	return item
}

func containerState(c inspect.Container) string {
	if c.State == "" {
		return "not reported"
	}
	if c.State == "running" && !c.Ready && c.Type != inspect.InitContainer && c.Type != inspect.EphemeralContainer {
		return "running, not ready"
	}
	return c.State
}

func containerTone(c inspect.Container) render.Tone {
	failed := c.ExitCode != nil && *c.ExitCode != 0
	switch c.State {
	case "running":
		if c.Ready || c.Type == inspect.InitContainer || c.Type == inspect.EphemeralContainer {
			return render.TonePlain
		}
		return render.ToneChange
	case "terminated":
		if failed {
			return render.ToneTrouble
		}
		return render.TonePlain
	case "waiting":
		if failed || strings.HasSuffix(c.Reason, "BackOff") || strings.HasPrefix(c.Reason, "Err") {
			return render.ToneTrouble
		}
	}
	return render.ToneChange
}
