package diagnosis

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// rank orders causes, the likeliest first. Those that several objects show are one; symptoms are left out if anything
// explains more.
func rank(all []*Cause) []*Cause {
	all = merge(all)
	explained := slices.ContainsFunc(all, func(c *Cause) bool { return c.Weight > inspect.Symptom })
	if explained {
		all = slices.DeleteFunc(all, func(c *Cause) bool { return c.Weight == inspect.Symptom })
	}
	slices.SortStableFunc(all, compare)
	if !explained && len(all) > 1 {
		all = all[:1] // symptoms repeat each other
	}
	return all
}

// compare orders causes: what explains more first, then what is surer, what stops everything else, what is nearer to
// the root of the trouble, and what more objects show.
func compare(a, b *Cause) int {
	return cmp.Or(
		cmp.Compare(b.Weight, a.Weight),
		cmp.Compare(precedence(a), precedence(b)),
		cmp.Compare(certainties[a.Certainty], certainties[b.Certainty]),
		cmp.Compare(b.severity, a.severity),
		cmp.Compare(len(b.Chain), len(a.Chain)),
		cmp.Compare(len(b.Others), len(a.Others)),
		cmp.Compare(a.Type, b.Type),
		a.Node().Compare(b.Node()),
		cmp.Compare(a.Part, b.Part),
		cmp.Compare(a.Detail, b.Detail),
	)
}

// orderByShare orders those of the ranked causes that weigh the same and tell of pods of one owner: by how many of
// the pods that it lacks each explains. The others keep their places.
func (d *diagnoser) orderByShare(ranked []*Cause) {
	type kind struct {
		owner  *ownertree.Node
		weight inspect.Weight
	}
	places := map[kind][]int{}
	shares := map[*Cause]int{}
	for i, c := range ranked {
		if owner, share := d.shareOf(c); owner != nil {
			k := kind{owner, c.Weight}
			places[k], shares[c] = append(places[k], i), share
		}
	}
	for _, at := range places {
		var some []*Cause
		for _, i := range at {
			some = append(some, ranked[i])
		}
		slices.SortStableFunc(some, func(a, b *Cause) int { return cmp.Compare(shares[b], shares[a]) })
		for j, i := range at {
			ranked[i] = some[j]
		}
	}
}

// shareOf returns the owner of the pods that a cause tells of, or the Service that selects them, and how many of those
// that it lacks the cause explains: the pods that show it, or that use what does, or if it is that none can be made,
// those that are missing. The owner is nil if a cause tells of no pods.
func (d *diagnoser) shareOf(c *Cause) (owner *ownertree.Node, share int) {
	for i, link := range c.Chain {
		if i == 0 || !isPod(link.Node) {
			continue
		}
		owner = controllerOf(link.Node)
		var pods []*ownertree.Node
		switch before := c.Chain[i-1].Node; {
		case hasBackends(before):
			owner, pods = before, d.selected(before)
		case owner == nil || d.nodes[owner] == nil:
			continue
		default:
			for _, n := range d.nodes[owner].Children {
				pods = append(pods, n.Branch.Node)
			}
		}
		if link.Node == c.Node() {
			return owner, 1 + len(c.Others)
		}
		uses := func(r ownertree.Relation) bool {
			return r.To == c.Chain[i+1].Node || slices.Contains(c.Others, r.To)
		}
		for _, n := range pods {
			if slices.ContainsFunc(d.relations[n], uses) {
				share++
			}
		}
		return owner, share
	}
	if obj := d.objects[c.Node().UID]; obj != nil && c.Type.IsRefusal() {
		o := untyped.Map(obj.Object)
		switch c.Node().Kind.Kind {
		case "ReplicaSet", "ReplicationController", "StatefulSet":
			return c.Node(), int(o.Count(1, "spec", "replicas") - o.Count(0, "status", "replicas"))
		case "DaemonSet":
			wanted := o.Count(0, "status", "desiredNumberScheduled")
			return c.Node(), int(wanted - o.Count(0, "status", "currentNumberScheduled"))
		}
	}
	return nil, 0
}

