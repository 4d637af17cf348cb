package trial

import (
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TestWrites: what the answers to writes tell.
func TestWrites(t *testing.T) {
	pod := trace.Object{Resource: "pods", Namespace: "shop"}
	status := trace.Object{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}
	for _, row := range []struct {
		reason                     string
		request                    trace.Request
		resource, name             string // empty: nothing is noted
		accepted, refused, skipped bool   // skipped: not permitted, or not supported
		unanswered                 bool
	}{
		{"a read", trace.Request{Verb: "list", Object: pod, Code: 200}, "", "", false, false, false, false},
		{"an accepted write", trace.Request{Verb: "create", Object: pod, GenerateName: "web-1-", Code: 201, DryRun: true},
			"pods", "web-1-*", true, false, false, false},
		{"a subresource", trace.Request{Verb: "update", Object: status, Subresource: "status", Code: 200, DryRun: true},
			"deployments.apps/status", "web", true, false, false, false},
		{"refused by admission", trace.Request{Verb: "create", Object: pod, Code: 403,
			Message: `pods "web-1" is forbidden: exceeded quota: few`}, "pods", "", false, true, false, false},
		{"refused by a webhook that quotes a user", trace.Request{Verb: "create", Object: pod, Code: 403,
			Message: `admission webhook "x" denied the request: User "jane" has to ask first`}, "pods", "", false, true, false, false},
		{"an error without a message", trace.Request{Verb: "create", Object: pod, Code: 500}, "pods", "", false, true, false, false},
		{"not permitted to the user", trace.Request{Verb: "create", Object: pod, Code: 403,
			Message: `pods is forbidden: User "jane" cannot create resource "pods" in API group "" in the namespace "shop"`},
			"pods", "", false, false, true, false},
		{"a webhook that has side effects", trace.Request{Verb: "create", Object: pod, Code: 400,
			Message: `admission webhook "x" does not support dry run`}, "pods", "", false, false, true, false},
		{"a conflict", trace.Request{Verb: "update", Object: status, Code: 409, Message: "try again"}, "", "", false, false, false, true},
		{"deleted meanwhile", trace.Request{Verb: "update", Object: status, Code: 404, Message: "gone"}, "", "", false, false, false, true},
		{"too many requests", trace.Request{Verb: "create", Object: pod, Code: 429}, "", "", false, false, false, true},
		{"no answer", trace.Request{Verb: "create", Object: pod, Message: "timeout"}, "", "", false, false, false, true},
		{"not sent", trace.Request{Verb: "create", Object: pod, Code: 201, NotSent: true}, "", "", false, false, false, false},
		{"an Event", trace.Request{Verb: "create", Code: 201, Recorded: &trace.RecordedEvent{}}, "", "", false, false, false, false},
	} {
		var a Attempt
		for range 2 { // the second is like the first
			a.add(&row.request)
		}
		if a.Unanswered != row.unanswered {
			t.Errorf("%s: unanswered %t, want %t", row.reason, a.Unanswered, row.unanswered)
		}
		switch {
		case row.resource == "" && len(a.Writes) > 0:
			t.Errorf("%s: %+v", row.reason, a.Writes)
		case row.resource == "":
		case len(a.Writes) != 1:
			t.Errorf("%s: %+v", row.reason, a.Writes)
		default:
			w := a.Writes[0]
			if w.Resource != row.resource || w.Name != row.name || w.Accepted() != row.accepted || w.Refused() != row.refused ||
				(w.NotPermitted || w.NotSupported) != row.skipped {
				t.Errorf("%s: %+v", row.reason, w)
			}
		}
	}
}

// TestUnanswered: a reconcile that failed because a write was not decided has not shown what its controller writes; one
// that went on has.
func TestUnanswered(t *testing.T) {
	pod := trace.Object{Resource: "pods", Namespace: "shop"}
	lost := &trace.Request{Verb: "create", Object: pod, Message: "connection refused"}
	accepted := &trace.Request{Verb: "create", Object: pod, GenerateName: "web-", Code: 201, DryRun: true}
	for _, row := range []struct {
		reason   string
		requests []*trace.Request
		end      trace.End
		want     bool
		writes   int
		failed   string
	}{
		{"it fails", []*trace.Request{lost}, trace.End{Outcome: trace.Failed, Refused: 1, Error: "x"}, true, 0, ""},
		{"it keeps the error to itself", []*trace.Request{lost}, trace.End{Outcome: trace.Done, Refused: 1}, true, 0, ""},
		{"it tries again", []*trace.Request{lost, accepted}, trace.End{Outcome: trace.Done, Refused: 1}, false, 1, ""},
		{"it fails after another write", []*trace.Request{accepted, lost}, trace.End{Outcome: trace.Failed, Refused: 1, Error: "x"}, true, 1, ""},
		{"it gives up", []*trace.Request{accepted, lost}, trace.End{Outcome: trace.GaveUp, Refused: 1, Error: "x"}, true, 1, ""},
		{"it fails without a write", nil, trace.End{Outcome: trace.Failed, Error: "x"}, false, 0, "x"},
		{"it has nothing to write", nil, trace.End{Outcome: trace.Done}, false, 0, ""},
	} {
		r := newRecord([]Attempt{{Controller: "deployment", Key: "shop/web"}})
		send := func(d trace.Detail) {
			r.Record(&trace.Event{Controller: "deployment", Key: "shop/web", Reconcile: 1, Detail: d})
		}
		send(&trace.Start{})
		for _, request := range row.requests {
			send(request)
		}
		send(&row.end)
		a := r.attempts()[0]
		if a.Unanswered != row.want || len(a.Writes) != row.writes || a.Error != row.failed || !a.Done {
			t.Errorf("%s: %+v", row.reason, a)
		}
	}
}
