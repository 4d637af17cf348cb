package render

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestCauses(t *testing.T) {
	watched := func(w trace.Watch) trace.Cause {
		w.Kind, w.Name, w.ResourceVersion = "Pod", "web-1", "7"
		return trace.Cause{Type: trace.CauseWatch, Handler: "updatePod", Watch: &w}
	}
	fields := func(n int) *trace.Change {
		var out []inspect.Change
		for i := range n {
			out = append(out, inspect.Change{Path: fmt.Sprintf("status.f%d", i), New: int64(i)})
		}
		return changed(out...)
	}
	put := func(c trace.Cause, off time.Duration) trace.Cause {
		c.Type, c.Delay = trace.CauseTimer, trace.Duration(off)
		return c
	}
	retries := func(n int) []trace.Cause {
		var out []trace.Cause
		for i := range n {
			out = append(out, trace.Cause{Type: trace.CauseRetry, Retry: i + 1})
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		detail Detail
		in     trace.Start
		want   string
		reason string
	}{
		{"none", Normal, trace.Start{}, "because  its cause was not seen", "the key was there before the queue was observed"},
		{"added", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Added})}}, "because  ADDED Pod web-1 v7, seen by updatePod", "what happened, to what, and who saw it"},
		{"initial", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Added, Initial: true})}}, "because  ADDED Pod web-1 v7 (there before the start), seen by updatePod", "a first list is no creation"},
		{"written by", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Deleted, WrittenBy: 12})}}, "because  DELETED Pod web-1 v7, seen by updatePod   written by #12", "the reconcile whose write it was"},
		{"written by one of another controller", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Deleted, WrittenBy: 12, Writer: "kubelet"})}}, "because  DELETED Pod web-1 v7, seen by updatePod   written by kubelet #12", "whose block may not be shown"},
		{"modified", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Modified, Change: fields(1)})}}, "because  MODIFIED Pod web-1 v7 (f0: 0), seen by updatePod", "what changed"},
		{"much modified", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Modified, Change: fields(5)})}}, "because  MODIFIED Pod web-1 v7 (f0: 0, f1: 1, f2: 2, 2 more), seen by updatePod", "three fields tell enough"},
		{"much modified, verbose", Verbose, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Modified, Change: fields(5)})}}, "because  MODIFIED Pod web-1 v7 (f0: 0, f1: 1, f2: 2, f3: 3, f4: 4), seen by updatePod", "all of them, if asked for"},
		{"resync", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Resync})}}, "because  RESYNC Pod web-1 v7, seen by updatePod", "nothing changed"},
		{"no watch", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseWatch}}}, "because  a watch event", "a trace read from elsewhere may lack it"},
		{"retry", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseRetry, Retry: 2, Reconcile: 5, Delay: trace.Duration(10 * time.Millisecond), Handler: "handleErr"}}}, "because  retry 2 of #5, after 10ms, added by handleErr", "which try of what"},
		{"retry of nothing known", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseRetry, Retry: 2}}}, "because  retry 2, after 0s", "no number is better than #0"},
		{"timer", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseTimer, Reconcile: 5, Delay: trace.Duration(time.Minute)}}}, "because  timer of 1m set by #5", "who set it"},
		{"timer of nobody known", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseTimer, Delay: trace.Duration(time.Minute)}}}, "because  timer of 1m", "nor #0 here"},
		{"timer at an event", Normal, trace.Start{Causes: []trace.Cause{put(watched(trace.Watch{Event: trace.Added, WrittenBy: 12}), time.Second)}}, "because  ADDED Pod web-1 v7, seen by updatePod, put off for 1s   written by #12", "the event is why, the delay when"},
		{"reconcile", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseReconcile, Reconcile: 5, Handler: "sync"}}}, "because  reconcile #5, added by sync", "another reconcile asked for it"},
		{"other", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseOther, Handler: "scan"}}}, "because  the controller itself, added by scan", "a periodic scan, say"},
		{"hostile", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseOther, Handler: "a\x1b[2Jb"}}}, "because  the controller itself, added by a^[[2Jb", "a recorded trace may hold anything"},
		{"six", Normal, trace.Start{Causes: retries(6)}, "because  retry 1, after 0s|retry 2, after 0s|retry 3, after 0s|retry 4, after 0s|retry 5, after 0s|retry 6, after 0s", "six are shown"},
		{"seven", Normal, trace.Start{Causes: retries(7)}, "because  retry 1, after 0s|retry 2, after 0s|retry 3, after 0s|retry 4, after 0s|retry 5, after 0s|retry 6, after 0s|and 1 more", "how many more is said"},
		{"seven, verbose", Verbose, trace.Start{Causes: retries(7)}, "because  retry 1, after 0s|retry 2, after 0s|retry 3, after 0s|retry 4, after 0s|retry 5, after 0s|retry 6, after 0s|retry 7, after 0s", "all, if asked for"},
		{"not kept", Normal, trace.Start{Causes: retries(7), MoreCauses: 10}, "because  retry 1, after 0s|retry 2, after 0s|retry 3, after 0s|retry 4, after 0s|retry 5, after 0s|retry 6, after 0s|and 11 more", "those that were not kept count"},
		{"not kept, verbose", Verbose, trace.Start{Causes: retries(1), MoreCauses: 10}, "because  retry 1, after 0s|and 10 more", "they cannot be shown, only counted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := shown(t, BlocksOptions{Detail: tt.detail}, of1(&tt.in), of1(&trace.End{Outcome: trace.Done}))
			lines := strings.Split(strings.TrimSpace(got), "\n")
			for i := range lines {
				lines[i] = strings.TrimSpace(lines[i])
			}
			if diff := cmp.Diff(tt.want, strings.Join(lines[1:len(lines)-1], "|")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}
