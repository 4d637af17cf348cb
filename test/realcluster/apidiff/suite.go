package apidiff

import (
	"context"
	"errors"
	"fmt"
)

// Outcome is what comparing a step's answers came to.
type Outcome string

// Outcomes of a step.
const (
	Same      Outcome = "same"
	MeantTo   Outcome = "meant"
	Different Outcome = "different"
)

// StepResult is a compared step.
type StepResult struct {
	// ID is FILE/STEP.
	ID          string
	Outcome     Outcome
	Differences []Difference
	// Real and Embedded are the normalised answers.
	Real, Embedded Answer
}

// FileResult is a played file.
type FileResult struct {
	Name, About string
	Steps       []StepResult // setup steps are left out
	// Problems are defects of the file itself, seen on the real side: a step answered otherwise than the file expects.
	Problems []error
}

// Suite compares two sides.
type Suite struct {
	// Real is the reference.
	Real, Embedded *Side
	Meant          []*Meant
}

// Play plays files one after the other, each step on both sides before the next. An error means that a side cannot be
// used; differences are part of the result. It must not be called concurrently.
func (s *Suite) Play(ctx context.Context, files []File) ([]FileResult, error) {
	var results []FileResult
	for i := range files {
		result, err := s.playFile(ctx, &files[i])
		if err != nil {
			return results, fmt.Errorf("playing %q: %w", files[i].Name, err)
		}
		results = append(results, result)
	}
	return results, nil
}

func (s *Suite) playFile(ctx context.Context, f *File) (FileResult, error) {
	result := FileResult{Name: f.Name, About: f.About}
	reference, embedded := newPlayer(s.Real, f), newPlayer(s.Embedded, f)
	if err := errors.Join(reference.prepare(ctx), embedded.prepare(ctx)); err != nil {
		return result, err
	}
	for i := range f.Steps {
		step := &f.Steps[i]
		a, b := reference.play(ctx, step), embedded.play(ctx, step)
		if err := ctx.Err(); err != nil {
			return result, err
		}
		if err := unexpected(step, a); err != nil {
			result.Problems = append(result.Problems, fmt.Errorf("%s/%s: %w", f.Name, step.Name, err))
		}
		compared := s.judge(f.Name+"/"+step.Name, a, b)
		if !step.Setup {
			result.Steps = append(result.Steps, compared)
		} else if err := unexpected(step, b); err != nil {
			result.Problems = append(result.Problems,
				fmt.Errorf("%s/%s on the embedded side: %w", f.Name, step.Name, err))
		}
	}
	return result, nil
}

// unexpected is why the step did not come to what its file expects.
func unexpected(step *Step, p played) error {
	if p.problem != nil {
		return p.problem
	}
	if !step.expects(p.code) {
		message := show(lookup(p.answer["body"], ".message"))
		return fmt.Errorf("answered %d, which the file does not expect: %s", p.code, message)
	}
	return nil
}

func (s *Suite) judge(id string, a, b played) StepResult {
	result := StepResult{ID: id, Outcome: Same, Real: a.answer, Embedded: b.answer}
	result.Differences = Differences(a.answer, b.answer)
	switch {
	case len(result.Differences) == 0:
	case meansAll(s.Meant, id, result.Differences):
		result.Outcome = MeantTo
	default:
		result.Outcome = Different
	}
	return result
}
