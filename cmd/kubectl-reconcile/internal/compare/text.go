package compare

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/compare"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// text writes a result for people.
type text struct {
	out     io.Writer
	palette render.Palette
	verbose bool
	width   int
	ascii   bool

	lines bytes.Buffer
}

// maxShown bounds the missing and extra writes that are shown of a key, and the fields of a write.
const (
	maxShown  = 3
	maxFields = 5
)

func (t *text) write(r *compare.Result, again repeated) error {
	t.line("%s", t.heading(r))
	if err := t.table(r); err != nil {
		return err
	}
	for i := range r.Keys {
		t.details(&r.Keys[i])
	}
	t.line("")
	t.conclusion(r, again)
	_, err := t.out.Write(t.lines.Bytes())
	return err
}

func (t *text) line(format string, args ...any) {
	fmt.Fprintf(&t.lines, format+"\n", args...)
}

// heading says what was compared.
func (t *text) heading(r *compare.Result) string {
	by := "told apart by kind, fields and owner"
	switch {
	case r.ByTrace:
		by = "told apart by its trace"
	case r.ByAuditLog:
		by = "told apart by the audit log"
	case len(r.Writers) > 0:
		by = "told apart by field manager " + strings.Join(r.Writers, ", ")
	}
	out := fmt.Sprintf("%s on the recording: %s withheld, %s; %s played", strings.Join(r.Controllers, ", "),
		cli.Plural(r.Effects, "write"), by, cli.Plural(r.Inputs, "other event"))
	return t.palette.Dim(out)
}

// table writes a row for each key.
func (t *text) table(r *compare.Result) error {
	columns := []render.Column{
		{Title: "RESULT"}, {Title: "CONTROLLER"}, {Title: "KEY", Truncatable: true}, {Title: "WRITES"},
	}
	rows := make([][]render.Cell, len(r.Keys))
	for i := range r.Keys {
		k := &r.Keys[i]
		result := render.Cell{Text: "same"}
		if !k.IsSame() {
			result = render.Cell{Text: "different", Tone: render.ToneTrouble}
		}
		rows[i] = []render.Cell{result, {Text: k.Controller}, {Text: keyText(k.Key)}, {Text: writesText(k)}}
	}
	o := render.TableOptions{Palette: t.palette, ASCII: t.ascii, Width: t.width}
	return render.NewTable(columns, o).Write(&t.lines, rows)
}

func keyText(key string) string {
	if key == "" {
		return "(unknown)"
	}
	return key
}

// writesText counts the writes of a key.
func writesText(k *compare.Key) string {
	parts := []string{fmt.Sprintf("%d same", k.Same)}
	add := func(n int, format string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, n))
		}
	}
	if k.Other != nil {
		parts = append(parts, "1 other")
	}
	add(len(k.Missing), "%d missing")
	add(len(k.Extra), "%d extra")
	add(len(k.ByTimer), "%d by timer")
	add(len(k.AfterEnd), "%d later")
	add(k.Uncompared, "%d not compared")
	if k.Redacted > 0 {
		parts = append(parts, cli.Plural(k.Redacted, "redacted value")+" not compared")
	}
	return strings.Join(parts, ", ")
}

// details writes what differs of a key.
func (t *text) details(k *compare.Key) {
	if k.IsSame() && (!t.verbose || len(k.ByTimer) == 0) && len(k.AfterEnd) == 0 && k.Repeats == nil {
		return
	}
	t.line("")
	t.line("%s", t.palette.Strong(render.Escape(k.Controller+" "+keyText(k.Key))))
	if k.Other != nil {
		t.other(k.Other)
	}
	t.list("missing", k.Missing)
	t.list("extra", k.Extra)
	if t.verbose {
		t.list("by timer", k.ByTimer)
	}
	t.list("later", k.AfterEnd)
	if len(k.AfterEnd) > 0 {
		t.line("  not compared: the recording ends too soon after what that is about")
	}
	if k.Unsure {
		t.line("  that may depend on when the controller looks")
	}
	if k.Repeats != nil {
		t.line("  %d writes within %s after the last event that change nothing: a recording does not show those",
			k.Repeats.Writes, render.FormatDuration(k.Repeats.Within))
	}
	if k.Uncompared > 0 {
		t.line("  %s after that not compared", cli.Plural(k.Uncompared, "recorded write"))
	}
}

// other writes the first difference of a key.
func (t *text) other(d *compare.Difference) {
	t.line("  recorded  %s%s", writeText(&d.Recorded), t.cause(d.Recorded.Causes))
	t.line("  replayed  %s with%s", writeText(&d.Replayed), t.cause(d.Replayed.Causes))
	for i, f := range d.Fields {
		if i == maxFields && !t.verbose {
			t.line("    and %s more", cli.Plural(len(d.Fields)-i, "field"))
			break
		}
		t.line("    %s", t.palette.Change(fieldText(f)))
	}
}

// maxValue bounds a value of a field, in runes.
const maxValue = 200

func fieldText(f fields.Change) string { return render.Cut(render.Escape(f.String()), maxValue) }

// list writes the writes of one sort.
func (t *text) list(word string, writes []compare.Write) {
	for i := range writes {
		if i == maxShown && !t.verbose {
			t.line("  %-8s  and %d more", word, len(writes)-i)
			return
		}
		w := &writes[i]
		changes := render.Changes(w.Changes, render.ChangesOptions{Limit: maxFields, All: t.verbose})
		if changes != "" {
			changes = ": " + changes
		}
		if w.Refused != "" {
			changes = ", which is refused: " + render.Escape(w.Refused)
		}
		t.line("  %-8s  %s%s%s", word, writeText(w), changes, t.cause(w.Causes))
	}
}

