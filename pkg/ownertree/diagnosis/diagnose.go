package diagnosis

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// The types of causes that follow from several objects, beside those of package inspect.
const (
	// DanglingOwner: an owner does not exist, and so the garbage collector deletes the object.
	DanglingOwner inspect.CauseType = "DanglingOwner"
	// NoPodSelected: the selector of a Service matches no pod. NoEndpoints: it has no endpoints for another reason.
	NoPodSelected inspect.CauseType = "NoPodSelected"
	NoEndpoints   inspect.CauseType = "NoEndpoints"
	// PortMissing: a Service or an Ingress names a port that its backends do not have.
	PortMissing inspect.CauseType = "PortMissing"
	// DependentsRemain: a foreground deletion waits for dependents.
	DependentsRemain inspect.CauseType = "DependentsRemain"
	// PodNotStopped: the kubelet has not reported that a deleted pod has ended.
	PodNotStopped inspect.CauseType = "PodNotStopped"
	// OldRevision: a pod of a StatefulSet does not have the latest template, and is not replaced as it is not ready.
	OldRevision inspect.CauseType = "OldRevision"
	// Stuck: its controller has to act on it, was tried, and writes nothing.
	Stuck inspect.CauseType = "Stuck"
	// Rewritten: it is written all the time, though no change of its spec asks for that.
	Rewritten inspect.CauseType = "Rewritten"
)

// Link is one object on the way from the object asked for to a cause.
type Link struct {
	Node *ownertree.Node
	// Facts are what it reports.
	Facts *treestatus.Facts
	// Relation is how the object before uses it: "mounts"; empty if that owns it, and for the first.
	Relation string
}

// Cause is a cause and where it was found.
type Cause struct {
	inspect.Cause
	// Chain leads from the object asked for to the one that shows the cause, both included.
	Chain []Link
	// Others are further objects that show the same, sorted.
	Others []*ownertree.Node
	// Undo is how the rollout that has led to the cause can be undone; nil if none has, or it cannot.
	Undo *Undo

	severity int
}

// Node is the object that shows the cause.
func (c *Cause) Node() *ownertree.Node { return c.Chain[len(c.Chain)-1].Node }

// Diagnosis is why an object is as it is.
type Diagnosis struct {
	// Asked is the object, Facts what it reports.
	Asked *ownertree.Node
	Facts *treestatus.Facts
	// Status is that of the facts, or Dangling.
	Status string
	// Converged reports that the object is as its spec requests, and that nothing is wrong with it. It has no causes
	// then.
	Converged bool
	// Causes are ordered, the likeliest first.
	Causes []*Cause
	// Since is when the state began; nil if that is not known.
	Since *metav1.Time
}

// Diagnose looks for causes, as of a time. It may be called again, and concurrently, but not with ReadRefusers or
// ReadRewrites, or while Trials are set.
func (s *Situation) Diagnose(now time.Time) *Diagnosis {
	facts, _ := s.facts.At(now)
	d := &diagnoser{Situation: s, facts: facts, now: now, nodes: map[*ownertree.Node]*treestatus.StatusNode{},
		visited: map[*ownertree.Node]bool{}}
	for _, n := range treestatus.Each(treestatus.RollUp(s.branches, s.graph, facts, nil)) {
		d.nodes[n.Branch.Node] = n
	}
	asked := d.nodes[s.Asked]
	d.visit([]Link{{Node: s.Asked, Facts: facts.Of(s.Asked)}})
	d.scalingFights(asked.Severity)
	out := &Diagnosis{
		Asked: s.Asked, Facts: asked.Facts, Status: asked.Status, Since: asked.Facts.Since,
		Causes: rank(d.causes),
	}
	if asked.Status == treestatus.Dangling {
		out.Since = nil
	}
	for _, c := range out.Causes {
		d.addAlike(c)
		c.Undo = d.undo(c.Node())
	}
	d.orderByShare(out.Causes)
	out.Converged = len(out.Causes) == 0 && !isUnwell(asked)
	return out
}

// addAlike adds the objects of the same owner to a cause that say the same as the one that shows it. Their own causes
// were not looked for if they are many; none are added if that was done for one that has another cause.
func (d *diagnoser) addAlike(c *Cause) {
	shown := d.nodes[c.Node()]
	if shown == nil || len(c.Chain) < 2 || c.Chain[len(c.Chain)-1].Relation != "" {
		return
	}
	owner := d.nodes[c.Chain[len(c.Chain)-2].Node]
	if owner == nil {
		return
	}
	var alike []*ownertree.Node
	for _, n := range owner.Children {
		node := n.Branch.Node
		switch {
		case node == c.Node() || likenessOf(n) != likenessOf(shown):
		case d.objects[node.UID] == nil:
			alike = append(alike, node)
		case !slices.Contains(c.Others, node):
			return
		}
	}
	c.Others = append(c.Others, alike...)
	slices.SortFunc(c.Others, (*ownertree.Node).Compare)
	c.Others = slices.Compact(c.Others)
}

