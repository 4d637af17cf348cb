package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// RunOptions are what a plan is to contain. The zero value is a plan of what the controllers do until nothing is left.
type RunOptions struct {
	// Change makes the change that the plan is for, such as an apply; nil plans what is left to do without any. Given
	// are the objects that it writes, whose texts are in the plan as they are.
	Change func(ctx context.Context) error
	Given  []*unstructured.Unstructured
	// Only are objects whose keys are reconciled that wait at the beginning, with those of their owners and of what
	// they own; keys of others wait until something changes their objects. Nil is all.
	Only []ObjectID
	// Namespaces are those of the objects whose keys are reconciled that wait at the beginning; nil is all, with those
	// of objects in no namespace.
	Namespaces []string
	// Absent are owners that count as there though the session does not have them: the garbage collector's keys of
	// these, which it would retry without an end, are not reconciled.
	Absent []ObjectID
	// Next ends the plan when each key that waited at the beginning, or after the change, was reconciled once.
	Next bool
	// Steps ends the plan after so many steps of controllers; 0 sets no bound.
	Steps int
	// Wait is for how long after the beginning of the plan keys are waited for that are due later; those that are due
	// within a second always are.
	Wait time.Duration
	// Limit bounds the steps if no state repeats; 0 means DefaultLimit.
	Limit int
}

// DefaultLimit is how many steps a plan has at most.
const DefaultLimit = 1000

// horizon is how far off a key's time may be for the plan to wait for it. Some controllers put keys off for a second to
// handle several changes at once.
const horizon = time.Second + 50*time.Millisecond

// Planner makes one plan in one session, which must have been started with options that Configure has completed, and
// hold its keys. Only Record may be called concurrently.
type Planner struct {
	names   *names
	trace   collector
	session *runlocal.Session

	schedule schedule
	delays   map[queueKey]delay
	failures map[queueKey]failure
	until    time.Time // of RunOptions.Wait
	revision uint64    // up to which writes were read
	accepted int       // writes so far that were accepted
	rounds   int       // reconciles so far
	numbers  map[trace.ReconcileID]int
	change   int             // the number of the change's step; 0 without
	changed  bool            // other keys may wait than when the schedule was updated
	complete map[string]bool // by key: Deployments that have made all progress there is to make
	plan     *Plan
	objects  objects
	states   states
	rollouts rollouts
}

// New returns a Planner. Times from now on are not times of the objects: they are replaced in the plan.
func New() *Planner {
	n := newNames(time.Now())
	return &Planner{
		names: n, schedule: schedule{names: n, created: map[string]bool{}},
		delays: map[queueKey]delay{}, failures: map[queueKey]failure{},
		numbers: map[trace.ReconcileID]int{}, plan: &Plan{}, complete: map[string]bool{}, trace: newCollector(),
	}
}

// Record implements trace.Sink.
func (p *Planner) Record(e *trace.Event) { p.trace.record(e) }

// keptWrites is how many writes of each kind the API server keeps for the Planner to read. Between two times that it
// reads them there may be as many as the objects of a change: the default of a server would be too few for some files.
const keptWrites = 1 << 20

// Configure completes the options of the session: one worker, a recorder with p as its sink, no node for pods of which
// it is not known whether they fit one, no account that no controller makes, and the youngest first of pods that are
// otherwise equal. Controllers delete of these the one that they list first or, if some became ready in different
// seconds, the one with the least uid.
func (p *Planner) Configure(o *runlocal.Options) {
	o.API.History, o.NoDefaultAccounts = keptWrites, true
	o.Workers, o.Recorder = 1, trace.NewRecorder(clock.RealClock{}, p)
	o.ListOrder, o.API.NewUID = p.names.listOrder, p.names.newUID
	o.LeaveUndecided = true
}

// Begin takes a session that has just started: what it writes from now on is not there at the beginning. It waits until
// the API server has made all that it makes by itself, or ctx ends. It must be called once, before all else.
func (p *Planner) Begin(ctx context.Context, s *runlocal.Session) {
	s.Server().WaitReady(ctx)
	p.session, p.revision = s, s.Server().ResourceVersion()
}

// Settle has the controllers reconcile one key after the other until nothing is left to do, and takes that for the
// beginning of the plan. It returns an *UnsettledError if there is no end.
func (p *Planner) Settle(ctx context.Context) error {
	if err := p.forget(ctx); err != nil {
		return err
	}
	if err := p.runSteps(ctx, RunOptions{Limit: DefaultLimit}); err != nil {
		return err
	}
	if p.plan.End != EndSettled {
		return &UnsettledError{Plan: p.plan}
	}
	return nil
}

