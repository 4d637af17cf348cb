package render

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// told is what a trace tells of a reconcile.
type told struct {
	outcome trace.Outcome
	err     string
	writes  []*trace.Request
	retry   int
}

// refusedPod is the creation of a pod under a name that the server makes, which it refuses for that reason.
func refusedPod(why string, dry bool) *trace.Request {
	return &trace.Request{Verb: "create", Code: 403, DryRun: dry, Message: why, Object: trace.Object{Resource: "pods", Kind: "Pod", Namespace: "default"}}
}

func TestFailingAgain(t *testing.T) {
	quota := func(name string) string { return `pods "web-785f6b64f-` + name + `" is forbidden: exceeded quota: q` }
	fails := func(why string, writes ...*trace.Request) told { return told{trace.Failed, why, writes, 1} }
	refused := func(name string, more ...*trace.Request) told {
		return fails(quota(name), append([]*trace.Request{refusedPod(quota(name), true)}, more...)...)
	}
	kept := dryWrite("update", "web", 3)
	kept.DryRun = false
	for _, test := range []struct {
		reason string
		told   []told
		detail Detail
		whole  []bool // of each, whether it is shown in full; what is not is one line
	}{
		{"the same again is a line", []told{refused("x7k2p"), refused("mtx2p"), refused("bbbbb")}, Normal, []bool{true, false, false}},
		{"-v shows all", []told{refused("x7k2p"), refused("mtx2p")}, Verbose, []bool{true, true}},
		{"another reason is shown", []told{refused("x7k2p"), fails("no such thing"), refused("mtx2p")}, Normal, []bool{true, true, true}},
		{"other figures are another reason", []told{fails("used: pods=3"), fails("used: pods=4")}, Normal, []bool{true, true}},
		{"the port that a connection begins at is none", []told{
			fails("read tcp 127.0.0.1:40211->127.0.0.1:6443: reset"), fails("read tcp 127.0.0.1:9->127.0.0.1:6443: reset"),
		}, Normal, []bool{true, false}},
		{"so are other tries", []told{refused("x7k2p"), refused("mtx2p", dryWrite("update", "web", 3))}, Normal, []bool{true, true}},
		{"the same other tries are not", []told{
			refused("x7k2p", dryWrite("update", "web", 3)), refused("mtx2p", dryWrite("update", "web", 3)),
		}, Normal, []bool{true, false}},
		{"what was kept is always shown", []told{refused("x7k2p", kept), refused("mtx2p", kept)}, Normal, []bool{true, true}},
		{"after that, what keeps nothing fails as before", []told{refused("x7k2p", kept), refused("mtx2p")}, Normal, []bool{true, false}},
		{"after a success the first failure is news", []told{refused("x7k2p"), {outcome: trace.Done, writes: []*trace.Request{kept}}, refused("mtx2p")}, Normal, []bool{true, true, true}},
		{"to give up is", []told{refused("x7k2p"), {trace.GaveUp, quota("mtx2p"), nil, 0}}, Normal, []bool{true, true}},
	} {
		var out bytes.Buffer
		b := NewBlocks(&out, BlocksOptions{Detail: test.detail})
		var whole []bool
		for n, r := range test.told {
			before := out.Len()
			tell(b, trace.ReconcileID(n+1), "default/web", r)
			whole = append(whole, strings.Contains(out.String()[before:], "  because  "))
			if !whole[n] && !strings.Contains(out.String()[before:], "failed as before; retry 1 in 1s\n") {
				t.Errorf("%s: the line of number %d:\n%s", test.reason, n, out.String()[before:])
			}
		}
		if diff := cmp.Diff(test.whole, whole); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", test.reason, diff, &out)
		}
	}
}

// tell records a reconcile.
func tell(b *Blocks, id trace.ReconcileID, key string, r told) {
	emit := func(d trace.Detail) {
		b.Record(&trace.Event{Controller: "replicaset", Reconcile: id, Key: key, Time: began().Add(time.Duration(id) * time.Second), Detail: d})
	}
	emit(&trace.Start{})
	for _, w := range r.writes {
		emit(w)
	}
	end := &trace.End{Outcome: r.outcome, Error: r.err}
	for _, w := range r.writes {
		if w.Failed() {
			end.Refused++
		} else {
			end.Writes++
		}
	}
	if r.retry > 0 {
		end.Next = &trace.Next{After: trace.Duration(time.Second), Retry: r.retry}
	}
	emit(end)
}

// TestFailuresInALine: lines that follow each other stand together, of several keys too. A success that is not shown
// ends them as well.
func TestFailuresInALine(t *testing.T) {
	var out bytes.Buffer
	b := NewBlocks(&out, BlocksOptions{Detail: Normal})
	b.StartAt(began())
	for n, key := range []string{"a", "b", "a", "b", "a"} {
		tell(b, trace.ReconcileID(n+1), key, told{trace.Failed, "no", nil, n})
	}
	tell(b, 6, "a", told{outcome: trace.Done})
	tell(b, 7, "a", told{trace.Failed, "no", nil, 1})
	want := `
+1.000s  replicaset  a  #1
  because  its cause was not seen
  failed   no writes, 0s: no

+2.000s  replicaset  b  #2
  because  its cause was not seen
  failed   no writes, 0s; retry 1 in 1s: no

+3.000s  replicaset  a  #3  failed as before; retry 2 in 1s
+4.000s  replicaset  b  #4  failed as before; retry 3 in 1s
+5.000s  replicaset  a  #5  failed as before; retry 4 in 1s

+7.000s  replicaset  a  #7
  because  its cause was not seen
  failed   no writes, 0s; retry 1 in 1s: no
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRefusedTurns: what a loop tries in vain at each turn of a dry run is shown once.
func TestRefusedTurns(t *testing.T) {
	var out bytes.Buffer
	b := NewBlocks(&out, BlocksOptions{Detail: Normal})
	for range 3 {
		b.Record(&trace.Event{Controller: "podgc", Detail: refusedPod("no", true)})
	}
	b.Record(&trace.Event{Controller: "podgc", Detail: refusedPod("never", true)})
	if got := len(regexp.MustCompile(`  tried    create Pod .* (no|never)\n`).FindAllString(out.String(), -1)); got != 2 || b.NotShown().Repeated != 2 {
		t.Errorf("%d are shown and %+v left out, want 2 each:\n%s", got, b.NotShown(), &out)
	}
}

func TestErrorsSaidBefore(t *testing.T) {
	rejected := func(event string) *trace.Event {
		return ofNone("deployment", &trace.Log{Message: "Server rejected event", Error: "event default/" + event + ": events is forbidden"})
	}
	events := []*trace.Event{rejected("web.18ea3d21f0392a97"), rejected("web.18ea3d21f5338d16"), rejected("api.18ea3d21f5338d16"), rejected("web.18ea3d21f5338d17")}
	for detail, want := range map[Detail]int{Normal: 2, Verbose: 4} {
		if got := strings.Count(shown(t, BlocksOptions{Detail: detail}, events...), "  error    Server rejected"); got != want {
			t.Errorf("at detail %d %d are shown, want %d", detail, got, want)
		}
	}
	var out bytes.Buffer
	b := NewBlocks(&out, BlocksOptions{Detail: Normal})
	b.StartAt(began())
	record(b, events...)
	if got := b.NotShown().Repeated; got != 2 {
		t.Errorf("%d are counted as left out, want 2", got)
	}
}
