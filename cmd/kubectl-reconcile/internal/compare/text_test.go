package compare

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/compare"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func pod(name string) trace.Object {
	return trace.Object{Version: "v1", Resource: "pods", Kind: "Pod", Namespace: "shop", Name: name}
}

// watched is the cause of a write.
var watched = []trace.Cause{{Type: trace.CauseWatch, Watch: &trace.Watch{
	Event: trace.Added, Object: trace.Object{Kind: "ReplicaSet", Name: "web-1"}, Writer: "deployment",
}}}

func TestText(t *testing.T) {
	different := &compare.Result{
		Controllers: []string{"deployment", "replicaset"}, Inputs: 2, Effects: 5, Unattributed: 1, Gaps: 1,
		Keys: []compare.Key{
			{Controller: "deployment", Key: "shop/web", Same: 2, Merged: 1},
			{
				Controller: "replicaset", Key: "shop/web-1", Same: 1, Uncompared: 1,
				Other: &compare.Difference{
					Recorded: compare.Write{
						Verb: compare.VerbCreate, Object: pod("web-1-abcde"), Record: 7,
						Time: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC),
					},
					Replayed: compare.Write{Verb: compare.VerbCreate, Object: pod(""), Causes: watched},
					Fields: []fields.Change{
						{Path: "spec.containers[name=c].image", Old: "a\x1b[31m", New: "b"},
					},
				},
				Missing: []compare.Write{{Verb: compare.VerbDelete, Object: pod("web-1-fghij"), Record: 8}},
				Extra: []compare.Write{{
					Verb: compare.VerbUpdateStatus, Object: pod("x"), Changes: []fields.Change{
						{Path: "status.replicas", Old: int64(1), New: int64(2)},
					},
				}},
				ByTimer: []compare.Write{{Verb: compare.VerbUpdate, Object: pod("y"), Record: 9}},
			},
		},
	}
	for _, tc := range []struct {
		name    string
		result  *compare.Result
		again   repeated
		verbose bool
		want    string
		reason  string
	}{
		{
			name: "audited", reason: "what an audit log tells apart, and what is of other namespaces",
			result: &compare.Result{
				Controllers: []string{"job"}, Inputs: 1, Effects: 1, ByAuditLog: true, Outside: 1,
				Keys: []compare.Key{{Controller: "job", Key: "shop/task", Same: 1}},
			},
			want: `job on the recording: 1 write withheld, told apart by the audit log; 1 other event played
RESULT   CONTROLLER   KEY         WRITES
same     job          shop/task   1 same

same: 1 write of 1 key
1 write to volumes of claims in namespaces that were not recorded, not compared
`,
		},
		{
			name: "same", reason: "what is the same needs no details",
			result: &compare.Result{
				Controllers: []string{"job"}, Inputs: 1, Effects: 1, ByTrace: true,
				Keys: []compare.Key{{Controller: "job", Key: "shop/task", Same: 1}},
			},
			want: `job on the recording: 1 write withheld, told apart by its trace; 1 other event played
RESULT   CONTROLLER   KEY         WRITES
same     job          shop/task   1 same

same: 1 write of 1 key
`,
		},
		{
			name: "not enough", reason: "statuses in between and deletions say little",
			result: &compare.Result{
				Controllers: []string{"op"}, Writers: []string{"op"}, Inputs: 1, Effects: 4, Unattributed: 1,
				Keys: []compare.Key{{
					Controller: "op", Key: "Website shop/blog", Same: 3, Merged: 1, Redacted: 1,
					Repeats: &compare.Repeats{Writes: 12, Within: trace.Duration(2 * time.Second)},
				}},
			},
			want: `op on the recording: 4 writes withheld, told apart by field manager op; 1 other event played
RESULT   CONTROLLER   KEY                 WRITES
same     op           Website shop/blog   3 same, 1 redacted value not compared

op Website shop/blog
  12 writes within 2s after the last event that change nothing: a recording does not show those

not enough: 3 writes of 1 key the same, but too little was compared
2 of 4 recorded writes (1 in between, 1 by unknown writers) not compared
`,
		},
		{
			name: "different", result: different, again: repeated{ran: true},
			reason: "each difference has its fields and cause, escaped for a terminal",
			want: `deployment, replicaset on the recording: 5 writes withheld, told apart by kind, fields and owner; 2 other events played
RESULT      CONTROLLER   KEY          WRITES
same        deployment   shop/web     2 same
different   replicaset   shop/web-1   1 same, 1 other, 1 missing, 1 extra, 1 by timer, 1 not compared

replicaset shop/web-1
  recorded  creates Pod web-1-abcde (#7 at 03:04:05.006)
  replayed  creates Pod with a generated name with   <- ReplicaSet web-1 created by deployment
    spec.containers[name=c].image: a^[[31m -> b
  missing   deletes Pod web-1-fghij (#8)
  extra     updates the status of Pod x: replicas: 1 -> 2
  1 recorded write after that not compared

different: 1 of 2 keys; 3 same, 1 other, 1 missing, 1 extra, 1 not compared
a second run came out the same
1 write by timers not compared; -v shows them
1 event by unknown writers, taken as given
1 gap in the recording: what happened in them is not compared
`,
		},
	} {
		var out bytes.Buffer
		if err := (&text{out: &out, ascii: true, verbose: tc.verbose}).write(tc.result, tc.again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, out.String()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tc.name, tc.reason, diff)
		}
	}
}
