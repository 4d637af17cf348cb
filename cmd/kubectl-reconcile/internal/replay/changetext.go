package replay

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
)

// namedFields matches the fields that have words of their own.
var namedFields = regexp.MustCompile(`^metadata\.(ownerReferences|finalizers|deletionTimestamp|generation)\b` +
	`|^status\.observedGeneration$`)

// detailFields matches fields that follow from others that are shown, or that matter to few.
var detailFields = regexp.MustCompile(`^status\.(init|ephemeral)?[cC]ontainerStatuses\b` +
	`|^status\.(startTime|podIPs|hostIPs|qosClass)\b|^metadata\.deletionGracePeriodSeconds$`)

// followingFields matches fields that are shown if there is room.
var followingFields = regexp.MustCompile(
	`^status\.(podIP|hostIP|terminatingReplicas|observedGeneration|nominatedNodeName)$`)

// impliedConditions are conditions of pods that follow from those of its containers.
var impliedConditions = map[string]bool{
	"Initialized": true, "ContainersReady": true, "PodReadyToStartContainers": true,
}

// condition matches a field of a condition.
var condition = regexp.MustCompile(`^status\.conditions\[type=([^\]]+)\]`)

// The limits of what is shown of a change without -v.
const (
	maxDetails = 4
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

// detail is a part of a change.
type detail struct {
	text string // safe for a terminal
	rank detailRank
}

// detailRank is how much a part of a change tells: of many, those of the first ranks are shown.
type detailRank int

// The ranks of details.
const (
	alwaysShown detailRank = iota
	telling
	following // from others, or of interest to few
)

// parts returns the parts of a change that are shown, in their order.
func (p *printer) parts(e *timeline.Entry, c *timeline.ObjectChange) []string {
	var out []detail
	add := func(rank detailRank, text string) {
		out = append(out, detail{render.Escape(text), rank})
	}
	whole := e.Type != timeline.Modified || c.Replaced || c.Unknown
	if c.DeletionRequested {
		out = append(out, detail{p.palette.Change("deletion requested"), alwaysShown})
	}
	if c.Only != "" {
		out = append(out, detail{p.palette.Change(onlyTexts[c.Only] + " only"), alwaysShown})
		for _, f := range c.Fields {
			add(telling, render.Cut(f.String(), 2*maxMessage))
		}
		return p.shortened(out)
	}
	for _, text := range setTexts(c, whole) {
		add(alwaysShown, text)
	}
	if whole && e.Type != timeline.Deleted && len(c.Fields) == 0 {
		if text := replicasText(c.Replicas); text != "" {
			add(alwaysShown, text)
		}
	}
	fields := otherFields(c)
	out = append(out, p.fieldDetails(fields)...)
	for _, one := range c.Containers {
		add(telling, containerText(one))
	}
	out = append(out, p.conditionDetails(e, c, whole)...)
	if text := generationText(c); text != "" && !whole {
		rank := telling
		if isPod(e) {
			rank = following
		}
		add(rank, text)
	}
	if len(out) == 0 && !whole {
		return []string{render.Changes(fields, render.ChangesOptions{Limit: 1, All: true})}
	}
	return p.shortened(out)
}

// shortened returns the texts of details: of many those that tell most, and how many are left out.
func (p *printer) shortened(details []detail) []string {
	kept := details
	if len(details) > maxDetails+1 && !p.verbose && !p.allFields { // one more is no longer than to say so
		kept = slices.DeleteFunc(slices.Clone(details), func(d detail) bool { return d.rank == following })
		if len(kept) == 0 {
			kept = slices.Clone(details)
		}
		for i := len(kept) - 1; i >= 0 && len(kept) > maxDetails; i-- {
			if kept[i].rank != alwaysShown {
				kept = slices.Delete(kept, i, i+1)
			}
		}
	}
	var out []string
	for _, d := range kept {
		out = append(out, d.text)
	}
	if more := len(details) - len(kept); more > 0 {
		out = append(out, fmt.Sprintf("… and %d more", more))
	}
	return out
}

// setTexts returns the owners and finalizers that are new or gone.
func setTexts(c *timeline.ObjectChange, whole bool) []string {
	var out []string
	for _, o := range c.OwnersAdded {
		if whole {
			out = append(out, "of "+o.Kind+"/"+o.Name)
		} else {
			out = append(out, "owner "+o.Kind+"/"+o.Name+" added")
		}
	}
	for _, o := range c.OwnersRemoved {
		out = append(out, "owner "+o.Kind+"/"+o.Name+" removed")
	}
	for _, f := range c.FinalizersAdded {
		if whole {
			out = append(out, "finalizer "+f)
		} else {
			out = append(out, "finalizer "+f+" added")
		}
	}
	for _, f := range c.FinalizersRemoved {
		out = append(out, "finalizer "+f+" removed")
	}
	return out
}

// fieldDetails returns the fields that changed; without -v only those that matter to most. Of a status the first two
// tell most: what is ready and available.
func (p *printer) fieldDetails(changes []fields.Change) []detail {
	if p.verbose || p.allFields {
		return ranked(render.ChangeTexts(changes, render.ChangesOptions{All: true}), len(changes))
	}
	var shown, wanted, others []fields.Change
	for _, f := range changes {
		switch {
		case detailFields.MatchString(f.Path):
		case followingFields.MatchString(f.Path):
			others = append(others, f)
		default:
			shown = append(shown, f)
			if !strings.HasPrefix(f.Path, "status.") {
				wanted = append(wanted, f)
			}
		}
	}
	const ofStatus = 2
	tell := len(render.ChangeTexts(wanted, render.ChangesOptions{})) + ofStatus
	return append(ranked(render.ChangeTexts(shown, render.ChangesOptions{}), tell),
		ranked(render.ChangeTexts(others, render.ChangesOptions{}), 0)...)
}

// ranked returns texts as details, of which so many tell much.
func ranked(texts []string, tell int) []detail {
	var out []detail
	for i, text := range texts {
		rank := following
		if i < tell {
			rank = telling
		}
		out = append(out, detail{text, rank})
	}
	return out
}

// conditionDetails returns the conditions that changed.
func (p *printer) conditionDetails(e *timeline.Entry, c *timeline.ObjectChange, whole bool) []detail {
	var out []detail
	shown := map[string]bool{}
	for _, one := range c.Conditions {
		if shown[one.Reason+one.Message] && !p.verbose {
			one.Message = "" // several conditions of a pod have the same
		}
		shown[one.Reason+one.Message] = true
		rank := telling
		if isPod(e) && one.Type != "Ready" && (one.To == "True" || impliedConditions[one.Type]) {
			rank = following
		}
		if text := p.conditionText(one, whole); text != "" {
			out = append(out, detail{text, rank})
		}
	}
	return out
}

func isPod(e *timeline.Entry) bool {
	return e.Object != nil && e.Object.Kind == "Pod" && e.Object.APIVersion == "v1"
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
func otherFields(c *timeline.ObjectChange) []fields.Change {
	flipped := map[string]bool{}
	for _, one := range c.Conditions {
		flipped[one.Type] = true
	}
	var out []fields.Change
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
	return slices.ContainsFunc(c.Fields, func(f fields.Change) bool { return f.Path == path })
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
