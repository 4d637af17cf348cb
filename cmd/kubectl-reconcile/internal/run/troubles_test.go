package run

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/guard"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// noRight is how an API server refuses what somebody may not do.
const noRight = `pods is forbidden: User "reader" cannot create resource "pods" in API group "" in the namespace "default"`

// lags is how a controller says that its cache does not show its own write yet.
const lags = "read version: 275 is not as new as written version: 279 for group resource pods"

func TestTroubles(t *testing.T) {
	type reconcile struct {
		outcome trace.Outcome
		err     string
		writes  []*trace.Request
	}
	fails := func(err string, writes ...*trace.Request) reconcile { return reconcile{trace.Failed, err, writes} }
	does := func(writes ...*trace.Request) reconcile { return reconcile{trace.Done, "", writes} }
	untried := dryRequest("create", "pods", "", "", refusing(403, noRight))
	quota := dryRequest("create", "pods", "", "", refusing(403, "exceeded quota"))
	taken := dryRequest("create", "pods", "", "web-1")
	for _, test := range []struct {
		reason     string
		reconciles []reconcile
		failures   int // 0 is that the key does not fail
		err        string
		unknown    bool
	}{
		{"all is well", []reconcile{does(taken)}, 0, "", false},
		{"failures in a row are counted, and the latest reason kept", []reconcile{fails("a"), fails("b")}, 2, "b", false},
		{"a success ends them", []reconcile{fails("a"), does()}, 0, "", false},
		{"and later ones count from one", []reconcile{fails("a"), does(), fails("a")}, 1, "a", false},
		{"to give up is a failure", []reconcile{{trace.GaveUp, "a", nil}}, 1, "a", false},
		{"to wait for its own write is none", []reconcile{fails(lags)}, 0, "", false},
		{"nor the end of one", []reconcile{fails("a"), fails(lags)}, 1, "a", false},
		{"what could not be tried is not known", []reconcile{fails(noRight, untried)}, 1, noRight, true},
		{"whether the controller minds or not", []reconcile{does(untried)}, 0, "", true},
		{"until it is tried", []reconcile{fails(noRight, untried), does(taken)}, 0, "", false},
		{"with whatever success", []reconcile{fails(noRight, untried), fails("exceeded quota", quota)}, 2, "exceeded quota", false},
		{"or need not be any more", []reconcile{does(untried), does()}, 0, "", false},
		{"a quota would refuse it in earnest, too", []reconcile{fails("exceeded quota", quota)}, 1, "exceeded quota", false},
	} {
		s := newTroubles()
		for n, r := range test.reconciles {
			emit := func(d trace.Detail) {
				s.Record(&trace.Event{Controller: "replicaset", Reconcile: trace.ReconcileID(n + 1), Key: "default/web", Detail: d})
			}
			for _, w := range r.writes {
				emit(w)
			}
			end := &trace.End{Outcome: r.outcome, Error: r.err}
			end.PutOff, _ = trace.StaleCache(r.err)
			emit(end)
		}
		var want []troubledKey
		if test.failures > 0 {
			want = []troubledKey{{Controller: "replicaset", Key: "default/web", Failures: test.failures, Error: test.err}}
		}
		if diff := cmp.Diff(want, s.failing(), cmpopts.IgnoreUnexported(troubledKey{})); diff != "" {
			t.Errorf("%s: failing (-want +got):\n%s", test.reason, diff)
		}
		if got := len(s.unknown()) > 0; got != test.unknown {
			t.Errorf("%s: unknown is %t", test.reason, got)
		}
		if len(s.untried) > 0 {
			t.Errorf("%s: %v is kept of reconciles that ended", test.reason, s.untried)
		}
	}
}

