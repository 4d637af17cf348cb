package plan

import (
	"cmp"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// isPlanned reports whether writes of a resource are part of a plan: Events, and what the API keeps for itself, are
// not.
func isPlanned(gr schema.GroupResource) bool {
	switch gr.String() {
	case "events", "events.events.k8s.io", "leases.coordination.k8s.io", "ipaddresses.networking.k8s.io",
		"prioritylevelconfigurations.flowcontrol.apiserver.k8s.io", "flowschemas.flowcontrol.apiserver.k8s.io":
		return false
	}
	return true
}

// isStatus reports whether a path is of the status of an object, or counts the versions of its spec.
func isStatus(path string) bool {
	return path == "status" || strings.HasPrefix(path, "status.") || path == "metadata.generation"
}

// collect makes steps of what was written since it was called last. What is written by no known reconcile is that of
// the key, or if that is zero, of the change.
func (p *Planner) collect(of queueKey) error {
	reconciles, writers := p.trace.take()
	newest := p.session.Server().ResourceVersion()
	var writes []api.Write
	if newest != p.revision {
		var err error
		if writes, err = p.session.Server().Writes(p.revision, isPlanned); err != nil {
			return err
		}
	}
	p.revision = newest
	p.changed = p.changed || len(writes) > 0 // and not by Events, which come when they do
	p.names.learn(writes)
	p.schedule.noteCreated(writes)
	for _, r := range reconciles {
		for _, request := range r.refused {
			if request.GenerateName != "" {
				p.names.learnRefused(request.GenerateName, request.Message)
			}
		}
	}
	p.sortConcurrent(writes)
	steps := map[trace.ReconcileID]*Step{}
	var order []*Step
	if of == (queueKey{}) {
		steps[0] = &Step{Outcome: trace.Done}
		order = append(order, steps[0])
	}
	for _, r := range reconciles {
		step := p.stepOf(r)
		steps[r.id], order = step, append(order, step)
		if steps[0] == nil && r.controller == of.controller && r.key == of.key {
			steps[0] = step
		}
	}
	for _, w := range writes {
		p.addWrite(steps, writers[strconv.FormatUint(w.ResourceVersion, 10)], w)
	}
	for _, step := range order {
		p.append(step, of)
	}
	return nil
}

// sortConcurrent sorts creations and deletions of one kind that follow each other: controllers send them concurrently.
func (p *Planner) sortConcurrent(writes []api.Write) {
	kind := func(w api.Write) string {
		switch {
		case w.Before == nil:
			return "create " + w.Resource.String()
		case w.After == nil:
			return "delete " + w.Resource.String()
		case w.Before.GetDeletionTimestamp() == nil && w.After.GetDeletionTimestamp() != nil:
			return "mark " + w.Resource.String()
		}
		return ""
	}
	name := func(w api.Write) string {
		obj := w.After
		if obj == nil {
			obj = w.Before
		}
		return p.names.replace(obj.GetNamespace() + "/" + obj.GetName())
	}
	for begin := 0; begin < len(writes); {
		end := begin + 1
		for kind(writes[begin]) != "" && end < len(writes) && kind(writes[end]) == kind(writes[begin]) {
			end++
		}
		alike := writes[begin:end]
		sort.SliceStable(alike, func(i, j int) bool { return name(alike[i]) < name(alike[j]) })
		begin = end
	}
}

// stepOf returns the step of a reconcile, without the writes that were accepted.
func (p *Planner) stepOf(r *record) *Step {
	step := &Step{
		Controller: r.controller, Key: p.names.key(r.key), Simulated: isSimulated(r.controller),
		Outcome: r.end.Outcome, reconcile: r.id,
	}
	if r.end.PutOff != "" || r.end.ConflictOf(r.refused) != nil {
		step.Outcome = trace.Done // it is no fault, and the key comes back at once
	}
	if step.Outcome != trace.Done {
		step.Error = p.names.replace(r.end.Error)
	}
	step.Causes = p.causes(r.start.Causes, step.Key, step.Simulated)
	for _, request := range r.refused {
		if request.IsConflict() {
			continue // the controller reads the object again
		}
		w := p.refusal(request)
		if !slices.ContainsFunc(step.Writes, func(other Write) bool {
			return other.Object == w.Object && other.Message == w.Message
		}) {
			step.Writes = append(step.Writes, w)
		}
	}
	return step
}

// refusal returns a write that was refused.
func (p *Planner) refusal(r *trace.Request) Write {
	verb := Update
	switch r.Verb {
	case "create":
		verb = Create
	case "delete", "deletecollection":
		verb = Delete
	}
	name := r.Name
	if r.GenerateName != "" {
		name = r.GenerateName + "<>"
	}
	return Write{
		Verb: verb, Code: r.Code, Message: p.names.replace(r.Message),
		Object: ObjectID{
			Resource: schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource},
			Kind:     r.Kind, Namespace: r.Namespace, Name: p.names.replace(name),
		},
	}
}