// forget waits until only held keys are left, and forgets all that was done so far but the names.
func (p *Planner) forget(ctx context.Context) error {
	if err := p.session.WaitHeld(ctx); err != nil {
		return err
	}
	if err := p.rollouts.begin(ctx, p.session); err != nil {
		return err
	}
	if err := p.collect(queueKey{}); err != nil {
		return err
	}
	p.failures, p.numbers = map[queueKey]failure{}, map[trace.ReconcileID]int{}
	p.plan, p.objects, p.states, p.change = &Plan{}, objects{}, states{}, 0
	return p.rollouts.begin(ctx, p.session)
}

// Run makes the plan. The error is that of the change, of ctx or of reading what was written. It must be called once.
func (p *Planner) Run(ctx context.Context, o RunOptions) (*Plan, error) {
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	for _, obj := range o.Given {
		p.names.give(obj.Object)
	}
	if err := p.forget(ctx); err != nil {
		return nil, err
	}
	p.session.DropHeldKeys(p.unwanted(o))
	if err := p.session.WaitHeld(ctx); err != nil {
		return nil, err
	}
	p.until = time.Now().Add(o.Wait)
	if o.Change != nil {
		if err := p.makeChange(ctx, o.Change); err != nil {
			return nil, err
		}
	}
	if err := p.runSteps(ctx, o); err != nil {
		return nil, err
	}
	state, err := p.session.HeldState(ctx)
	if err != nil {
		return nil, err
	}
	p.plan.Later = p.later(state)
	p.plan.Objects = p.objects.changed()
	p.plan.Rollouts, p.plan.Budgets = p.rollouts.list(p.names), p.rollouts.listBudgets()
	return p.plan, nil
}

// unwanted returns a function that reports whether a key of the beginning is not to be reconciled: see Only and
// Namespaces of RunOptions.
func (p *Planner) unwanted(o RunOptions) func(controller, queue, key string) bool {
	var related map[string]bool
	if o.Only != nil {
		related = p.rollouts.related(o.Only)
	}
	return func(_, _, key string) bool {
		key = key[strings.LastIndexByte(key, ' ')+1:]
		if related != nil {
			return !related[key]
		}
		namespace, _, _ := strings.Cut(key, "/") // the key of a namespace is its name
		return o.Namespaces != nil && !slices.Contains(o.Namespaces, namespace)
	}
}

// makeChange makes the change, and its step.
func (p *Planner) makeChange(ctx context.Context, change func(context.Context) error) error {
	if err := change(ctx); err != nil {
		return err
	}
	if err := p.session.WaitHeld(ctx); err != nil {
		return err
	}
	err := p.collect(queueKey{})
	for _, step := range p.plan.Steps {
		if step.Controller == "" {
			p.change = step.Number
		}
	}
	return err
}

// runSteps reconciles one key after the other until the plan ends, and sets why it does.
func (p *Planner) runSteps(ctx context.Context, o RunOptions) error {
	var first map[queueKey]bool // keys of the beginning that were not reconciled, with Next
	var next []candidate
	for {
		if len(next) == 0 || p.changed {
			p.changed = false
			state, err := p.session.HeldState(ctx)
			if err != nil {
				return err
			}
			next = withoutAbsent(p.withoutStuck(p.schedule.update(p.rounds, state, p.isDue)), o.Absent)
			if o.Next && first == nil {
				first = map[queueKey]bool{}
				for _, c := range next {
					first[c.queueKey] = true
				}
			}
			if rest := len(next); o.Next {
				next = slices.DeleteFunc(next, func(c candidate) bool { return !first[c.queueKey] })
				if len(next) == 0 && rest > 0 {
					p.plan.End = EndNext
					return nil
				}
			}
		}
		switch {
		case len(next) == 0:
			p.plan.End = EndSettled
			return nil
		case o.Steps > 0 && p.controllerSteps() >= o.Steps:
			p.plan.End = EndSteps
			return nil
		case p.plan.Loop != nil:
			p.plan.End = EndLoop
			return nil
		case len(p.plan.Steps) >= o.Limit:
			p.plan.End, p.plan.Loop = EndLimit, repeating(p.plan.Steps)
			return nil
		}
		released, err := p.reconcile(ctx, next[0])
		if err != nil {
			return err
		}
		if released {
			delete(first, next[0].queueKey)
		}
		next = next[1:]
	}
}

