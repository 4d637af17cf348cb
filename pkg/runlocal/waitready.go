package runlocal

import (
	"context"
	"fmt"
	"slices"
)

// NotReadyError is the error of applied objects that are not ready when nothing is left to do that could make them so.
type NotReadyError struct {
	// Objects are those that are late.
	Objects []ObjectStatus
}

// Error implements error.
func (e *NotReadyError) Error() string {
	first := e.Objects[0]
	text := fmt.Sprintf("%s is %s", first.Applied, first.Status.Status)
	if first.Status.Reason != "" {
		text += ": " + first.Status.Reason
	}
	if more := len(e.Objects) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// WaitReady returns when none of the objects is late, or with the error of ctx. It returns a *NotReadyError as soon as
// the session has settled and no key's time comes before the deadline of ctx, and they still are not: then nothing will
// change any more. While a custom resource has no status it waits on, for that is written by a client of the session:
// the error of ctx then names it.
func (s *Session) WaitReady(ctx context.Context, applied []Applied) error {
	return s.waitReady(ctx, applied, false)
}

// waitReady is WaitReady; with alone it waits for no client.
func (s *Session) waitReady(ctx context.Context, applied []Applied, alone bool) error {
	settled := s.settledForLong()
	var waiting []Applied // the first late one, which is read first: reading all of them each time would take long
	var unreported *NotReadyError
	err := s.poll(ctx, func() (bool, error) {
		last := settled() && !s.dueBeforeDeadline(ctx) // before the objects are read: nothing changes them afterwards
		late, err := s.late(ctx, waiting, false)
		if err == nil && (len(late) == 0 || last && unreported == nil) {
			late, err = s.late(ctx, applied, last)
		}
		if err == nil { // else what was read before still holds
			unreported = nil
		}
		i := slices.IndexFunc(late, func(o ObjectStatus) bool { return o.Status.Unreported() })
		if i >= 0 && last && !alone {
			late = late[i:]
			unreported = &NotReadyError{late}
		}
		switch {
		case err != nil || len(late) == 0:
			return true, err
		case last && unreported == nil:
			return true, &NotReadyError{late}
		}
		waiting = []Applied{late[0].Applied}
		return false, nil
	})
	if unreported != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %s", ctx.Err(), unreported.Error()) // wrapped, it would mean that nothing was left to do
	}
	return err
}

// dueBeforeDeadline reports whether a key comes back before the deadline of ctx, if that has one.
func (s *Session) dueBeforeDeadline(ctx context.Context) bool {
	end, limited := ctx.Deadline()
	return slices.ContainsFunc(s.Pending(), func(p Pending) bool { return !limited || p.Due.Before(end) })
}

// late finds those of the objects that are late: all, or the first.
func (s *Session) late(ctx context.Context, objects []Applied, all bool) ([]ObjectStatus, error) {
	j := judging{session: s}
	for _, a := range objects {
		if err := j.read(ctx, a); err != nil {
			return nil, err
		}
		if o := j.objects[len(j.objects)-1]; o.Late() && !all {
			return []ObjectStatus{o}, nil
		}
	}
	if err := j.routes(ctx); err != nil {
		return nil, err
	}
	return Readiness{Applied: j.objects}.Late(), nil
}