// causes returns the causes of a key as they are in a plan. They do not depend on which informer was faster: some
// handlers add the key of an owner for each object that was there at the beginning, but only if they know the owner.
// Nor do they depend on how fast a plan was made: the causes of simulated nodes have no delay.
func (p *Planner) causes(of []trace.Cause, key string, simulated bool) []Cause {
	var all, out []Cause
	for _, c := range of {
		one := p.cause(c)
		if simulated {
			one.Delay = 0 // how long a pod still has to run depends on how fast a plan was made
		}
		all = append(all, one)
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.Object.Kind, b.Object.Kind), cmp.Compare(a.Object.Namespace, b.Object.Namespace),
			cmp.Compare(a.Object.Name, b.Object.Name)) < 0
	})
	seen := slices.ContainsFunc(all, func(c Cause) bool { return c.Type == trace.CauseWatch })
	isOwn := func(c Cause) bool {
		return c.Initial && strings.Trim(c.Object.Namespace+"/"+c.Object.Name, "/") == key
	}
	own := slices.ContainsFunc(all, isOwn)
	for _, c := range all {
		if own && c.Initial && !isOwn(c) {
			continue
		}
		if seen && (c.Type == trace.CauseRetry || c.Type == trace.CauseTimer && c.Object.Kind == "") {
			continue // whether a delay was over before the watch event came is chance
		}
		out = appendCause(out, c)
	}
	return out
}

// shortDelay is what a key waits at least for its delay to be told. Shorter ones, such as those of first retries, are
// over at once, and how long the rest of a longer one is depends on how fast a plan was made.
const shortDelay = 500 * time.Millisecond

// cause returns a cause as it is in a plan.
func (p *Planner) cause(c trace.Cause) Cause {
	out := Cause{Type: c.Type, Retry: c.Retry}
	if d := time.Duration(c.Delay); d >= shortDelay {
		out.Delay = rounded(d)
	}
	if c.Reconcile != 0 {
		out.Step = p.numbers[c.Reconcile]
	}
	w := c.Watch
	if w == nil {
		return out
	}
	out.Event, out.Initial = w.Event, w.Initial
	out.Object = ObjectID{
		Resource: schema.GroupVersionResource{Group: w.Group, Version: w.Version, Resource: w.Resource},
		Kind:     w.Kind, Namespace: w.Namespace, Name: p.names.replace(w.Name),
	}
	for _, change := range w.Change.Fields() {
		change.Old, change.New = p.names.value(change.Old), p.names.value(change.New)
		change.Path = p.names.replace(change.Path)
		switch {
		case change.Path == deletionTimestamp:
			change.New = nowWord
		case change.Path == "spec.nodeName" && change.New != nil && p.names.isUndecided(w.Namespace, w.Name):
			change.New = undecidedNode
		}
		if !reflect.DeepEqual(change.Old, change.New) {
			out.Changes = append(out.Changes, change)
		}
	}
	switch {
	case w.WrittenBy != 0:
		out.Step = p.numbers[w.WrittenBy]
	case !w.Initial && w.Event != trace.Resync:
		out.Step = p.change
	}
	return out
}

// appendCause appends a cause unless another one is of the same step, or of the same object.
func appendCause(causes []Cause, c Cause) []Cause {
	if slices.ContainsFunc(causes, func(other Cause) bool {
		return c.Step > 0 && other.Step == c.Step || c.Step == 0 && other.Step == 0 && other.Type == c.Type &&
			other.Object == c.Object && other.Event == c.Event
	}) {
		return causes
	}
	return append(causes, c)
}

