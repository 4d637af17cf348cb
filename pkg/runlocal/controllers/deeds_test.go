package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// loneSession is a recorded one in which the API does nothing in a controller's place.
func loneSession(t testing.TB) *session {
	t.Helper()
	log := &eventLog{}
	s := newSessionOf(t, tap.Options{Recorder: trace.NewRecorder(clock.RealClock{}, log)}, api.Options{})
	s.log = log
	return s
}

// deeds are the writes of a controller that were granted, Events left out, each with the key that it was made for and
// the first watch event that led to it: "VERB RESOURCE[/SUBRESOURCE] by KEY because EVENT KIND NAME seen by HANDLER". A
// write outside of any reconcile is "by nobody". They are sorted, and each is there once.
func (s *session) deeds(controller string) []string {
	var out []string
	causes := map[trace.ReconcileID]string{}
	for _, e := range s.log.list() {
		if e.Controller != controller {
			continue
		}
		switch d := e.Detail.(type) {
		case *trace.Start:
			causes[e.Reconcile] = because(d.Causes)
		case *trace.Request:
			if d.IsWrite() && !d.Failed() && d.Recorded == nil {
				out = append(out, deed(e, d)+causes[e.Reconcile])
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func deed(e *trace.Event, r *trace.Request) string {
	by := e.Key
	if e.Reconcile == 0 {
		by = "nobody"
	}
	return fmt.Sprintf("%s %s by %s", r.Verb, strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/"), by)
}

func because(causes []trace.Cause) string {
	for _, c := range causes {
		if c.Watch != nil {
			return fmt.Sprintf(" because %s %s %s seen by %s", c.Watch.Event, c.Watch.Kind, c.Watch.Name, c.Handler)
		}
	}
	if len(causes) > 0 {
		return " because of " + causes[0].Handler
	}
	return ""
}

// expect waits until the controller has done all of these deeds.
func (s *session) expect(t testing.TB, controller string, want ...string) {
	t.Helper()
	var missing, got []string
	err := wait.PollUntilContextTimeout(t.Context(), 2*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		got = s.deeds(controller)
		missing = slices.DeleteFunc(slices.Clone(want), func(deed string) bool { return slices.Contains(got, deed) })
		return len(missing) == 0, nil
	})
	if err != nil {
		t.Errorf("%s has not done\n\t%s\nbut\n\t%s", controller, strings.Join(missing, "\n\t"), strings.Join(got, "\n\t"))
	}
}
