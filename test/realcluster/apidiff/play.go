package apidiff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// played is what a step came to on one side.
type played struct {
	answer Answer // normalised; only what the step keeps
	code   int
	// problem is what kept the step from being played as it should: no answer, less than it waits for, nothing to save.
	problem error
}

// player plays one file on one side.
type player struct {
	side   *Side
	file   *File
	values values
	norm   *normaliser
}

func newPlayer(side *Side, file *File) *player {
	return &player{side: side, file: file, values: values{"ns": file.Name}, norm: newNormaliser(file.text, side.host())}
}

// prepare makes the file's namespace and its default ServiceAccount.
func (p *player) prepare(ctx context.Context) error {
	for _, step := range []Step{
		{Name: "namespace", Method: "POST", Path: "/api/v1/namespaces",
			Body: json.RawMessage(`{"metadata": {"name": "{{ns}}"}}`)},
		{Name: "account", Method: "POST", Path: "/api/v1/namespaces/{{ns}}/serviceaccounts",
			Body: json.RawMessage(`{"metadata": {"name": "default"}}`)},
	} {
		answer, err := p.side.send(ctx, &step, p.values)
		if err == nil && !step.expects(answer.Code()) {
			err = fmt.Errorf("answered %d: %v", answer.Code(), answer["body"])
		}
		if err != nil {
			return fmt.Errorf("making the %s of %q on the %s side: %w", step.Name, p.file.Name, p.side.Name, err)
		}
	}
	return nil
}

// play sends one step.
func (p *player) play(ctx context.Context, step *Step) played {
	answer, err := p.sendUntil(ctx, step)
	if err != nil {
		return played{answer: Answer{"problem": err.Error()}, problem: err}
	}
	result := played{code: answer.Code()}
	if why := step.cutShort(answer); why != "" {
		result.problem = errors.New(why)
	}
	for _, name := range slices.Sorted(maps.Keys(step.Save)) {
		if p.values[name] = lookup(answer["body"], step.Save[name]); p.values[name] == nil {
			result.problem = fmt.Errorf("there is nothing at %s to save as %q", step.Save[name], name)
		}
	}
	p.norm.learn(step.Name, answer)
	normal, _ := p.norm.apply(map[string]any(answer)).(map[string]any)
	result.answer = keep(normal, step.Keep)
	return result
}

// sendUntil sends the step until its condition holds, or once without one.
func (p *player) sendUntil(ctx context.Context, step *Step) (Answer, error) {
	if step.Until == nil {
		return p.side.send(ctx, step, p.values)
	}
	deadline := time.NewTimer(untilTimeout)
	defer deadline.Stop()
	pause := time.NewTicker(untilPause)
	defer pause.Stop()
	for {
		answer, err := p.side.send(ctx, step, p.values)
		if err != nil || step.Until.holds(answer) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			answer["until"] = "the condition has not come to hold" // so it differs from the side where it has
			return answer, nil
		case <-pause.C:
		}
	}
}

// keep replaces the body by what is at paths, all of it if there are none.
func keep(answer Answer, paths []string) Answer {
	if len(paths) == 0 {
		return answer
	}
	body := map[string]any{}
	for _, path := range paths {
		body[path] = lookup(answer["body"], path)
	}
	answer["body"] = body
	return answer
}
