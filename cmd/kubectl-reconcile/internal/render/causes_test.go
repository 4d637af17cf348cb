package render

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestCauses(t *testing.T) {
	watched := func(w trace.Watch) trace.Cause {
		w.Kind, w.Name, w.ResourceVersion = "Pod", "web-1", "7"
		return trace.Cause{Type: trace.CauseWatch, Handler: "updatePod", Watch: &w}
	}
	changesOf := func(n int) *trace.Change {
		var out []fields.Change
		for i := range n {
			out = append(out, fields.Change{Path: fmt.Sprintf("status.f%d", i), New: int64(i)})
		}
		return changed(out...)
	}
	manager := func(name string) *trace.Manager {
		return trace.ManagerFrom(func() fields.Writer { return fields.Writer{Manager: name} })
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
		{"added", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Added})}}, "because  ADDED Pod web-1 v7, seen by updatePod", "what happened, to which object, and which handler saw it"},
		{"initial", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Added, Initial: true})}}, "because  ADDED Pod web-1 v7 (there before the start), seen by updatePod", "a first list is no creation"},
		{"written by", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Deleted, WrittenBy: 12})}}, "because  DELETED Pod web-1 v7, seen by updatePod", "a trace of another program may lack the writer"},
		{"written by one of another controller", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Deleted, WrittenBy: 12, Writer: "kubelet"})}}, "because  DELETED Pod web-1 v7, seen by updatePod   written by kubelet", "whose reconcile has no block"},
		{"written by one of another controller, verbose", Verbose, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Deleted, WrittenBy: 12, Writer: "kubelet"})}}, "because  DELETED Pod web-1 v7, seen by updatePod   written by kubelet #12", "here it has one"},
		{"written from outside", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Modified, Manager: manager("flux"), Change: changed(fields.Change{Path: "metadata.generation", Old: int64(1), New: int64(2)}, fields.Change{Path: "spec.replicas", Old: int64(1), New: int64(2)})})}}, "because  MODIFIED Pod web-1 v7 (spec.replicas: 1 -> 2 by flux), seen by updatePod", "who did what"},
		{"created from outside", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Added, Manager: manager("fl\x1bux")})}}, "because  ADDED Pod web-1 v7 by fl^[ux, seen by updatePod", "any client may choose the name of its manager"},
		{"modified", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Modified, Change: changesOf(1)})}}, "because  MODIFIED Pod web-1 v7 (f0: 0), seen by updatePod", "what changed"},
		{"much modified", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Modified, Change: changesOf(5)})}}, "because  MODIFIED Pod web-1 v7 (f0: 0, f1: 1, f2: 2, 2 more), seen by updatePod", "three fields are shown"},
		{"much modified, verbose", Verbose, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Modified, Change: changesOf(5)})}}, "because  MODIFIED Pod web-1 v7 (f0: 0, f1: 1, f2: 2, f3: 3, f4: 4), seen by updatePod", "-v shows all"},
		{"resync", Normal, trace.Start{Causes: []trace.Cause{watched(trace.Watch{Event: trace.Resync})}}, "because  RESYNC Pod web-1 v7, seen by updatePod", "nothing changed"},
		{"no watch", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseWatch}}}, "because  a watch event", "a trace of another program may lack it"},
		{"retry", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseRetry, Retry: 2, Reconcile: 5, Delay: trace.Duration(10 * time.Millisecond), Handler: "handleErr"}}}, "because  retry 2, after 10ms, added by handleErr", "the reconcile that failed has no block"},
		{"retry, verbose", Verbose, trace.Start{Causes: []trace.Cause{{Type: trace.CauseRetry, Retry: 2, Reconcile: 5, Delay: trace.Duration(10 * time.Millisecond), Handler: "handleErr"}}}, "because  retry 2 of #5, after 10ms, added by handleErr", "which try of what"},
		{"retry of nothing known", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseRetry, Retry: 2}}}, "because  retry 2, after 0s", "no number is better than #0"},
		{"timer", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseTimer, Reconcile: 5, Delay: trace.Duration(time.Minute)}}}, "because  timer of 1m", "the reconcile that set it has no block"},
		{"timer, verbose", Verbose, trace.Start{Causes: []trace.Cause{{Type: trace.CauseTimer, Reconcile: 5, Delay: trace.Duration(time.Minute)}}}, "because  timer of 1m set by #5", "who set it"},
		{"timer of no known reconcile", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseTimer, Delay: trace.Duration(time.Minute)}}}, "because  timer of 1m", "nor #0 here"},
		{"timer at an event", Normal, trace.Start{Causes: []trace.Cause{put(watched(trace.Watch{Event: trace.Added, WrittenBy: 12}), time.Second)}}, "because  ADDED Pod web-1 v7, seen by updatePod, delayed by 1s", "the event is why, the delay when"},
		{"reconcile", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseReconcile, Reconcile: 5, Handler: "sync"}}}, "because  another reconcile, added by sync", "which has no block"},
		{"reconcile, verbose", Verbose, trace.Start{Causes: []trace.Cause{{Type: trace.CauseReconcile, Reconcile: 5, Handler: "sync"}}}, "because  reconcile #5, added by sync", "another reconcile added the key"},
		{"other", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseOther, Handler: "scan"}}}, "because  the controller itself, added by scan", "a periodic scan, say"},
		{"hostile", Normal, trace.Start{Causes: []trace.Cause{{Type: trace.CauseOther, Handler: "a\x1b[2Jb"}}}, "because  the controller itself, added by a^[[2Jb", "a recorded trace may hold anything"},
		{"three", Normal, trace.Start{Causes: retries(3)}, "because  retry 1, after 0s|retry 2, after 0s|retry 3, after 0s", "three are shown"},
		{"four", Normal, trace.Start{Causes: retries(4)}, "because  retry 1, after 0s|retry 2, after 0s|retry 3, after 0s|and 1 more", "the others are counted"},
		{"seven, verbose", Verbose, trace.Start{Causes: retries(7)}, "because  retry 1, after 0s|retry 2, after 0s|retry 3, after 0s|retry 4, after 0s|retry 5, after 0s|retry 6, after 0s|retry 7, after 0s", "-v shows all"},
		{"not kept", Normal, trace.Start{Causes: retries(4), MoreCauses: 10}, "because  retry 1, after 0s|retry 2, after 0s|retry 3, after 0s|and 11 more", "those that were not kept count"},
		{"not kept, verbose", Verbose, trace.Start{Causes: retries(1), MoreCauses: 10}, "because  retry 1, after 0s|and 10 more", "they cannot be shown, only counted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := shown(t, BlocksOptions{Detail: tt.detail}, of1(&tt.in), of1(&trace.End{Outcome: trace.Done, Writes: 1}))
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

// TestCausesPointAtBlocks: a cause names a reconcile by its number only if that has a block.
func TestCausesPointAtBlocks(t *testing.T) {
	set := func(event trace.WatchType, by trace.ReconcileID) trace.Cause {
		return trace.Cause{Type: trace.CauseWatch, Watch: &trace.Watch{
			Event: event, Object: trace.Object{Kind: "ReplicaSet", Name: "web-1"}, ResourceVersion: "7", WrittenBy: by, Writer: "deployment",
			Change: changed(fields.Change{Path: "status.replicas", Old: int64(0), New: int64(3)}),
		}}
	}
	retry := func(n int, of trace.ReconcileID) trace.Cause {
		return trace.Cause{Type: trace.CauseRetry, Retry: n, Reconcile: of, Delay: trace.Duration(5 * time.Millisecond)}
	}
	reconcile := func(id trace.ReconcileID, end trace.End, causes ...trace.Cause) []*trace.Event {
		e := reconcileEvents("replicaset", id, "default/web-1")
		return []*trace.Event{e(&trace.Start{Causes: causes}), e(&end)}
	}
	wrote, idle := trace.End{Outcome: trace.Done, Writes: 1}, trace.End{Outcome: trace.Done}
	putOff := trace.End{Outcome: trace.Failed, Error: stale, PutOff: "pods", Next: &trace.Next{Retry: 1}}
	conflicting := reconcileEvents("replicaset", 1, "default/web-1")(&trace.Request{Verb: "update", Code: 409, Reason: "Conflict", Message: "modified"})
	for _, test := range []struct {
		reason string
		before [][]*trace.Event
		cause  trace.Cause
		want   []string // of the last reconcile
	}{
		{"one that wrote has a block, and what it wrote stands there", [][]*trace.Event{reconcile(1, wrote)}, set(trace.Modified, 1),
			[]string{"MODIFIED ReplicaSet web-1 v7   written by deployment #1"}},
		{"one that is still at work will have one", [][]*trace.Event{reconcile(1, wrote)[:1]}, set(trace.Modified, 1),
			[]string{"MODIFIED ReplicaSet web-1 v7   written by deployment #1"}},
		{"one that is not shown has none", nil, set(trace.Modified, 1),
			[]string{"MODIFIED ReplicaSet web-1 v7 (replicas: 0 -> 3)   written by deployment"}},
		{"the retry of one that failed", [][]*trace.Event{reconcile(1, trace.End{Outcome: trace.Failed, Error: "no"})}, retry(1, 1), []string{"retry 1 of #1, after 5ms"}},
		{"one that was put off has none: its causes are shown as those of its retry", [][]*trace.Event{reconcile(1, putOff, set(trace.Added, 9))}, retry(1, 1),
			[]string{"ADDED ReplicaSet web-1 v7 (replicas: 0 -> 3)   written by deployment"}},
		{"also after several", [][]*trace.Event{reconcile(1, putOff, set(trace.Added, 9), set(trace.Deleted, 9)), reconcile(2, putOff, retry(1, 1))}, retry(2, 2),
			[]string{"ADDED ReplicaSet web-1 v7 (replicas: 0 -> 3)   written by deployment", "DELETED ReplicaSet web-1 v7 (replicas: 0 -> 3)   written by deployment"}},
		{"so it is with a conflict that has no line", [][]*trace.Event{
			reconcile(1, trace.End{}, set(trace.Added, 9))[:1], {conflicting, reconcile(1, trace.End{Outcome: trace.Failed, Error: "modified", Next: &trace.Next{Retry: 2}})[1]},
		}, retry(2, 1), []string{"ADDED ReplicaSet web-1 v7 (replicas: 0 -> 3)   written by deployment"}},
		{"one that wrote nothing is named by its key", [][]*trace.Event{reconcile(1, idle)}, trace.Cause{Type: trace.CauseReconcile, Reconcile: 1},
			[]string{"reconcile of default/web-1"}},
		{"so is one that may write nothing", [][]*trace.Event{reconcile(1, idle)[:1]}, trace.Cause{Type: trace.CauseReconcile, Reconcile: 1},
			[]string{"reconcile of default/web-1"}},
		{"one that wrote is named by its number", [][]*trace.Event{reconcile(1, wrote)}, trace.Cause{Type: trace.CauseReconcile, Reconcile: 1},
			[]string{"reconcile #1"}},
	} {
		var out bytes.Buffer
		blocks := NewBlocks(&out, BlocksOptions{Detail: Normal})
		for _, events := range test.before {
			record(blocks, events...)
		}
		out.Reset()
		record(blocks, reconcile(50, wrote, test.cause)...)
		var got []string
		for l := range strings.SplitSeq(out.String(), "\n") {
			if l = strings.TrimPrefix(l, "  because"); strings.HasPrefix(l, "  ") && !strings.HasPrefix(l, "  done") {
				got = append(got, strings.TrimSpace(l))
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// TestAuthorIsNotNamed: causes do not name the field manager of the run itself.
func TestAuthorIsNotNamed(t *testing.T) {
	for author, want := range map[string]bool{"kubectl-reconcile": false, "": true, "flux": true} {
		watch := &trace.Watch{Event: trace.Added, Manager: trace.ManagerFrom(func() fields.Writer { return fields.Writer{Manager: "kubectl-reconcile"} })}
		got := shown(t, BlocksOptions{Detail: Normal, FieldManager: author},
			of1(&trace.Start{Causes: []trace.Cause{{Type: trace.CauseWatch, Watch: watch}}}), of1(&trace.End{Outcome: trace.Done, Writes: 1}))
		if strings.Contains(got, " by kubectl-reconcile") != want {
			t.Errorf("with the author %q:\n%s", author, got)
		}
	}
}