// writeText spells a write, with the number of the record that shows it.
func writeText(w *compare.Write) string {
	verb := map[compare.Verb]string{
		compare.VerbCreate: "creates", compare.VerbUpdate: "updates", compare.VerbDelete: "deletes",
		compare.VerbUpdateStatus: "updates the status of",
	}[w.Verb]
	kind := w.Object.Kind
	if kind == "" {
		kind = w.Object.Resource
	}
	name := w.Object.Name
	if name == "" {
		name = "with a generated name"
	}
	out := fmt.Sprintf("%s %s %s", verb, kind, name)
	if w.Record > 0 {
		out += fmt.Sprintf(" (#%d", w.Record)
		if !w.Time.IsZero() {
			out += " at " + w.Time.UTC().Format("15:04:05.000")
		}
		out += ")"
	}
	return render.Escape(out)
}

// cause spells what led to a write, in short; empty if that is not known.
func (t *text) cause(causes []trace.Cause) string {
	if len(causes) == 0 {
		return ""
	}
	out := "   ← " + causeText(causes[0])
	if t.ascii {
		out = "   <- " + causeText(causes[0])
	}
	if more := len(causes) - 1; more > 0 && t.verbose {
		out += fmt.Sprintf(" and %d more", more)
	}
	return t.palette.Dim(render.Escape(out))
}

func causeText(c trace.Cause) string {
	switch c.Type {
	case trace.CauseWatch:
		if c.Watch != nil {
			return watchText(c.Watch)
		}
	case trace.CauseRetry:
		return fmt.Sprintf("retry %d", c.Retry)
	case trace.CauseTimer:
		return "timer of " + render.FormatDuration(c.Delay)
	case trace.CauseReconcile:
		return "another reconcile"
	case trace.CauseOther:
	}
	return "the controller itself"
}

func watchText(w *trace.Watch) string {
	verb := map[trace.WatchType]string{
		trace.Added: "created", trace.Modified: "changed", trace.Deleted: "deleted", trace.Resync: "resynced",
	}[w.Event]
	if w.Initial {
		verb = "there at the start"
	}
	out := fmt.Sprintf("%s %s %s", w.Kind, w.Name, verb)
	if w.Writer != "" {
		out += " by " + w.Writer
	}
	return out
}

// conclusion says what came out.
func (t *text) conclusion(r *compare.Result, again repeated) {
	c := r.Counts()
	switch {
	case c.Different == 0 && !r.IsEnough():
		t.line("%s %s of %s the same, but too little was compared", t.palette.Trouble("not enough:"),
			cli.Plural(c.Same, "write"), cli.Plural(c.Keys, "key"))
	case c.Different == 0:
		t.line("same: %s of %s", cli.Plural(c.Same, "write"), cli.Plural(c.Keys, "key"))
	default:
		t.line("%s %d of %s; %d same, %d other, %d missing, %d extra, %d not compared",
			t.palette.Trouble("different:"), c.Different, cli.Plural(c.Keys, "key"), c.Same, c.Other, c.Missing,
			c.Extra, c.Uncompared)
	}
	if again.ran && again.difference == "" {
		t.line("a second run came out the same")
	} else if again.ran {
		t.line("a second run came out otherwise: %s", render.Escape(again.difference))
	}
	for _, note := range notes(r, c, t.verbose) {
		t.line("%s", t.palette.Dim(note))
	}
}

// notComparedText counts the recorded writes of a program of which it is not known that it makes them, and why.
func notComparedText(r *compare.Result) string {
	c := r.Counts()
	var parts []string
	for _, one := range []struct {
		n    int
		what string
	}{
		{c.Merged, "in between"}, {c.ByTimer, "by timers"}, {c.Uncompared, "after a difference"},
		{r.Unattributed, "by unknown writers"},
	} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", one.n, one.what))
		}
	}
	return fmt.Sprintf("%d of %s (%s)", c.NotCompared, cli.Plural(r.Effects, "recorded write"),
		strings.Join(parts, ", "))
}

// notes say what was not compared, and why.
func notes(r *compare.Result, c compare.Counts, verbose bool) []string {
	var out []string
	if c.NotCompared > 0 {
		out = append(out, notComparedText(r)+" not compared")
	}
	if c.Merged > 0 && verbose {
		out = append(out, cli.Plural(c.Merged, "write")+" the same as another one, or in another order: "+
			"that depends on when a controller looks")
	}
	if c.ByTimer > 0 && r.Writers == nil {
		note := cli.Plural(c.ByTimer, "write") + " by timers not compared"
		if !verbose {
			note += "; -v shows them"
		}
		out = append(out, note)
	}
	if r.Unattributed > 0 && r.Writers == nil {
		out = append(out, cli.Plural(r.Unattributed, "event")+" by unknown writers, taken as given")
	}
	if r.Outside > 0 {
		out = append(out, cli.Plural(r.Outside, "write")+" to volumes of claims in namespaces that were not recorded, "+
			"not compared")
	}
	if r.Relisted > 0 {
		out = append(out, cli.Plural(r.Relisted, "event")+" that only a list has shown, taken as given")
	}
	if r.Before > 0 {
		out = append(out, cli.Plural(r.Before, "write")+" because of what was before the first list, taken as given")
	}
	if behind := time.Duration(r.Behind); behind >= time.Second && c.Different > 0 {
		out = append(out, "the machine was busy: the run was up to "+render.FormatDuration(r.Behind)+
			" behind the recorded times, so that timers may have ended beside other events")
	}
	if r.NotServed > 0 {
		out = append(out, cli.Plural(r.NotServed, "event")+" that this version of Kubernetes cannot serve, left out")
	}
	if r.Gaps > 0 {
		out = append(out, cli.Plural(r.Gaps, "gap")+" in the recording: what happened in them is not compared")
	}
	return out
}
