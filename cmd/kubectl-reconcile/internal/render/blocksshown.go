package render

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// isAside reports whether the event is of a controller that is not shown, and is none of the Events that are asked for.
func (b *Blocks) isAside(e *trace.Event) bool {
	if !b.brief() || !slices.Contains(b.o.Aside, e.Controller) {
		return false
	}
	r, ok := e.Detail.(*trace.Request)
	return !ok || r.Recorded == nil
}

// showsLog reports whether a line is shown, in its block if it has one.
func (b *Blocks) showsLog(open *block, controller string, l *trace.Log) bool {
	if l.Level > b.o.Detail.LogLevel() {
		return false
	}
	if open == nil {
		return b.showsLone(l) && !b.saidBefore(controller, l)
	}
	return !b.isRoutine(controller, l)
}

// isRoutine reports whether a line is one of those that are shown only from Verbose on.
func (b *Blocks) isRoutine(controller string, l *trace.Log) bool {
	return b.brief() && l.Error == "" && (isThrottling(l) || slices.Contains(b.o.Routine[controller], l.Message))
}

// isThrottling reports whether a line is client-go's about a request that had to wait for others (rest.Request): that
// is no decision of the controller.
func isThrottling(l *trace.Log) bool { return l.Message == "Waited before sending request" }

// showsLone reports whether a line is shown that belongs to no reconcile. Mostly it is "starting" and "shutting down";
// errors of a start that is cut off come before the run has begun, and at its end those that say no more than that it
// has ended. What a controller tells of its machinery in detail would drown the reconciles.
func (b *Blocks) showsLone(l *trace.Log) bool {
	if b.o.Detail >= Everything || b.o.Detail == Verbose && l.Level <= Normal.LogLevel() {
		return true
	}
	return l.Error != "" && !b.startAt.IsZero() && !strings.HasSuffix(l.Error, context.Canceled.Error())
}

// uncounted reports whether a repetition of an Event could not be counted only because a dry run kept none.
func uncounted(r *trace.Request) bool {
	return r.DryRun && r.Verb == "patch" && r.Code == http.StatusNotFound
}

// worthShowing leaves out the lines that only log the error that the end tells too.
func (b *Blocks) worthShowing(events []*trace.Event) []*trace.Event {
	if len(events) == 0 {
		return nil // cut off before anything happened
	}
	end, ok := events[len(events)-1].Detail.(*trace.End)
	if !ok || end.Error == "" || !b.brief() {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(e *trace.Event) bool {
		log, ok := e.Detail.(*trace.Log)
		return ok && (log.Error == end.Error || slices.ContainsFunc(log.Values, func(v trace.Value) bool { return v.Value == end.Error }))
	})
}
