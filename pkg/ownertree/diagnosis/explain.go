package diagnosis

import (
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// isExplained reports whether a cause was found of a node, or of what it owns or uses, that is more than a symptom.
func (d *diagnoser) isExplained(n *ownertree.Node) bool {
	return slices.ContainsFunc(d.causes, func(c *Cause) bool {
		return c.Weight > inspect.Symptom && slices.ContainsFunc(c.Chain, func(l Link) bool { return l.Node == n })
	})
}

// isMadeBy reports whether a cause was found of what should make an object that a node lacks.
func (d *diagnoser) isMadeBy(n *ownertree.Node, missing *inspect.Reference) bool {
	isExplained := func(maker ownertree.Relation) bool { return d.isExplained(maker.To) }
	return slices.ContainsFunc(d.relations[n], func(r ownertree.Relation) bool {
		return r.Missing && r.To.Kind.Kind == missing.Kind && r.To.Name == missing.Name &&
			slices.ContainsFunc(d.relations[r.To], isExplained)
	})
}

// waitsForClaim reports whether a cause was found of a claim that a pod uses.
func (d *diagnoser) waitsForClaim(n *ownertree.Node) bool {
	return slices.ContainsFunc(d.relations[n], func(r ownertree.Relation) bool {
		return r.To.Kind.Kind == "PersistentVolumeClaim" && d.isExplained(r.To)
	})
}

// notActedOn reports whether a cause was found of what seems to run the controller of a node.
func (d *diagnoser) notActedOn(n *ownertree.Node) bool {
	return slices.ContainsFunc(d.relations[n], func(r ownertree.Relation) bool {
		return r.Type == runBy && d.isExplained(r.To)
	})
}

// sameTail reports whether what two objects report ends with the same error, in two parts at least, which one of them
// has from the other.
func sameTail(a, b string) bool {
	parts := strings.Split(a, ": ")
	return len(parts) > 2 && strings.HasSuffix(b, ": "+strings.Join(parts[len(parts)-2:], ": "))
}

// readyBelow says of a custom resource that is being worked on, and of which no more is known than what it reports,
// that all that it owns is as requested: its controller may not have been told.
func (d *diagnoser) readyBelow(n *treestatus.StatusNode, own []inspect.Cause) {
	if isBuiltIn(n.Branch.Node.Kind) || n.Facts.Status.Status != inspect.InProgress || n.WorstSeverity > n.Severity {
		return
	}
	var ready []inspect.Evidence
	for _, c := range n.Children {
		if c.Branch.Relation == "" && c.Facts.Current() && c.Facts.Ready != "" && len(ready) < mostAlike {
			ready = append(ready, inspect.Evidence{
				Source: inspect.FromObject, Name: c.Branch.Node.Kind.Kind + "/" + c.Branch.Node.Name,
				Text: "is as its spec requests (" + c.Facts.Ready + " ready), of which its controller may not be told",
			})
		}
	}
	for i := range own {
		if reportsInWords(&own[i]) && len(ready) > 0 {
			own[i].Evidence = append(own[i].Evidence, ready...)
			if own[i].Certainty == inspect.Certain {
				own[i].Certainty = inspect.Likely
			}
		}
	}
}

// repeats reports whether an object repeats in a cause what one below it reports.
func repeats(c *inspect.Cause, below *Cause) bool {
	return below.Type == c.Type && referenceText(below.Refers) == referenceText(c.Refers) && below.Weight >= c.Weight &&
		(c.Refers != nil || !reportsInWords(c) || strings.Contains(c.Detail, below.Detail) ||
			sameTail(c.Detail, below.Detail))
}

// heaviestOf returns how much the causes explain that explain most.
func heaviestOf(causes []*Cause) inspect.Weight {
	heaviest := inspect.Symptom
	for _, c := range causes {
		heaviest = max(heaviest, c.Weight)
	}
	return heaviest
}

// behindPause makes little of what pods lack whose owner is paused with a change: it may not be of the template that is
// wanted.
func behindPause(own []inspect.Cause, below []*Cause) {
	waits := func(c inspect.Cause) bool { return strings.HasSuffix(c.Detail, inspect.ChangeWaits) }
	if !slices.ContainsFunc(own, waits) {
		return
	}
	for _, c := range below {
		c.Weight = min(c.Weight, inspect.General)
	}
}

// explain makes symptoms of those causes of an object that others explain: its own, or those found below it.
func (d *diagnoser) explain(n *ownertree.Node, own []inspect.Cause, below []*Cause) {
	found := func(types ...inspect.CauseType) bool {
		is := func(c inspect.Cause) bool { return c.Weight == inspect.Specific && slices.Contains(types, c.Type) }
		return slices.ContainsFunc(own, is) || slices.ContainsFunc(below, func(c *Cause) bool { return is(c.Cause) })
	}
	volumes := found(inspect.ProvisioningFailed, inspect.VolumeLost, inspect.VolumeNotBound, inspect.MissingObject)
	unbound := d.waitsForClaim(n)
	attached := slices.ContainsFunc(below, func(c *Cause) bool { return c.Type == inspect.VolumeNotAttached })
	missing := found(inspect.MissingObject, inspect.MissingKey)
	heaviest := heaviestOf(below)
	behindPause(own, below)
	for i := range own {
		c := &own[i]
		if slices.ContainsFunc(below, func(b *Cause) bool { return repeats(c, b) }) {
			c.Weight = inspect.Symptom
		}
		switch c.Type { //nolint:exhaustive // the others stand for themselves
		case inspect.MissingObject:
			if d.isMadeBy(n, c.Refers) {
				c.Weight = inspect.Symptom
			}
		case inspect.HeldByQueue:
			if heaviest > inspect.Symptom {
				c.Weight = inspect.General
			}
		case inspect.NoStatus, inspect.Finalizer:
			if d.notActedOn(n) {
				c.Weight = min(c.Weight, inspect.General)
			}
		case inspect.Unschedulable:
			if (volumes || unbound) && strings.Contains(strings.ToLower(c.Detail), "volume") {
				c.Weight = inspect.Symptom
			}
		case inspect.VolumeNotMounted, inspect.ContainerNotStarted:
			if missing || attached {
				c.Weight = inspect.Symptom
			}
		case inspect.VolumeNotAttached:
			if attached {
				c.Weight = inspect.Symptom
			}
		case inspect.ScaleTarget, inspect.NoAddress, inspect.VolumeNotBound:
			if missing {
				c.Weight = inspect.Symptom
			}
		case inspect.APIUnavailable:
			if heaviest == inspect.Specific {
				c.Weight = inspect.Symptom
			}
		case inspect.ConditionFailed, inspect.StateFailed, inspect.WarningReported:
			waits := d.facts.Of(n).Status.Status == inspect.InProgress && heaviest > inspect.Symptom
			if missing || waits || heaviest == inspect.Specific {
				c.Weight = inspect.Symptom
			}
		case inspect.GenerationNotSeen:
			if c.Certainty == inspect.Possible && n == d.Asked && (len(below) > 0 || len(own) > 1) {
				c.Weight = inspect.Symptom
			} else if d.notActedOn(n) {
				c.Weight = inspect.General
			}
		}
	}
}
