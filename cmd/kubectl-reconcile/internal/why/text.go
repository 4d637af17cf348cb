package why

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
)

// view is what every output is made of.
type view struct {
	diagnosis  *diagnosis.Diagnosis
	incomplete []cluster.Incomplete
	trials     *trials // nil if nothing was tried
	now        time.Time
	// namespace is the one that objects are named without.
	namespace string
	commands  commandMaker
}

func newView(q *query, s *diagnosis.Situation, tried *trials, now time.Time) *view {
	namespace := s.Asked.Namespace
	if s.Asked.Kind.GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
		namespace = s.Asked.Name
	}
	return &view{
		diagnosis: s.Diagnose(now), incomplete: s.Incomplete, trials: tried, now: now, namespace: namespace,
		commands: commandMaker{
			connection: q.options.connectionArgs, program: q.options.connection.Program,
			recorded: q.options.connection.Recording != nil, hasKind: q.hasKind(),
		},
	}
}

// hasKind returns a function that reports whether a recording has objects of a kind; nil for a cluster.
func (q *query) hasKind() func(name string) bool {
	recording := q.options.connection.Recording
	if recording == nil {
		return nil
	}
	return func(name string) bool {
		kinds, err := q.cluster.Kinds.ResolveAll(name)
		return err == nil && slices.ContainsFunc(kinds, func(k cluster.Kind) bool {
			return slices.Contains(recording.Recorded, k.GroupResource().String())
		})
	}
}

// age is how long ago a time is; empty if it is not known.
func (v *view) age(t *metav1.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return render.Age(v.now.Sub(t.Time))
}

// print writes the diagnosis in the format asked for.
func (o *Options) print(v *view) error {
	if o.output != "" {
		return cli.WriteDocument(o.streams.Out, o.output, v.document())
	}
	return o.draw(o.streams.Out, v, o.width)
}

const (
	// mostOthers is how many causes are shown beside the likeliest.
	mostOthers = 5
	// mostEvidence is how many pieces of evidence of the likeliest cause are shown.
	mostEvidence = 5
)

// draw writes the diagnosis for people. Width is that of the terminal; 0 if there is none.
func (o *Options) draw(w io.Writer, v *view, width int) error {
	s := &screen{options: o, view: v, width: width}
	d := v.diagnosis
	s.line(o.palette.Strong(render.Escape(v.headline())))
	if len(d.Causes) > 0 {
		s.first(d.Causes[0])
		s.others(d.Causes[1:])
	} else if !d.Converged {
		s.line("No cause was found: nothing that it reports, owns or uses explains it.")
		for _, c := range v.commands.forObject(d.Asked) {
			s.command("look", c)
		}
	}
	for _, text := range append(v.trialLines(), connect.DescribeIncomplete(v.incomplete)...) {
		name, rest, _ := strings.Cut(cli.OneLine(text), ":")
		s.line(o.palette.Change(name+":") + rest)
	}
	_, err := io.WriteString(w, s.text.String())
	return err
}

// screen is the text that is being written.
type screen struct {
	options *Options
	view    *view
	width   int
	text    strings.Builder
}

// line writes one line, wrapped at the width of the terminal.
func (s *screen) line(text string) {
	fmt.Fprintln(&s.text, render.Wrap(text, s.width, "  "))
}

// labelColumn is the width of labels, with the blanks after them.
const labelColumn = 10

// labelled writes a line with a label before it, in a column, wrapped at the width of the terminal.
func (s *screen) labelled(label, text string) {
	fmt.Fprintln(&s.text, render.Wrap(s.padded(label)+text, s.width, "  "+strings.Repeat(" ", labelColumn)+"  "))
}

// column is labelled for a line that is not to be wrapped.
func (s *screen) column(label, text string) { fmt.Fprintln(&s.text, s.padded(label)+text) }

func (s *screen) padded(label string) string {
	if label != "" {
		label += ":"
	}
	padding := strings.Repeat(" ", labelColumn-len(label))
	if strings.HasPrefix(label, "change") {
		label = s.options.palette.Change(label)
	}
	return "  " + label + padding
}

// first writes the likeliest cause with all that is known of it.
func (s *screen) first(c *diagnosis.Cause) {
	p := s.options.palette
	sentence := s.view.sentence(c)
	s.line(p.Trouble("cause") + " (" + certaintyText(c.Certainty) + "): " + render.Escape(sentence+s.view.alsoOn(c)))
	s.chain(c)
	for i, text := range s.view.evidenceTexts(c.Evidence[:min(len(c.Evidence), mostEvidence)], sentence) {
		label := ""
		if i == 0 {
			label = "evidence"
		}
		s.labelled(label, cli.OneLine(text))
	}
	s.commands(c)
}

