package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// StoryOptions are the options of Story.
type StoryOptions struct {
	Palette Palette
	// FieldManager is the field manager that the run itself applies objects with, which is called "you".
	FieldManager string
	// Namespace is that of objects that are named without it.
	Namespace string
	// StartAt is the time that others are counted from.
	StartAt time.Time
	// Width is the width of the terminal, at which lines are wrapped; 0 wraps none.
	Width int
}

// Story writes steps of a trace.Story, a line for each act: when it began, who acted, below what it reacts to, and what
// was done.
func Story(w io.Writer, steps []*trace.Step, o StoryOptions) error {
	t := &storyTable{o: o}
	t.add(steps, 0)
	widest := 0
	for _, r := range t.rows {
		widest = max(widest, Cells(r.actor))
	}
	var text strings.Builder
	for _, r := range t.rows {
		at := o.Palette.Dim(fmt.Sprintf("%-10s", r.at))
		line := at + r.actor + strings.Repeat(" ", widest-Cells(r.actor)+2) + o.Palette.Paint(r.tone, r.text)
		fmt.Fprintln(&text, Wrap(line, o.Width, strings.Repeat(" ", min(widest+14, 24))))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// storyTable are the rows of a story.
type storyTable struct {
	o    StoryOptions
	rows []storyRow
}

type storyRow struct {
	at, actor, text string
	tone            Tone
}

func (t *storyTable) add(steps []*trace.Step, depth int) {
	for _, s := range steps {
		actor := strings.Repeat("  ", depth) + actorText(s.Controller, s.Manager, t.o.FieldManager)
		for _, a := range s.Acts {
			row := storyRow{at: t.seconds(a.First), actor: actor, text: t.text(a), tone: toneOf(a)}
			if a.Type == trace.ActSeen {
				row.text += howText(a.Operation, a.Subresource)
			}
			if a.Again {
				row.text += " (told above)"
			}
			if a.Last.Sub(a.First) >= time.Second {
				row.text += ", until " + t.seconds(a.Last)
			}
			t.rows = append(t.rows, row)
			actor = ""
		}
		t.add(s.Steps, depth+1)
	}
}

func (t *storyTable) seconds(at time.Time) string {
	return fmt.Sprintf("%+.3fs", max(at.Sub(t.o.StartAt), 0).Seconds())
}

// actorText names who acted: a controller, or else a field manager, of which own is that of the run itself.
func actorText(controller, manager, own string) string {
	switch {
	case controller != "":
		return Escape(controller)
	case manager == "":
		return "(somebody)"
	case manager == own:
		return "you"
	}
	return Escape(manager)
}

// howText tells how a field manager wrote, if that was no update of the object itself: " (apply)", " (scale)".
func howText(operation, subresource string) string {
	var how []string
	if operation == "Apply" {
		how = append(how, "apply")
	}
	if subresource != "" {
		how = append(how, Escape(subresource))
	}
	if how == nil {
		return ""
	}
	return " (" + strings.Join(how, ", ") + ")"
}

// toneOf is how much attention an act needs.
func toneOf(a *trace.Act) Tone {
	failed := a.Type == trace.ActRefused || a.Type == trace.ActFailed
	if failed || a.Type == trace.ActStatus && slices.ContainsFunc(a.Changes, isBadNews) {
		return ToneTrouble
	}
	return TonePlain
}

// verbs are what is said of writes.
var verbs = map[string]string{
	"create": "creates", "update": "updates", "patch": "updates", "delete": "deletes",
	"deletecollection": "deletes all",
}

// text tells an act.
func (t *storyTable) text(a *trace.Act) string {
	verb := verbs[a.Verb]
	if a.DryRun {
		verb = "would " + strings.TrimSuffix(strings.TrimSuffix(verb, " all"), "s")
	}
	objects := t.objects(a)
	switch {
	case a.Type == trace.ActFailed:
		return "fails for " + objects + ": " + message(a) + times(a)
	case a.Type == trace.ActRefused:
		return "cannot " + a.Verb + " " + objects + ": " + message(a) + times(a)
	case a.Type == trace.ActStatus && a.Of.Kind == "Pod":
		return objects + "  " + podNews(a.Changes)
	case a.Type == trace.ActStatus:
		return objects + "  " + Changes(a.Changes, ChangesOptions{Limit: 4})
	case a.Subresource == "binding":
		return t.bindings(a)
	case a.Subresource == "eviction":
		return "evicts " + objects
	case a.Replicas != nil:
		return strings.Replace(verb, "update", "scale", 1) + " " + objects + "  " + replicasText(a.Replicas)
	case a.Verb == "create":
		if len(a.Objects) == 1 {
			if n := createdReplicas(a.Changes); n != "" {
				objects += " (" + n + ")"
			}
		}
		return verb + " " + objects
	case a.Verb == "delete", a.Verb == "deletecollection":
		return verb + " " + objects
	}
	if changes := Changes(a.Changes, ChangesOptions{Limit: 2}); changes != "" && a.Count == 1 {
		return verb + " " + objects + "  " + changes
	}
	return verb + " " + objects + times(a)
}

// times counts the writes of an act to one object, if there are several.
func times(a *trace.Act) string {
	if a.Count > len(a.Objects) {
		return fmt.Sprintf(" (%d times)", a.Count)
	}
	return ""
}

func createdReplicas(changes []fields.Change) string {
	for _, c := range changes {
		if c.Path == "spec.replicas" && c.New != nil {
			return valueText(c.New)
		}
	}
	return ""
}

// replicasText writes the numbers that a number of replicas had: "0 -> 1 -> 2".
func replicasText(all []any) string {
	var out []string
	for i, v := range all {
		switch {
		case i > 3 && i < len(all)-2:
			if i == 4 {
				out = append(out, "…")
			}
		case v == nil:
			out = append(out, "unset")
		default:
			out = append(out, valueText(v))
		}
	}
	return strings.Join(out, " -> ")
}

// objects names the objects of an act, with their kind and number: "ReplicaSet web-1", "3 Pods web-1-a, -b, -c".
func (t *storyTable) objects(a *trace.Act) string {
	var names []string
	then := len(a.Objects) > 1
	for i, o := range a.Objects {
		name := o.Name
		if o.Namespace != "" && o.Namespace != t.o.Namespace && a.Type != trace.ActFailed {
			if name = o.Namespace + "/" + name; o.Name == "" { // it is about all of a kind
				name = "in " + o.Namespace
			}
		}
		names = append(names, name)
		then = then && (i == 0 || o.Then)
	}
	if !then && len(names) > maxNames {
		slices.Sort(names)
	}
	text := Names(names, maxNames)
	if then { // each after the one before
		text = strings.ReplaceAll(text, ", ", " -> ")
	}
	kind := a.Of.Kind
	if kind == "" {
		kind = a.Of.Resource
	}
	if a.Type == trace.ActRefused && a.Subresource != "" {
		kind += "/" + a.Subresource
	}
	switch {
	case a.Type == trace.ActFailed:
		return text
	case len(names) > 1:
		return fmt.Sprintf("%d %s %s", len(names), plural(Escape(kind)), text)
	}
	return strings.TrimSpace(Escape(kind) + " " + text)
}

// maxMessage bounds what is shown of a message: some contain whole objects.
const maxMessage = 300

func message(a *trace.Act) string { return Escape(Cut(TrimAPIError(a.Message), maxMessage)) }

// plural is the plural of a kind.
func plural(kind string) string {
	switch {
	case strings.HasSuffix(kind, "s"), strings.HasSuffix(kind, "x"), strings.HasSuffix(kind, "ch"):
		return kind + "es"
	case strings.HasSuffix(kind, "y") && !strings.HasSuffix(kind, "ay"):
		return strings.TrimSuffix(kind, "y") + "ies"
	}
	return kind + "s"
}

// bindings tells which pods were bound to which nodes: "node-1: web-a, -b; node-2: -c".
func (t *storyTable) bindings(a *trace.Act) string {
	var nodes []string
	pods := map[string][]string{}
	for _, o := range a.Objects {
		if pods[o.Node] == nil {
			nodes = append(nodes, o.Node)
		}
		pods[o.Node] = append(pods[o.Node], o.Name)
	}
	slices.Sort(nodes)
	if slices.Contains(nodes, "") {
		return "binds " + t.objects(a)
	}
	if len(a.Objects) > maxNames {
		return fmt.Sprintf("binds %s to %s", t.objects(a), counted(len(nodes), "node"))
	}
	var names, out []string
	for _, node := range nodes {
		names = append(names, pods[node]...)
	}
	short := strings.Split(Names(names, 0), ", ")
	for _, node := range nodes {
		count := len(pods[node])
		out = append(out, strings.Join(short[:count], ", ")+" to "+Escape(node))
		short = short[count:]
	}
	return "binds " + strings.Join(out, ", ")
}

// maxPodMessage is how much is shown of a message of a pod, in characters.
const maxPodMessage = 160

// podNews tells what the status of pods tells.
func podNews(changes []fields.Change) string {
	var parts []string
	get := func(suffix string) string {
		for _, c := range changes {
			if strings.HasSuffix(c.Path, suffix) && c.New != nil {
				return Cut(fmt.Sprint(c.New), maxPodMessage)
			}
		}
		return ""
	}
	with := func(text, message string) string {
		if message == "" {
			return text
		}
		return text + ": " + message
	}
	if reason := get("state.waiting.reason"); reason != "" {
		parts = append(parts, with(reason, get("state.waiting.message")))
	}
	if reason := get("state.terminated.reason"); reason != "" {
		parts = append(parts, reason)
	}
	if code := get("state.terminated.exitCode"); code != "" {
		parts = append(parts, "exit code "+code)
	}
	for _, c := range changes {
		switch c.Path {
		case "status.conditions[type=PodScheduled].status":
			parts = append(parts, with("Unschedulable", get("[type=PodScheduled].message")))
		case "status.conditions[type=Ready].status":
			switch {
			case c.New == "True":
				parts = append(parts, "Ready")
			case get("status.phase") == "": // it has not ended
				parts = append(parts, "not Ready any more")
			}
		case "status.conditions[type=DisruptionTarget].status":
			parts = append(parts, "about to be ended")
		case "status.phase":
			parts = append(parts, with(valueText(c.New), get("status.reason")))
		}
	}
	return Escape(strings.Join(parts, ", "))
}

// isBadNews reports whether a change of a status is one for the worse.
func isBadNews(c fields.Change) bool {
	switch {
	case strings.Contains(c.Path, ".state."), c.Path == "status.reason", c.New == "Failed":
		return true
	case strings.HasSuffix(c.Path, "[type=Failed].status"), strings.HasSuffix(c.Path, "[type=ReplicaFailure].status"):
		return c.New == "True"
	}
	return strings.HasPrefix(c.Path, "status.conditions[") && strings.HasSuffix(c.Path, "].status") &&
		(c.Old == "True" || strings.Contains(c.Path, "PodScheduled")) && c.New == "False"
}

// NotTold counts what the story of a run leaves out; empty if it leaves out nothing.
func NotTold(n trace.NotTold) string {
	var parts []string
	if n.StatusWrites > 0 {
		parts = append(parts, counted(n.StatusWrites, "write")+" of a status")
	}
	if n.Idle > 0 {
		text := counted(n.Idle, "reconcile") + " without a write"
		if n.PutOff > 0 {
			text += fmt.Sprintf(" (%d put off)", n.PutOff)
		}
		parts = append(parts, text)
	}
	if n.Conflicts > 0 {
		parts = append(parts, counted(n.Conflicts, "conflict"))
	}
	if n.Healed > 0 {
		parts = append(parts, counted(n.Healed, "failure")+" that a retry healed")
	}
	if n.Repeated > 0 {
		parts = append(parts, counted(n.Repeated, "write")+" as before")
	}
	if n.Failed > 0 {
		parts = append(parts, counted(n.Failed, "failure")+" as before")
	}
	if n.Starting > 0 {
		parts = append(parts, counted(n.Starting, "write")+" at the start")
	}
	if len(parts) == 0 {
		return ""
	}
	return "not shown: " + strings.Join(parts, ", ")
}
