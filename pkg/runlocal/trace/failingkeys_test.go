package trace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// noRight is how an API server's authorizer refuses a request.
const noRight = `pods is forbidden: User "reader" cannot create resource "pods" in API group "" in the namespace "default"`

// lags is the error of a controller whose cache does not show its own write yet.
const lags = "read version: 275 is not as new as written version: 279 for group resource pods"

func TestFailingKeys(t *testing.T) {
	type reconcile struct {
		outcome Outcome
		err     string
		writes  []*Request
	}
	fails := func(err string, writes ...*Request) reconcile { return reconcile{Failed, err, writes} }
	does := func(writes ...*Request) reconcile { return reconcile{Done, "", writes} }
	unverified := dryRequest("create", "pods", "", "", refusing(403, noRight))
	quota := dryRequest("create", "pods", "", "", refusing(403, "exceeded quota"))
	taken := dryRequest("create", "pods", "", "web-1")
	for _, test := range []struct {
		reason     string
		reconciles []reconcile
		failures   int // 0 is that the key does not fail
		err        string
		unverified bool
	}{
		{"no failure", []reconcile{does(taken)}, 0, "", false},
		{"failures in a row are counted, and the latest reason kept", []reconcile{fails("a"), fails("b")}, 2, "b", false},
		{"a success ends them", []reconcile{fails("a"), does()}, 0, "", false},
		{"and later ones count from one", []reconcile{fails("a"), does(), fails("a")}, 1, "a", false},
		{"giving up is a failure", []reconcile{{GaveUp, "a", nil}}, 1, "a", false},
		{"waiting for its own write is not a failure", []reconcile{fails(lags)}, 0, "", false},
		{"and does not end one", []reconcile{fails("a"), fails(lags)}, 1, "a", false},
		{"a write that the user may not try is unverified", []reconcile{fails(noRight, unverified)}, 1, noRight, true},
		{"also if the reconcile succeeds", []reconcile{does(unverified)}, 0, "", true},
		{"until the write is tried", []reconcile{fails(noRight, unverified), does(taken)}, 0, "", false},
		{"or tried and refused", []reconcile{fails(noRight, unverified), fails("exceeded quota", quota)}, 2, "exceeded quota", false},
		{"or is not needed any more", []reconcile{does(unverified), does()}, 0, "", false},
		{"a quota would refuse the real write, too", []reconcile{fails("exceeded quota", quota)}, 1, "exceeded quota", false},
	} {
		s := NewFailingKeys()
		for n, r := range test.reconciles {
			emit := func(d Detail) {
				s.Record(&Event{Controller: "replicaset", Reconcile: ReconcileID(n + 1), Key: "default/web", Detail: d})
			}
			for _, w := range r.writes {
				emit(w)
			}
			end := &End{Outcome: r.outcome, Error: r.err}
			end.PutOff, _ = StaleCache(r.err)
			emit(end)
		}
		var want []FailingKey
		if test.failures > 0 {
			want = []FailingKey{{Controller: "replicaset", Key: "default/web", Failures: test.failures, Error: test.err}}
		}
		if diff := cmp.Diff(want, s.Failing(), cmpopts.IgnoreFields(FailingKey{}, "Unverified")); diff != "" {
			t.Errorf("%s: failing (-want +got):\n%s", test.reason, diff)
		}
		if got := len(s.Unverified()) > 0; got != test.unverified {
			t.Errorf("%s: unverified is %t", test.reason, got)
		}
		if len(s.unverified) > 0 {
			t.Errorf("%s: %v is kept for reconciles that have ended", test.reason, s.unverified)
		}
	}
}

// TestFailingKeysOutsideReconciles: what a controller does outside of any reconcile has no key, and no End follows it.
func TestFailingKeysOutsideReconciles(t *testing.T) {
	s := NewFailingKeys()
	unverified := dryRequest("create", "pods", "", "web-1", refusing(403, noRight))
	s.Record(&Event{Controller: "podgc", Detail: unverified})
	if got := s.Unverified(); len(got) != 1 || len(s.Failing()) != 0 {
		t.Errorf("unverified are %+v", got)
	}
	s.Record(&Event{Controller: "podgc", Detail: dryRequest("create", "pods", "", "web-1")})
	if got := s.Unverified(); len(got) != 0 {
		t.Errorf("it was tried, and is still unverified: %+v", got)
	}
}

func TestRequestIsUnverified(t *testing.T) {
	unsent := func(r *Request) { r.NotSent = true }
	for _, test := range []struct {
		reason string
		of     *Request
		want   bool
	}{
		{"taken", dryRequest("create", "pods", "", "a"), false},
		{"no answer", dryRequest("create", "pods", "", "a", refusing(0, "connection refused")), true},
		{"not authenticated", dryRequest("create", "pods", "", "a", refusing(401, "Unauthorized")), true},
		{"no permission", dryRequest("create", "pods", "", "a", refusing(403, noRight)), true},
		{"no permission to grant permissions", dryRequest("update", "clusterroles", "", "a", refusing(403, `user "a" (groups=["b"]) is attempting to grant RBAC permissions not currently held: {}`)), true},
		{"admission", dryRequest("create", "pods", "", "a", refusing(403, `pods "a" is forbidden: exceeded quota: q`)), false},
		{"invalid", dryRequest("create", "pods", "", "a", refusing(422, "invalid")), false},
		{"another client was faster", dryRequest("create", "pods", "", "a", refusing(409, "already exists")), false},
		{"too many requests", dryRequest("create", "pods", "", "a", refusing(429, "too many")), true},
		{"a failing server", dryRequest("create", "pods", "", "a", refusing(503, "etcd")), true},
		{"not sent, and answered", dryRequest("create", "pods", "", "a", unsent), false},
		{"not sent, and not answered", dryRequest("patch", "pods", "", "a", unsent, refusing(415, "only a server can")), true},
		{"not sent, of an object that does not exist", dryRequest("patch", "pods", "", "a", unsent, refusing(404, "not found")), false},
		{"a real write that is refused is verified", dryRequest("create", "pods", "", "a", refusing(403, noRight), func(r *Request) { r.DryRun = false }), false},
	} {
		if got := test.of.IsUnverified(); got != test.want {
			t.Errorf("%s: %t", test.reason, got)
		}
	}
}
