package why

import (
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
)

// view is what every output is made of.
type view struct {
	diagnosis  *diagnosis.Diagnosis
	incomplete []cluster.Incomplete
	now        time.Time
	// namespace is the one that objects are named without.
	namespace string
	commands  commandMaker
}

func newView(q *query, s *diagnosis.Situation, now time.Time) *view {
	namespace := s.Asked.Namespace
	if s.Asked.Kind.GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
		namespace = s.Asked.Name
	}
	return &view{
		diagnosis: s.Diagnose(now), incomplete: s.Incomplete, now: now, namespace: namespace,
		commands: commandMaker{context: q.options.context, program: q.options.connection.Program},
	}
}

// age is how long ago a time is; empty if it is not known.
func (v *view) age(t *metav1.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return duration.HumanDuration(v.now.Sub(t.Time))
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
			s.labelled("look", render.Escape(c.Command))
		}
	}
	for _, text := range connect.DescribeIncomplete(v.incomplete) {
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

// labelled writes a line with a label before it, in a column.
func (s *screen) labelled(label, text string) {
	const column = 10
	if label != "" {
		label += ":"
	}
	padding := strings.Repeat(" ", column-len(label))
	if strings.HasPrefix(label, "change") {
		label = s.options.palette.Change(label)
	}
	fmt.Fprintln(&s.text, render.Wrap("  "+label+padding+text, s.width, "  "+strings.Repeat(" ", column)+"  "))
}

// first writes the likeliest cause with all that is known of it.
func (s *screen) first(c *diagnosis.Cause) {
	p := s.options.palette
	s.line(p.Trouble("cause") + " (" + certaintyText(c.Certainty) + "): " + render.Escape(s.view.sentence(c)+s.view.alsoOn(c)))
	s.chain(c)
	for i, e := range c.Evidence[:min(len(c.Evidence), mostEvidence)] {
		label := ""
		if i == 0 {
			label = "evidence"
		}
		s.labelled(label, cli.OneLine(render.Cut(s.view.evidenceText(e), 600)))
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
			text := render.Escape(command.Command)
			if command.For != "" {
				text += "  " + s.options.palette.Dim("# "+render.Escape(command.For))
			}
			s.labelled(label, text)
			label = ""
		}
	}
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
		label := s.view.label(l.Node)
		if i > 0 {
			label = strings.Repeat("  ", i-1) + elbow + label
		}
		if l.Relation != "" {
			label += "  " + l.Relation
		}
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

// others writes the causes beside the likeliest, in short.
func (s *screen) others(all []*diagnosis.Cause) {
	for _, c := range all[:min(len(all), mostOthers)] {
		sentence := s.view.sentence(c) + s.view.alsoOn(c)
		s.line(s.options.palette.Change("also") + " (" + certaintyText(c.Certainty) + "): " + render.Escape(sentence))
		for _, command := range s.view.commands.of(c)[:min(1, len(s.view.commands.of(c)))] {
			s.labelled("look", render.Escape(command.Command))
		}
	}
	if more := len(all) - mostOthers; more > 0 {
		s.line(fmt.Sprintf("also: %s; -o json has all", cli.Plural(more, "more cause")))
	}
}
