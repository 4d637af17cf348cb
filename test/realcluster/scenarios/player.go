package scenarios

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Outcome is what a scenario led to on one side.
type Outcome struct {
	// Objects are what is left in the namespace, Events and what was there before the first step left out, and what the
	// scenario made elsewhere.
	Objects []Object
	Events  []Event
	Writes  []Write
	// Gone are the last states of objects that were deleted: their names and uids live on in texts.
	Gone  []*unstructured.Unstructured
	Nodes []string
	// Names are those of the side.
	Names Names
	// History tells what happened, in order.
	History []string
}

// Object is an object with its resource, as in replicasets.apps.
type Object struct {
	Resource string
	*unstructured.Unstructured
}

// play is a scenario being played on one side.
type play struct {
	*Side
	scenario *Scenario
	start    time.Time          // of the first step
	before   map[types.UID]bool // what the namespace had before the first step
	made     []made             // elsewhere
}

// Play plays the scenario in a namespace of its name, which must not be there yet, and returns what came of it. An
// error means that an input was refused or something waited for did not come; the outcome has the history then.
func (s *Side) Play(ctx context.Context, scenario *Scenario) (*Outcome, error) {
	return s.PlayThen(ctx, scenario, func(context.Context, Played) error { return nil })
}

// PlayThen is Play, and calls then when the scenario has been played, before anything of it is removed. An error of
// then is returned.
func (s *Side) PlayThen(
	ctx context.Context, scenario *Scenario, then func(context.Context, Played) error,
) (*Outcome, error) {
	p := &play{Side: s, scenario: scenario}
	err := p.run(ctx)
	if err == nil {
		err = then(ctx, Played{p})
	}
	outcome, collected := p.collect()
	if err == nil {
		err = collected
	}
	if removed := p.tidy(ctx); err == nil {
		err = removed
	}
	return outcome, err
}

func (p *play) run(ctx context.Context) error {
	if err := p.prepare(ctx); err != nil {
		return err
	}
	for i := range p.scenario.Steps {
		p.observer.begin(p.scenario.Name, i+1)
		if err := p.step(ctx, &p.scenario.Steps[i]); err != nil {
			return fmt.Errorf("playing step %d of %q on %q: %w", i+1, p.scenario.Name, p.name, err)
		}
	}
	return p.observer.settle(ctx, p.scenario.Name, nil, settleTicks)
}

// prepare makes the namespace and waits for the ServiceAccount that every namespace gets.
func (p *play) prepare(ctx context.Context) error {
	if err := p.makeNamespace(ctx, p.scenario.Name); err != nil {
		return err
	}
	account, err := Condition{Selection: Selection{Object: "serviceaccounts/default"}}.compile()
	if err != nil {
		return err
	}
	if err := p.observer.settle(ctx, p.scenario.Name, []*compiled{account}, quietTicks); err != nil {
		return err
	}
	p.before, p.start = p.observer.uids(p.scenario.Name), time.Now()
	return nil
}

func (p *play) step(ctx context.Context, s *Step) error {
	var conditions []*compiled
	for _, c := range s.Wait {
		condition, err := c.compile()
		if err != nil {
			return err
		}
		conditions = append(conditions, condition)
	}
	if err := p.act(ctx, s); err != nil {
		return err
	}
	return p.observer.settle(ctx, p.scenario.Name, conditions, quietTicks)
}

func (p *play) act(ctx context.Context, s *Step) error {
	switch {
	case s.Create != nil:
		return p.create(ctx, s.Create)
	case s.Apply != nil:
		return p.apply(ctx, s.Apply)
	case s.Kubectl != nil:
		return p.kubectlApply(ctx, s)
	case s.Patch != nil:
		return p.patch(ctx, s.Patch)
	case s.Delete != nil:
		return p.delete(ctx, s.Delete)
	case s.Ready != nil:
		return p.ready(ctx, s.Ready)
	case s.Evict != nil:
		return p.evict(ctx, s.Evict)
	}
	return nil
}