// controllerSteps is how many steps are those of controllers.
func (p *Planner) controllerSteps() int {
	n := 0
	for i := range p.plan.Steps {
		if s := &p.plan.Steps[i]; s.Number > 0 && s.Controller != "" {
			n++
		}
	}
	return n
}

// reconcile has one key reconciled, or waits until it can be, and reports whether it was. It sets changed if other keys
// may wait than before.
func (p *Planner) reconcile(ctx context.Context, c candidate) (bool, error) {
	if due, waits := p.waits(c); waits {
		p.changed = true
		if err := waitUntil(ctx, due); err != nil {
			return false, err
		}
		return false, p.session.WaitHeld(ctx)
	}
	if !p.session.ReleaseKey(c.controller, c.queue, c.key) {
		p.changed = true
		return false, p.session.WaitHeld(ctx)
	}
	delete(p.schedule.since, c.queueKey) // if it is added again, it waits from then on
	if err := p.session.WaitHeld(ctx); err != nil {
		return true, fmt.Errorf("waiting for %s to reconcile %q: %w", c.controller, c.key, err)
	}
	p.rounds++
	steps := len(p.plan.Steps)
	err := p.collect(c.queueKey)
	p.changed = p.changed || len(p.plan.Steps) != steps || len(p.failures) > 0
	return true, err
}

// waits reports whether a key is to be waited for, and until when: its delay is not over, or another delay of the key
// ends within a second. On a fast machine the controller asks for the second while the first lasts, and they are one.
func (p *Planner) waits(c candidate) (due time.Time, waits bool) {
	if c.ready && !c.delayed {
		return time.Time{}, false
	}
	due = dueTime(p.session.State(), c.queueKey)
	return due, !c.ready || !due.IsZero() && time.Until(due) <= horizon
}

// dueTime returns when the delay of a key is over; zero if it has none.
func dueTime(state tap.State, k queueKey) time.Time {
	for _, c := range state.Controllers {
		for _, q := range c.Queues {
			for _, d := range q.Delayed {
				if k == (queueKey{c.Name, q.Queue, d.Key}) {
					return d.Due
				}
			}
		}
	}
	return time.Time{}
}

func waitUntil(ctx context.Context, then time.Time) error {
	timer := time.NewTimer(time.Until(then))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// collector is a sink that keeps the reconciles of a step. Its methods may be called concurrently.
type collector struct {
	mu      *sync.Mutex // guards what follows
	open    map[trace.ReconcileID]*record
	list    []*record
	writers map[string]trace.ReconcileID // by resourceVersion
}

func newCollector() collector {
	return collector{
		mu: &sync.Mutex{}, open: map[trace.ReconcileID]*record{}, writers: map[string]trace.ReconcileID{},
	}
}

// record is a reconcile.
type record struct {
	id         trace.ReconcileID
	controller string
	key        string
	start      *trace.Start
	refused    []*trace.Request
	end        *trace.End
}

func (c *collector) record(e *trace.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch d := e.Detail.(type) {
	case *trace.Watch:
		if d.WrittenBy != 0 {
			c.writers[d.ResourceVersion] = d.WrittenBy
		}
	case *trace.Start:
		r := &record{id: e.Reconcile, controller: e.Controller, key: e.Key, start: d}
		c.open[e.Reconcile], c.list = r, append(c.list, r)
	case *trace.Request:
		switch r := c.open[e.Reconcile]; {
		case !d.IsWrite() || d.Recorded != nil:
		case d.Failed() && r != nil:
			r.refused = append(r.refused, d)
		case d.ResourceVersion != "" && e.Reconcile != 0 && c.writers[d.ResourceVersion] == 0:
			c.writers[d.ResourceVersion] = e.Reconcile
		}
	case *trace.End:
		if r := c.open[e.Reconcile]; r != nil {
			r.end = d
			delete(c.open, e.Reconcile)
		}
	}
}

// take returns the reconciles that have ended since it was called last, in the order of their starts, and who wrote
// what.
func (c *collector) take() (ended []*record, writers map[string]trace.ReconcileID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var running []*record
	for _, r := range c.list {
		if r.end == nil {
			running = append(running, r)
		} else {
			ended = append(ended, r)
		}
	}
	writers = c.writers
	c.list, c.writers = running, map[string]trace.ReconcileID{}
	return ended, writers
}
