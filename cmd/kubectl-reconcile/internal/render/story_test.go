package render

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TestStory: each act is a line, below what it reacts to.
func TestStory(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	of := func(kind string) trace.Object { return trace.Object{Kind: kind} }
	named := func(names ...string) []trace.Named {
		var out []trace.Named
		for _, name := range names {
			out = append(out, trace.Named{Namespace: "shop", Name: name})
		}
		return out
	}
	act := func(ms int, typ trace.ActType, verb, kind string, names ...string) *trace.Act {
		return &trace.Act{Type: typ, Verb: verb, Of: of(kind), Objects: named(names...), Count: len(names), First: at(ms), Last: at(ms)}
	}
	with := func(a *trace.Act, change func(*trace.Act)) *trace.Act {
		change(a)
		return a
	}
	steps := []*trace.Step{
		{Manager: "me", Acts: []*trace.Act{act(1, trace.ActSeen, "create", "Deployment", "web"), act(2, trace.ActSeen, "create", "NetworkPolicy", "a", "b")}, Steps: []*trace.Step{
			{Controller: "deployment", Acts: []*trace.Act{
				with(act(12, trace.ActWrite, "create", "ReplicaSet", "web-1"), func(a *trace.Act) { a.Changes = []fields.Change{{Path: "spec.replicas", New: int64(3)}} }),
				with(act(20, trace.ActWrite, "update", "ReplicaSet", "web-1"), func(a *trace.Act) {
					a.Replicas, a.Count, a.Last = []any{int64(0), int64(1), int64(2), int64(3), int64(4), int64(5), int64(6)}, 6, at(2020)
				}),
			}, Steps: []*trace.Step{
				{Controller: "replicaset", Acts: []*trace.Act{
					act(36, trace.ActWrite, "create", "Pod", "web-1-a", "web-1-b", "web-1-c"),
					with(act(40, trace.ActRefused, "create", "Pod", "web-1-…"), func(a *trace.Act) { a.Message = "pods is forbidden: exceeded quota: few"; a.Count = 2 }),
				}, Steps: []*trace.Step{
					{Controller: "scheduler", Acts: []*trace.Act{with(act(48, trace.ActWrite, "create", "Pod", "web-1-a", "web-1-b", "web-1-c"), func(a *trace.Act) {
						a.Subresource = "binding"
						a.Objects[0].Node, a.Objects[1].Node, a.Objects[2].Node = "node-2", "node-1", "node-2"
					})}},
					{Controller: "kubelet", Acts: []*trace.Act{with(act(60, trace.ActStatus, "patch", "Pod", "web-1-a"), func(a *trace.Act) {
						a.Changes = []fields.Change{
							{Path: "status.containerStatuses[name=c].state.waiting.message", New: "image nope: not found"},
							{Path: "status.containerStatuses[name=c].state.waiting.reason", New: "ErrImagePull"},
						}
					})}},
				}},
			}},
		}},
		{Manager: "flux", Acts: []*trace.Act{
			with(act(70, trace.ActSeen, "delete", "Job", "a"), func(a *trace.Act) { a.Again = true }),
		}},
		{Acts: []*trace.Act{with(act(71, trace.ActSeen, "update", "Job", "b"), func(a *trace.Act) {
			a.Changes = []fields.Change{{Path: "spec.suspend", Old: true, New: false}}
		})}},
		{Controller: "statefulset", Acts: []*trace.Act{
			with(act(80, trace.ActWrite, "create", "Pod", "db-0", "db-1"), func(a *trace.Act) { a.Objects[1].Then = true }),
			with(act(90, trace.ActFailed, "", "", "shop/db"), func(a *trace.Act) { a.Message = "no volume"; a.Count = 3 }),
			with(act(95, trace.ActWrite, "patch", "StatefulSet", "db"), func(a *trace.Act) { a.Count = 4 }),
			with(act(99, trace.ActStatus, "update", "StatefulSet", "db"), func(a *trace.Act) {
				a.Changes = []fields.Change{{Path: "status.readyReplicas", Old: int64(0), New: int64(2)}}
			}),
		}},
		{Controller: "job", Acts: []*trace.Act{
			with(act(100, trace.ActWrite, "create", "Pod", "w-\x1b[31m"), func(a *trace.Act) { a.DryRun = true }),
			with(act(101, trace.ActWrite, "delete", "Pod", "x"), func(a *trace.Act) { a.Objects[0].Namespace = "other" }),
			act(102, trace.ActWrite, "delete", "Pod", "a-6", "a-1", "a-2", "a-3", "a-4", "a-5"),
		}},
	}
	const want = `+0.001s   you              creates Deployment web
+0.002s                    creates 2 NetworkPolicies a, b
+0.012s     deployment     creates ReplicaSet web-1 (3)
+0.020s                    scales ReplicaSet web-1  0 -> 1 -> 2 -> 3 -> … -> 5 -> 6, until +2.020s
+0.036s       replicaset   creates 3 Pods web-1-a, -b, -c
+0.040s                    cannot create Pod web-1-…: exceeded quota: few (2 times)
+0.048s         scheduler  binds web-1-b to node-1, -a, -c to node-2
+0.060s         kubelet    Pod web-1-a  ErrImagePull: image nope: not found
+0.070s   flux             deletes Job a (told above)
+0.071s   (somebody)       updates Job b  spec.suspend: true -> false
+0.080s   statefulset      creates 2 Pods db-0 -> -1
+0.090s                    fails for shop/db: no volume (3 times)
+0.095s                    updates StatefulSet db (4 times)
+0.099s                    StatefulSet db  readyReplicas: 0 -> 2
+0.100s   job              would create Pod w-^[[31m
+0.101s                    deletes Pod other/x
+0.102s                    deletes 6 Pods a-1, -2, -3, -4, -5 and 1 more
`
	var out bytes.Buffer
	if err := Story(&out, steps, StoryOptions{FieldManager: "me", Namespace: "shop", StartAt: began}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
