package replay

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
)

// namedFields matches the fields that have words of their own.
var namedFields = regexp.MustCompile(`^metadata\.(ownerReferences|finalizers|deletionTimestamp|generation)\b` +
	`|^status\.observedGeneration$`)

// detailFields matches fields that follow from others that are shown, or that matter to few.
var detailFields = regexp.MustCompile(`^status\.(init|ephemeral)?[cC]ontainerStatuses\b` +
	`|^status\.(startTime|podIPs|hostIPs|qosClass)\b|^metadata\.deletionGracePeriodSeconds$`)

// condition matches a field of a condition.
var condition = regexp.MustCompile(`^status\.conditions\[type=([^\]]+)\]`)

// The limits of what is shown of a change without -v.
const (
	maxFields  = 6
	maxMessage = 60
)

// changeText returns what changed in an object, safe for a terminal.
func (p *printer) changeText(e *timeline.Entry) string {
	c := e.Change
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case c == nil:
	case e.Type == timeline.Deleted:
		add("%s", p.palette.Change("gone"))
	case e.Type == timeline.Existing:
		add("there at the start")
	case c.Replaced:
		add("%s", p.palette.Change("created again, the one before is gone"))
	case e.Type == timeline.Added:
		add("%s", p.palette.Change("created"))
	case c.Unknown:
		add("changed; how it was before is not recorded")
	}
	if c != nil {
		parts = append(parts, p.parts(e, c)...)
	}
	if e.Problem != "" {
		add("%s", p.palette.Trouble("unreadable: "+render.Escape(e.Problem)))
	}
	if e.Relisted {
		add("found by listing again")
	}
	return strings.Join(parts, ", ")
}

// parts returns the parts of a change in the order in which they are shown.
func (p *printer) parts(e *timeline.Entry, c *timeline.ObjectChange) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, render.Escape(fmt.Sprintf(format, args...))) }
	whole := e.Type != timeline.Modified || c.Replaced || c.Unknown
	if c.DeletionRequested {
		out = append(out, p.palette.Change("deletion requested"))
	}
	for _, o := range c.OwnersAdded {
		if whole {
			add("of %s/%s", o.Kind, o.Name)
		} else {
			add("owner %s/%s added", o.Kind, o.Name)
		}
	}
	for _, o := range c.OwnersRemoved {
		add("owner %s/%s removed", o.Kind, o.Name)
	}
	for _, f := range c.FinalizersAdded {
		if whole {
			add("finalizer %s", f)
		} else {
			add("finalizer %s added", f)
		}
	}
	for _, f := range c.FinalizersRemoved {
		add("finalizer %s removed", f)
	}
	if whole && e.Type != timeline.Deleted && len(c.Fields) == 0 {
		if text := replicasText(c.Replicas); text != "" {
			add("%s", text)
		}
	}
	fields := otherFields(c)
	if text := p.fieldsText(fields); text != "" {
		out = append(out, text)
	}
	for _, one := range c.Containers {
		add("%s", containerText(one))
	}
	shown := map[string]bool{}
	for _, one := range c.Conditions {
		if shown[one.Reason+one.Message] && !p.verbose {
			one.Message = "" // several conditions of a pod have the same
		}
		shown[one.Reason+one.Message] = true
		if text := p.conditionText(one, whole); text != "" {
			out = append(out, text)
		}
	}
	if text := generationText(c); text != "" && !whole {
		add("%s", text)
	}
	if len(out) == 0 && !whole {
		out = append(out, render.Changes(fields, render.ChangesOptions{Limit: 1, All: true}))
	}
	return out
}

// fieldsText returns the fields that changed; without -v only those that matter to most.
func (p *printer) fieldsText(fields []inspect.Change) string {
	if p.verbose || p.allFields {
		return render.Changes(fields, render.ChangesOptions{All: true})
	}
	var shown []inspect.Change
	for _, f := range fields {
		if !detailFields.MatchString(f.Path) {
			shown = append(shown, f)
		}
	}
	return render.Changes(shown, render.ChangesOptions{Limit: maxFields})
}