// diagnoser is one call of Diagnose.
type diagnoser struct {
	*Situation
	facts   treestatus.FactsByUID
	now     time.Time
	nodes   map[*ownertree.Node]*treestatus.StatusNode
	visited map[*ownertree.Node]bool
	causes  []*Cause
}

// maxChain bounds how far causes are looked for from the object asked for.
const maxChain = 12

// visit looks for causes in the object at the end of the chain, in what it owns, and in what it uses.
func (d *diagnoser) visit(chain []Link) {
	n := chain[len(chain)-1].Node
	if d.visited[n] || len(chain) > maxChain {
		return
	}
	d.visited[n] = true
	status := d.nodes[n]
	if status == nil {
		return
	}
	own := d.own(n, status)
	var below []*Cause
	before := len(d.causes)
	if d.descends(status) || isHeld(own) {
		for _, child := range d.dependents(status, own) {
			d.visit(append(slices.Clip(chain), Link{Node: child.Branch.Node, Facts: child.Facts}))
		}
	}
	own = append(own, d.uses(n, status, chain, own)...)
	if c, missing := d.governingService(n, status); missing {
		own = append(own, c)
	}
	d.operator(chain)
	below = d.causes[before:]
	d.explain(n, own, below)
	if len(below) == 0 {
		d.readyBelow(status, own)
	}
	for _, c := range own {
		d.causes = append(d.causes, &Cause{
			Cause: c, Chain: slices.Clone(chain), severity: max(status.Severity, status.OwnSeverity),
		})
	}
}

// own returns the causes that the object shows itself.
func (d *diagnoser) own(n *ownertree.Node, status *treestatus.StatusNode) []inspect.Cause {
	var out []inspect.Cause
	if obj := d.objects[n.UID]; obj != nil {
		report := inspect.Inspect(obj, nil).At(d.now)
		report.Status = status.Facts.Status
		o := inspect.Observations{Events: d.events[n], Trial: d.trialOf(n), Kind: d.writes[n.Kind], Now: d.now}
		if name := actsOn(n, status.Facts); name != "" {
			o.Lease = d.leases[name]
		}
		out = inspect.Causes(obj, report, o)
	}
	for i := range out {
		d.nameWebhook(&out[i])
		d.refusedBefore(n, &out[i])
	}
	if n == d.Asked {
		if c, is := d.rewritten(); is {
			out = append(out, c)
		}
	}
	d.held(n, out)
	d.stuck(n, status, out)
	d.existsNow(out)
	d.namesTaints(out)
	d.namesVolumes(n, out)
	if cause, isOld := d.oldRevision(n); isOld {
		for i := range out { // what keeps it from becoming ready is of a template that is no longer wanted
			out[i].Weight = inspect.Symptom
			cause.Evidence = append(cause.Evidence, out[i].Evidence...)
		}
		out = append(out, cause)
	}
	out = d.volumesElsewhere(n, out)
	out = d.deletion(n, out)
	if cause, dangles := d.dangling(n, status); dangles {
		out = append(out, cause)
	}
	switch n.Kind.GroupKind().String() {
	case "Service":
		out = append(out, d.service(n)...)
	case "Ingress.networking.k8s.io":
		out = append(out, d.ingress(n)...)
	case "Node":
		out = append(out, d.evictionsBlocked(n)...)
	}
	return out
}

// trialOf is what became of the writes of the object's controller. That of a pod which is being deleted removes its
// finalizer, and is its owner's.
func (d *diagnoser) trialOf(n *ownertree.Node) inspect.Trial {
	out := d.Trials[n.UID]
	if owner := controllerOf(n); owner != nil && isPod(n) && n.Deleting != nil && len(n.Finalizers) > 0 {
		for _, e := range d.Trials[owner.UID].Refused {
			if strings.Contains(e.Text, n.Name) {
				out.Refused = append(slices.Clip(out.Refused), e)
			}
		}
	}
	return out
}

// existsNow changes the causes that an object does not exist which does: that was reported before.
func (d *diagnoser) existsNow(own []inspect.Cause) {
	for i := range own {
		if c := &own[i]; c.Type == inspect.MissingObject && d.find(c.Refers) != nil {
			existsBefore(c)
		}
	}
}

