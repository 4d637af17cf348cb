package replay

import (
	"fmt"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// reconcile writes a reconcile. Those that wrote nothing and did not fail are only shown with -v.
func (p *printer) reconcile(e *timeline.Entry) {
	r := e.Reconcile
	if r == nil {
		p.line(e, "", "trace", p.palette.Trouble("unreadable: "+render.Escape(e.Problem)), "")
		return
	}
	failed := r.Outcome != string(trace.Done) && r.PutOff == ""
	if len(r.Writes) == 0 && !failed && !p.verbose {
		return
	}
	parts := p.writes(r)
	if len(parts) == 0 {
		parts = []string{"no writes"}
	}
	text := render.Escape(r.Key) + ": " + strings.Join(parts, ", ")
	switch {
	case r.PutOff != "":
		text += ", put off: its cache of " + render.Escape(r.PutOff) + " does not show yet what it wrote"
	case failed:
		text += ", " + p.palette.Trouble(failureText(r))
	}
	if why := causesText(r); why != "" {
		text += p.palette.Dim("   because " + why)
	}
	object := r.Controller
	if r.Number > 0 {
		object += fmt.Sprintf(" #%d", r.Number)
	}
	p.line(e, "", render.Escape(object), text, "")
}

// failureText returns how a reconcile failed, without an error that a write has already.
func failureText(r *timeline.Reconcile) string {
	text := render.TrimAPIError(r.Error)
	for _, w := range r.Writes {
		if w.Failed() && render.TrimAPIError(w.Message) == text {
			text = ""
		}
	}
	return render.Escape(strings.TrimSuffix(r.Outcome+": "+text, ": "))
}

// writes returns what a reconcile wrote, the same writes to objects of a kind as one.
func (p *printer) writes(r *timeline.Reconcile) []string {
	var out []string
	for i := 0; i < len(r.Writes); {
		w := r.Writes[i]
		n := 1
		for i+n < len(r.Writes) && sameWrite(r.Writes[i+n], w) {
			n++
		}
		text := w.Verb + " " + w.Object.Kind
		switch {
		case n > 1:
			text += fmt.Sprintf(" (%d)", n)
		case w.Object.Name != "":
			text += "/" + w.Object.Name
		}
		if w.Subresource != "" {
			text += " " + w.Subresource
		}
		text = render.Escape(text)
		if w.Failed() {
			text += " " + p.palette.Trouble("refused: "+render.Escape(render.TrimAPIError(w.Message)))
		}
		out = append(out, text)
		i += n
	}
	return out
}

func sameWrite(a, b timeline.Write) bool {
	return a.Verb == b.Verb && a.Object.Kind == b.Object.Kind && a.Subresource == b.Subresource && a.Code == b.Code &&
		(a.Verb == "create" || a.Verb == "delete")
}

// maxCauses bounds the causes that are shown.
const maxCauses = 2

// causesText returns why a reconcile ran.
func causesText(r *timeline.Reconcile) string {
	var out []string
	for _, c := range r.Causes[:min(len(r.Causes), maxCauses)] {
		text := c.Type
		switch {
		case c.Object != nil:
			text = strings.ToLower(c.Event) + " " + c.Object.Kind + "/" + c.Object.Name
		case c.Reconcile != 0:
			text = fmt.Sprintf("%s of #%d", c.Type, c.Reconcile)
		}
		if c.Writer != "" {
			text += " by " + c.Writer
			if c.Reconcile != 0 {
				text += fmt.Sprintf(" #%d", c.Reconcile)
			}
		}
		out = append(out, text)
	}
	if more := len(r.Causes) + r.MoreCauses - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return render.Escape(strings.Join(out, ", "))
}