// commands writes the commands of a cause: first those that only show more.
func (s *screen) commands(c *diagnosis.Cause) {
	for _, changes := range []bool{false, true} {
		label := map[bool]string{false: "look", true: "change"}[changes]
		for _, command := range s.view.commands.of(c) {
			if command.Changes != changes {
				continue
			}
			s.command(label, command)
			label = ""
		}
	}
}

// command writes a command so that it can be copied: one that is too long for a line is continued as shells do it, and
// what it does is said in a line before it then.
func (s *screen) command(label string, c v1alpha1.Command) {
	text, comment := render.Escape(c.Command), ""
	if c.For != "" {
		comment = "# " + render.Escape(c.For)
	}
	room := s.width - len("  ") - labelColumn
	dim := s.options.palette.Dim
	switch {
	case comment == "":
	case s.width == 0 || render.Cells(text)+len("  ")+render.Cells(comment) <= room:
		s.column(label, text+"  "+dim(comment))
		return
	default:
		for line := range strings.SplitSeq(render.Wrap(comment, room, "# "), "\n") {
			s.column(label, dim(line))
			label = ""
		}
	}
	for _, line := range continued(text, room) {
		s.column(label, line)
		label = ""
	}
}

// continued breaks a command for a shell into lines of at most so many cells, between words and not within quotes; each
// but the last ends in a backslash. A width of 0 or less breaks nothing, and a word that is longer is not broken.
func continued(command string, width int) []string {
	if width <= 0 || render.Cells(command) <= width {
		return []string{command}
	}
	const indent, more = "  ", " \\"
	var out []string
	line := ""
	for _, word := range shellWords(command) {
		switch {
		case line == "":
			line = word
		case render.Cells(line)+1+render.Cells(word)+len(more) <= width:
			line += " " + word
		default:
			out = append(out, line+more)
			line = indent + word
		}
	}
	return append(out, line)
}

// shellWords divides a command at blanks that are in no single quotes.
func shellWords(command string) []string {
	var out []string
	quoted, begin := false, 0
	for i := range len(command) {
		switch {
		case command[i] == '\'' && (quoted || i == 0 || command[i-1] != '\\'):
			quoted = !quoted
		case command[i] == ' ' && !quoted:
			out = append(out, command[begin:i])
			begin = i + 1
		}
	}
	return append(out, command[begin:])
}

// alsoOn counts the other objects that show a cause.
func (v *view) alsoOn(c *diagnosis.Cause) string {
	if len(c.Others) == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more like it)", len(c.Others))
}

// chain draws the way from the object asked for to the cause.
func (s *screen) chain(c *diagnosis.Cause) {
	elbow := "└─"
	if s.options.ascii {
		elbow = "`-"
	}
	type row struct{ label, status, reason string }
	rows := make([]row, len(c.Chain))
	widest := 0
	for i, l := range c.Chain {
		before, after := "", ""
		if i > 0 {
			before = strings.Repeat("  ", i-1) + elbow
		}
		if l.Relation != "" {
			after = "  " + l.Relation
		}
		label := s.view.label(l.Node)
		if s.width > 0 { // the whole name is in the sentence, or in the commands
			label = cutMiddle(label, max(s.width*6/10-render.Cells(before)-render.Cells(after), 24))
		}
		label = before + label + after
		rows[i] = row{render.Escape(label), l.Facts.Status.Status, render.Escape(l.Facts.Reason)}
		if i == 0 {
			rows[i].status = s.view.diagnosis.Status
		}
		widest = max(widest, render.Cells(rows[i].label))
	}
	for _, r := range rows {
		text := "  " + r.label + strings.Repeat(" ", widest-render.Cells(r.label)+3) + r.status
		if r.reason != "" {
			text += ": " + r.reason
		}
		if s.width > 0 {
			text = render.Cut(text, s.width)
		}
		fmt.Fprintln(&s.text, text)
	}
}

// cutMiddle cuts a name to a number of characters: names of pods end in what distinguishes them.
func cutMiddle(name string, most int) string {
	runes := []rune(name)
	if len(runes) <= most {
		return name
	}
	end := most / 3
	return string(runes[:most-end-1]) + "…" + string(runes[len(runes)-end:])
}

// others writes the causes beside the likeliest, in short.
func (s *screen) others(all []*diagnosis.Cause) {
	for _, c := range all[:min(len(all), mostOthers)] {
		sentence := s.view.sentence(c) + s.view.alsoOn(c)
		s.line(s.options.palette.Change("also") + " (" + certaintyText(c.Certainty) + "): " + render.Escape(sentence))
		if commands := s.view.commands.of(c); len(commands) > 0 && !commands[0].Changes {
			s.command("look", commands[0])
		}
	}
	if more := len(all) - mostOthers; more > 0 {
		s.line(fmt.Sprintf("also: %s; -o json has all", cli.Plural(more, "more cause")))
	}
}