// waits matches what is reported by an object that waits for another one.
var waits = regexp.MustCompile(`(?i)\b(waiting for|waits for|may not yet be ready|not ready yet|not yet ready|` +
	`DependencyNotReady|cannot resolve references|Creating$)`)

var certainties = map[inspect.Certainty]int{inspect.Certain: 0, inspect.Likely: 1, inspect.Possible: 2}

// precedence orders types: first what keeps a controller from acting at all, last what its user has chosen.
func precedence(c *Cause) int {
	switch c.Type { //nolint:exhaustive // the others are alike
	case inspect.MissingObject:
		switch {
		case c.Refers.Kind == "Secret" && c.Node().Kind.Kind == "Ingress":
			return 2 // it answers with another certificate
		case len(c.Chain) == 1:
			return -1 // whatever else it uses lacks
		}
		return 0
	case inspect.MissingKey, inspect.FieldFight, OldRevision:
		return 0
	case inspect.GenerationNotSeen:
		if c.Certainty == inspect.Possible {
			return 3
		}
		return 0
	case inspect.Paused, inspect.HeldByQueue:
		return 2
	case inspect.ConditionFailed, inspect.StateFailed:
		if waits.MatchString(c.Detail) {
			return 3 // for what another object reports, or has not made yet
		}
	case inspect.PodsNotReady, inspect.PodsNotMade:
		return 4
	case inspect.MetricsUnavailable:
		if strings.Contains(c.Detail, "missing request") {
			return 0 // whatever its target does, what it asks for cannot be computed
		}
	}
	return 1
}

// merge makes one of the causes that say the same of several objects.
func merge(all []*Cause) []*Cause {
	type key struct {
		kind, part, refers, detail, of string
	}
	byKey := map[key]*Cause{}
	var out []*Cause
	for _, c := range all {
		k := key{string(c.Type), c.Part, referenceText(c.Refers), withoutDigits(c.Detail), c.Node().Kind.String()}
		switch c.Type { //nolint:exhaustive // the numbers of the others are counts
		case inspect.MissingObject, inspect.MissingKey:
			k.detail, k.part = "", ""
		case inspect.ImagePull:
			k.detail = c.Detail // tags and digests are of digits, too
		}
		known := byKey[k]
		if known == nil {
			byKey[k] = c
			out = append(out, c)
			continue
		}
		known.absorb(c)
	}
	return out
}

// absorb adds an equal cause of another object, or found in another way.
func (c *Cause) absorb(other *Cause) {
	if other.Node() != c.Node() {
		if !slices.Contains(c.Others, other.Node()) {
			c.Others = append(c.Others, other.Node())
			slices.SortFunc(c.Others, (*ownertree.Node).Compare)
		}
	} else {
		for _, e := range other.Evidence {
			known := slices.ContainsFunc(c.Evidence, func(k inspect.Evidence) bool {
				return k.Source == e.Source && k.Name == e.Name && k.Text == e.Text
			})
			if !known {
				c.Evidence = append(c.Evidence, e)
			}
		}
	}
	if certainties[other.Certainty] < certainties[c.Certainty] {
		c.Certainty = other.Certainty
	}
	c.Weight = max(c.Weight, other.Weight)
}

func referenceText(r *inspect.Reference) string {
	if r == nil {
		return ""
	}
	return strings.Join([]string{r.Group, r.Kind, r.Namespace, r.Name, r.Key}, "/")
}

var exitCode = regexp.MustCompile(`exit code \d+`)

// withoutDigits makes texts equal that differ in digits only, as counts do, unless they name different exit codes.
// Generated names, which have letters too, stay different.
func withoutDigits(s string) string {
	return exitCode.FindString(s) + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}
