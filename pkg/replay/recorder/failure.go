package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

const (
	// minBackoff and maxBackoff bound the time between two attempts while a server does not answer, or fails.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 3 * time.Second
	// refusedBackoff is the time between two attempts while a server refuses what it has permitted before.
	refusedBackoff = 15 * time.Second
	// suspiciouslyShort is how long a watch lasts, at the least, that ends without an event for no reason.
	suspiciouslyShort = time.Second
)

// errorEvent is an ERROR in a watch.
type errorEvent struct {
	status metav1.Status
	object []byte
}

// newErrorEvent reads the object of an ERROR, which should be a Status.
func newErrorEvent(object []byte) *errorEvent {
	e := &errorEvent{object: object}
	if err := json.Unmarshal(object, &e.status); err != nil {
		e.status = metav1.Status{Message: "an ERROR that is no Status"}
	}
	return e
}

// Error implements error.
func (e *errorEvent) Error() string {
	if e.status.Message != "" {
		return e.status.Message
	}
	return fmt.Sprintf("an ERROR event with code %d and reason %q", e.status.Code, e.status.Reason)
}

// Status implements apierrors.APIStatus.
func (e *errorEvent) Status() metav1.Status { return e.status }

var _ apierrors.APIStatus = (*errorEvent)(nil)

// isErrorEvent reports whether an error is an ERROR in a watch.
func isErrorEvent(err error) bool {
	e := (*errorEvent)(nil)
	return errors.As(err, &e)
}

// isUnusable reports whether an error is an unusableError.
func isUnusable(err error) bool {
	e := unusableError("")
	return errors.As(err, &e)
}

// failed takes note of an attempt that has failed. The error that it returns is that of the sink.
func (s *stream) failed(err error) error {
	if s.recorder.journal.broken() {
		return err
	}
	s.gap.interrupt(isErrorEvent(err))
	// The second ERROR in a row without an event between is taken for one that the same watch would get again.
	lost := cluster.IsLost(err) || isErrorEvent(err) && s.distrusted
	switch {
	case lost && s.number != 0 && !s.expired:
		s.expired, s.distrusted, s.failures = true, false, 0
		return s.recordError(err)
	case isErrorEvent(err), isRefusal(err) && s.failures == 0 && s.number != 0:
		s.distrusted = isErrorEvent(err)
		if err := s.recordError(err); err != nil {
			return err
		}
	}
	s.failures++
	s.trouble(err, false)
	s.beginGap(err)
	return nil
}

// isRefusal reports whether the server has understood the request and will refuse it again: the user may not do it, the
// kind is not served or cannot be listed or watched, or a selector does not fit the kind.
func isRefusal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) || apierrors.IsNotAcceptable(err)
}

// gapReason returns why a gap has begun: by an answer of the server, or because there was none.
func gapReason(err error) replay.GapReason {
	if isRefusal(err) || isErrorEvent(err) || isUnusable(err) ||
		apierrors.IsUnauthorized(err) || apierrors.IsInternalError(err) {
		return replay.GapRefused
	}
	return replay.GapUnreachable
}

// statusJSON returns the Status of an error as the server sent it, or as JSON; nil if the error is not the server's.
func statusJSON(err error) []byte {
	if e := (*errorEvent)(nil); errors.As(err, &e) {
		return e.object
	}
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return nil
	}
	s := status.Status()
	s.Kind, s.APIVersion = "Status", "v1"
	out, err := json.Marshal(&s)
	if err != nil {
		return nil
	}
	return out
}

// backoff returns how long to wait before attempt n+1, after n that have failed with err at last.
func (r *Recorder) backoff(n int, err error) time.Duration {
	longest := maxBackoff
	if isRefusal(err) || apierrors.IsUnauthorized(err) {
		longest = refusedBackoff
	}
	d := min(minBackoff<<min(n-1, 10), longest)
	if r.options.Random != nil {
		d = d/2 + time.Duration(r.options.Random()*float64(d/2))
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		d = max(d, min(time.Duration(seconds)*time.Second, refusedBackoff))
	}
	return d
}

// wait waits for d, or until woken is closed, which may be nil. It returns false if ctx has ended first.
func wait(ctx context.Context, c clock.Clock, d time.Duration, woken <-chan struct{}) bool {
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-woken:
		return true
	case <-ctx.Done():
		return false
	}
}

// signal wakes those that wait for it.
type signal struct {
	mu   sync.Mutex // guards next
	next chan struct{}
}

// wait returns a channel that is closed by the next broadcast.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}

func (s *signal) broadcast() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}