// TestLoneTroubles: what a controller does outside of any reconcile has no key and no end.
func TestLoneTroubles(t *testing.T) {
	s := newTroubles()
	untried := dryRequest("create", "pods", "", "web-1", refusing(403, noRight))
	s.Record(&trace.Event{Controller: "podgc", Detail: untried})
	if got := s.unknown(); len(got) != 1 || len(s.failing()) != 0 {
		t.Errorf("unknown are %+v", got)
	}
	s.Record(&trace.Event{Controller: "podgc", Detail: dryRequest("create", "pods", "", "web-1")})
	if got := s.unknown(); len(got) != 0 {
		t.Errorf("it was tried, and yet unknown are %+v", got)
	}
}

func TestIsUntried(t *testing.T) {
	unsent := func(r *trace.Request) { r.NotSent = true }
	for _, test := range []struct {
		reason string
		of     *trace.Request
		want   bool
	}{
		{"taken", dryRequest("create", "pods", "", "a"), false},
		{"no answer", dryRequest("create", "pods", "", "a", refusing(0, "connection refused")), true},
		{"not known to the server", dryRequest("create", "pods", "", "a", refusing(401, "Unauthorized")), true},
		{"no right", dryRequest("create", "pods", "", "a", refusing(403, noRight)), true},
		{"no right to give rights", dryRequest("update", "clusterroles", "", "a", refusing(403, `user "a" (groups=["b"]) is attempting to grant RBAC permissions not currently held: {}`)), true},
		{"admission", dryRequest("create", "pods", "", "a", refusing(403, `pods "a" is forbidden: exceeded quota: q`)), false},
		{"invalid", dryRequest("create", "pods", "", "a", refusing(422, "invalid")), false},
		{"somebody was faster", dryRequest("create", "pods", "", "a", refusing(409, "already exists")), false},
		{"too many requests", dryRequest("create", "pods", "", "a", refusing(429, "too many")), true},
		{"a server in trouble", dryRequest("create", "pods", "", "a", refusing(503, "etcd")), true},
		{"not sent, and answered", dryRequest("create", "pods", "", "a", unsent), false},
		{"not sent, and not answered", dryRequest("patch", "pods", "", "a", unsent, refusing(415, "only a server can")), true},
		{"not sent, of what is not there", dryRequest("patch", "pods", "", "a", unsent, refusing(404, "not found")), false},
		{"in earnest, what is refused is refused", dryRequest("create", "pods", "", "a", refusing(403, noRight), func(r *trace.Request) { r.DryRun = false }), false},
	} {
		if got := isUntried(test.of); got != test.want {
			t.Errorf("%s: %t", test.reason, got)
		}
	}
}

func TestUnknownWrites(t *testing.T) {
	right := troubledKey{untried: dryRequest("create", "pods", "", "", refusing(403, noRight))}
	away := troubledKey{untried: dryRequest("create", "pods", "", "", refusing(0, "connection refused"))}
	const text = "what would be written is not known: the writes of "
	why := strings.TrimPrefix(noRight, "pods is forbidden: ")
	for _, test := range []struct {
		reason, want, hint string
		mode               guard.Mode
		unknown            []troubledKey
	}{
		{"all is known", "", "", guard.Server, nil},
		{"rights", text + "1 key could not be tried: create pods.apps: " + why, "--dry-run=client sends no write, and needs no right to", guard.Server, []troubledKey{right}},
		{"client", text + "1 key could not be tried: create pods.apps: " + why, "", guard.Client, []troubledKey{right}},
		{"away", text + "2 keys could not be tried: create pods.apps: connection refused", "", guard.Server, []troubledKey{away, away}},
	} {
		o := &Options{cluster: &clusterRun{}}
		o.cluster.options.DryRun = test.mode
		err := o.unknownWrites(test.unknown)
		got, hint := "", ""
		if err != nil {
			got = err.Error()
		}
		if h := (*cli.HintError)(nil); errors.As(err, &h) {
			hint = h.Hint
		}
		if got != test.want || hint != test.hint {
			t.Errorf("%s: got %q and the hint %q", test.reason, got, hint)
		}
	}
}
