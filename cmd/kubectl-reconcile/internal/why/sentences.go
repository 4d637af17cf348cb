package why

import (
	"fmt"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/causetext"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// sentence says a cause in words.
func (v *view) sentence(c *diagnosis.Cause) string {
	return causetext.Sentence(&c.Cause, v.label(c.Node()))
}

// label names an object.
func (v *view) label(n *ownertree.Node) string {
	name := n.Kind.Kind + "/" + n.Name
	if n.Namespace != "" && n.Namespace != v.namespace {
		name += " of namespace " + n.Namespace
	}
	return name
}

// headline says in one sentence how the object is.
func (v *view) headline() string {
	d := v.diagnosis
	name := d.Asked.Kind.Kind + " " + d.Asked.Name
	since := ""
	if age := v.age(d.Since); age != "" {
		since = " for " + age
	}
	reason := ""
	if d.Facts.Reason != "" {
		reason = ": " + d.Facts.Reason
	}
	nothing := "nothing is wrong with it"
	if len(v.incomplete) > 0 {
		nothing += ", as far as could be read"
	}
	switch {
	case d.Converged && d.Facts.Ready != "":
		return fmt.Sprintf("%s is as its spec requests (%s ready); %s", name, d.Facts.Ready, nothing)
	case d.Converged:
		return name + " is as its spec requests; " + nothing
	case d.Status == treestatus.Dangling:
		return name + " is about to be deleted by the garbage collector"
	case d.Status == inspect.Terminating:
		return name + " is being deleted" + since + reason
	case d.Status == inspect.Suspended:
		return name + " is suspended" + since + reason
	case d.Status == inspect.Failed:
		return name + " has failed" + since + reason
	case d.Status == inspect.Current && len(d.Causes) > 0 && d.Facts.Reason == "":
		return name + " reports nothing wrong, but there is a cause for trouble"
	case d.Status == inspect.Current:
		return name + " is as its spec requests" + reason
	case d.Status == inspect.Degraded:
		return name + " is degraded" + since + reason
	}
	return name + " has not converged" + since + reason
}

// certaintyText says how sure a cause is.
func certaintyText(c inspect.Certainty) string {
	switch c {
	case inspect.Certain:
		return "certain"
	case inspect.Likely:
		return "likely"
	case inspect.Possible:
	}
	return "possible"
}

// longestEvidence is how much of a piece of evidence is shown, in characters; the documents have all of it.
const longestEvidence = 300

// evidenceTexts describes evidence for people. What was said already, in the sentence before or by the evidence before,
// is not said again.
func (v *view) evidenceTexts(all []inspect.Evidence, said string) []string {
	var out []string
	for _, e := range all {
		whole := e.Text
		if begin, rest, ok := strings.Cut(e.Text, ": "); ok && len(rest) > 40 && strings.Contains(said, rest) {
			e.Text = begin
			if e.Source == inspect.FromEvent {
				e.Text = ""
			}
		}
		said += "\n" + whole
		out = append(out, render.Cut(v.evidenceText(e), longestEvidence))
	}
	return out
}

// evidenceText describes one thing that shows a cause.
func (v *view) evidenceText(e inspect.Evidence) string {
	source := map[inspect.EvidenceSource]string{
		inspect.FromField: "field ", inspect.FromCondition: "condition ", inspect.FromEvent: "event ",
		inspect.FromLease: "lease ", inspect.FromWriter: "manager ", inspect.FromController: "controller ",
	}[e.Source]
	var more []string
	if e.Count > 1 {
		more = append(more, cli.Plural(int(e.Count), "time"))
	}
	if age := v.age(e.Time); age != "" {
		if e.Source == inspect.FromCondition {
			more = append(more, "for "+age)
		} else {
			more = append(more, age+" ago")
		}
	}
	if e.By != "" {
		more = append(more, "by "+e.By)
	}
	text := source + e.Name
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}