// addWrite adds a write to the step of the reconcile that wrote it.
func (p *Planner) addWrite(steps map[trace.ReconcileID]*Step, by trace.ReconcileID, w api.Write) {
	p.rollouts.observe(w, len(p.plan.Steps))
	step := steps[by]
	if step == nil {
		step = steps[0]
	}
	before, after := p.names.object(w.Before), p.names.object(w.After)
	HideSecrets(before, after)
	p.objects.add(w, before, after)
	p.states.add(before, after)
	p.noteProgress(after)
	changes, err := fields.Changes(before, after, fields.Mask{})
	if err != nil || step == nil {
		return // it is no object of any API, or a simulated node reports its condition
	}
	one := Write{Verb: Update, Object: idOf(w, before, after), Changes: changes}
	switch {
	case before == nil:
		one.Verb = Create
	case after == nil, !isDeleting(before) && isDeleting(after):
		one.Verb, one.Changes = Delete, nil
	case len(changes) == 0, isCounted(step, &one):
		return
	}
	if one.Verb == Delete && slices.ContainsFunc(step.Writes, func(other Write) bool {
		return other.Verb == Delete && other.Object == one.Object && !other.Refused()
	}) {
		return // the API server marks what it deletes at once, too
	}
	step.Writes = append(step.Writes, one)
}

// isCounted reports whether a write is that of the API server, which counts in a quota what it admits.
func isCounted(step *Step, w *Write) bool {
	return w.Object.Resource.GroupResource() == (schema.GroupResource{Resource: "resourcequotas"}) &&
		w.OnlyStatus() && step.Controller != "resourcequota"
}

// deletionTimestamp is the field that is set when an object is deleted that does not go at once.
const deletionTimestamp = "metadata.deletionTimestamp"

// isDeleting reports whether an object, in which times may be replaced, is being deleted.
func isDeleting(obj *unstructured.Unstructured) bool {
	_, found, err := unstructured.NestedString(obj.Object, "metadata", "deletionTimestamp")
	return found && err == nil
}

// idOf names the object of a write.
func idOf(w api.Write, before, after *unstructured.Unstructured) ObjectID {
	obj := after
	if obj == nil {
		obj = before
	}
	return ObjectID{Resource: w.Resource, Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// append adds a step to the plan if it did or failed anything that the steps before do not say.
func (p *Planner) append(step *Step, of queueKey) {
	changes := step.Changes()
	if changes {
		p.accepted++
	}
	if of != (queueKey{}) {
		p.noteFailure(of, step)
	}
	if len(step.Writes) == 0 && step.Error == "" {
		return
	}
	if !changes && p.repeats(step) {
		return
	}
	if !step.Simulated {
		step.Number = 1
		for i := range p.plan.Steps {
			if p.plan.Steps[i].Number > 0 {
				step.Number++
			}
		}
		if step.reconcile != 0 {
			p.numbers[step.reconcile] = step.Number
		}
	}
	p.plan.Steps = append(p.plan.Steps, *step)
	if changes {
		p.plan.Loop = p.states.after(p.plan.Steps)
	}
	if p.plan.Loop == nil && len(p.plan.Steps)%growthInterval == 0 {
		p.plan.Loop = growing(p.plan.Steps)
	}
}

// repeats reports whether the step failed as the last one of its key did, which then counts it.
func (p *Planner) repeats(step *Step) bool {
	for i := len(p.plan.Steps) - 1; i >= 0; i-- {
		last := &p.plan.Steps[i]
		if last.Controller != step.Controller || last.Key != step.Key {
			continue
		}
		if last.Error == step.Error && sameRefusals(last.Writes, step.Writes) {
			last.Repeats++
			return true
		}
		return false
	}
	return false
}

// sameRefusals reports whether what was refused in b was refused in a.
func sameRefusals(a, b []Write) bool {
	for _, w := range b {
		refused := slices.ContainsFunc(a, func(other Write) bool {
			return other.Object == w.Object && other.Message == w.Message
		})
		if !refused {
			return false
		}
	}
	return true
}

// objects are all objects that were written, at the beginning and at the end. The zero value is empty.
type objects struct {
	byName map[string]int
	list   []Object
}

func (o *objects) add(w api.Write, before, after *unstructured.Unstructured) {
	id := idOf(w, before, after)
	key := id.Resource.GroupResource().String() + " " + id.Namespace + "/" + id.Name
	if o.byName == nil {
		o.byName = map[string]int{}
	}
	at, known := o.byName[key]
	if !known {
		at = len(o.list)
		o.byName[key] = at
		o.list = append(o.list, Object{ObjectID: id, Before: before})
	}
	o.list[at].After = after
}

// changed returns those that are not what they were.
func (o *objects) changed() []Object {
	var out []Object
	for _, obj := range o.list {
		if obj.Before == nil && obj.After == nil {
			continue
		}
		if obj.Before != nil && obj.After != nil {
			changes, err := fields.Changes(obj.Before, obj.After, fields.Mask{})
			if err == nil && len(changes) == 0 {
				continue
			}
		}
		out = append(out, obj)
	}
	return out
}