// existsBefore makes a cause that an object does not exist one that it did not exist before.
func existsBefore(c *inspect.Cause) {
	c.Type, c.Certainty, c.Detail = inspect.MissingBefore, inspect.Likely, triesAgain
	c.Evidence = append(c.Evidence, inspect.Evidence{
		Source: inspect.FromObject, Name: c.Refers.Kind + "/" + c.Refers.Name, Text: "exists",
	})
}

// find is the object that is referred to; nil if it is not in the graph.
func (d *diagnoser) find(r *inspect.Reference) *ownertree.Node {
	kind, ok, err := d.kinds.Lookup(schema.GroupVersionKind{Group: r.Group, Kind: r.Kind})
	if !ok || err != nil {
		return nil
	}
	return d.graph.Find(kind, r.Namespace, r.Name)
}

// countsDependents reports whether the status of objects of the kind counts what they own: if it is as the spec
// requests, what is wrong with a dependent is of the past, or of no concern.
func countsDependents(kind schema.GroupKind) bool {
	switch kind.Group {
	case "", "apps", "batch":
		return true
	}
	return false
}

// descends reports whether what the object owns may be the cause of its state.
func (d *diagnoser) descends(n *treestatus.StatusNode) bool {
	node := n.Branch.Node
	switch kind := node.Kind.GroupKind(); {
	case node.Deleting != nil:
		return node.Finalized(metav1.FinalizerDeleteDependents)
	case kind.String() == "CronJob.batch":
		return n.Facts.Status.Status != inspect.Suspended
	case kind.Group == "apps" && d.changedJustNow(n.Facts):
		return false // its pods are those of another spec
	case n.OwnSeverity <= treestatus.SeverityNormal && !n.Facts.Drifted() && countsDependents(kind):
		return false
	}
	return true
}

// changedJustNow reports whether a spec was changed so short a time ago that its controller need not have seen it.
func (d *diagnoser) changedJustNow(f *treestatus.Facts) bool {
	return f.Drift.State == inspect.Behind && f.Drift.Since != nil && d.now.Sub(f.Drift.Since.Time) < inspect.SeenWithin
}

// dependents returns what is wrong among the objects that a node owns. Of the Jobs of a CronJob only the last counts,
// of what is a revision only the latest, and of an object that is Current itself only what is Degraded or worse, unless
// it waits for a Job to end.
func (d *diagnoser) dependents(n *treestatus.StatusNode, own []inspect.Cause) []*treestatus.StatusNode {
	least := treestatus.SeverityNormal + 1
	waits := isHeld(own) ||
		slices.ContainsFunc(own, func(c inspect.Cause) bool { return c.Type == inspect.JobStillActive })
	if n.OwnSeverity <= treestatus.SeverityNormal && !n.Facts.Drifted() && !waits {
		least = treestatus.SeverityDegraded
	}
	children := n.Children
	if n.Branch.Node.Kind.GroupKind().String() == "CronJob.batch" {
		children = lastCreated(children)
	}
	if isHeld(own) {
		children = belowWorkloads(children)
	}
	children = withoutOldRevisions(children)
	var out []*treestatus.StatusNode
	for _, c := range children {
		if c.WorstSeverity >= least && c.Branch.Relation == "" && !c.Branch.Cycle && !c.Replaced &&
			!d.isOutdated(c.Branch.Node) {
			out = append(out, c)
		}
	}
	return out
}

// withoutOldRevisions leaves out those of the nodes whose kind is called a revision, and of which there is a younger
// one: a Revision of a Configuration.
func withoutOldRevisions(nodes []*treestatus.StatusNode) []*treestatus.StatusNode {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *treestatus.StatusNode) bool {
		kind := n.Branch.Node.Kind
		isYounger := func(o *treestatus.StatusNode) bool { return o.Branch.Node.Kind == kind && isOlder(n, o) }
		return strings.HasSuffix(kind.Kind, "Revision") && slices.ContainsFunc(nodes, isYounger)
	})
}

// isOlder reports whether a node was created before another one; in the same second, names that count up tell.
func isOlder(a, b *treestatus.StatusNode) bool {
	x, y := a.Branch.Node, b.Branch.Node
	return cmp.Or(x.Created.Compare(y.Created.Time), cmp.Compare(x.Name, y.Name)) < 0
}

// lastCreated returns the youngest of the nodes.
func lastCreated(nodes []*treestatus.StatusNode) []*treestatus.StatusNode {
	var last *treestatus.StatusNode
	for _, n := range nodes {
		if last == nil || isOlder(last, n) {
			last = n
		}
	}
	if last == nil {
		return nil
	}
	return []*treestatus.StatusNode{last}
}

// reportsInWords reports whether only the detail of a cause tells what it is.
func reportsInWords(c *inspect.Cause) bool {
	return c.Type == inspect.ConditionFailed || c.Type == inspect.StateFailed || c.Type == inspect.WarningReported
}