// containerText returns the state of a container that changed: "container web waiting -> running".
func containerText(c timeline.ContainerChange) string {
	text := "container " + c.Name
	switch {
	case c.From == c.To && c.To != "" && c.Restarted == 0, c.From == "":
		text += " " + c.To
	case c.From != c.To:
		text += " " + strings.TrimSpace(c.From+" -> "+c.To)
	}
	var details []string
	if c.Reason != "" {
		details = append(details, c.Reason)
	}
	if c.LastReason != "" && c.LastReason != c.Reason {
		details = append(details, "after "+c.LastReason)
	}
	if c.ExitCode != nil && (*c.ExitCode != 0 || c.Restarted > 0) {
		details = append(details, fmt.Sprintf("exit code %d", *c.ExitCode))
	}
	if c.Restarted > 0 {
		details = append(details, fmt.Sprintf("restart %d", c.Restarts))
	}
	if c.Message != "" && c.To == "waiting" {
		details = append(details, render.Cut(c.Message, maxMessage))
	}
	if len(details) > 0 {
		text += " (" + strings.Join(details, ", ") + ")"
	}
	return text
}

// otherFields returns the fields of a change that have no words of their own. Of a condition whose status or reason did
// not change, it keeps the message.
func otherFields(c *timeline.ObjectChange) []inspect.Change {
	flipped := map[string]bool{}
	for _, one := range c.Conditions {
		flipped[one.Type] = true
	}
	var out []inspect.Change
	for _, f := range c.Fields {
		m := condition.FindStringSubmatch(f.Path)
		if namedFields.MatchString(f.Path) || m != nil && flipped[m[1]] {
			continue
		}
		out = append(out, f)
	}
	return out
}

// conditionText returns a condition that changed: "Ready False -> True (Reason)".
func (p *printer) conditionText(c timeline.ConditionChange, whole bool) string {
	text := c.Type + " "
	switch {
	case whole && !p.verbose:
		return ""
	case c.To == "":
		return render.Escape(c.Type + " gone")
	case c.From == "" || c.From == c.To:
		text += c.To
	default:
		text += c.From + " -> " + c.To
	}
	reason := c.Reason
	if c.Message != "" && (p.verbose || c.To != "True") {
		message := c.Message
		if !p.verbose {
			message = render.Cut(message, maxMessage)
		}
		reason = strings.TrimPrefix(reason+": "+message, ": ")
	}
	if reason != "" {
		text += " (" + reason + ")"
	}
	return render.Escape(text)
}

// generationText returns what changed of the generation and of the one that was observed.
func generationText(c *timeline.ObjectChange) string {
	generation, observed := changed(c, "metadata.generation"), changed(c, "status.observedGeneration")
	switch {
	case generation && observed && c.Generation != nil && c.ObservedGeneration != nil:
		return fmt.Sprintf("generation %d, observed %d", *c.Generation, *c.ObservedGeneration)
	case generation && c.Generation != nil:
		return fmt.Sprintf("generation %d", *c.Generation)
	case observed && c.ObservedGeneration != nil && c.Generation != nil:
		return fmt.Sprintf("observed generation %d of %d", *c.ObservedGeneration, *c.Generation)
	}
	return ""
}

func changed(c *timeline.ObjectChange, path string) bool {
	for _, f := range c.Fields {
		if f.Path == path {
			return true
		}
	}
	return false
}

// replicasText returns how many replicas a new object wants, and how many are ready.
func replicasText(r *timeline.Replicas) string {
	switch {
	case r == nil || r.Wanted == nil:
		return ""
	case r.Ready == nil:
		return fmt.Sprintf("replicas %d", *r.Wanted)
	}
	return fmt.Sprintf("replicas %d, ready %d", *r.Wanted, *r.Ready)
}
