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
	}{
		{"a read", trace.Request{Verb: "list", Object: pod, Code: 200}, "", "", false, false, false},
		{"an accepted write", trace.Request{Verb: "create", Object: pod, GenerateName: "web-1-", Code: 201, DryRun: true},
			"pods", "web-1-*", true, false, false},
		{"a subresource", trace.Request{Verb: "update", Object: status, Subresource: "status", Code: 200, DryRun: true},
			"deployments.apps/status", "web", true, false, false},
		{"refused by admission", trace.Request{Verb: "create", Object: pod, Code: 403,
			Message: `pods "web-1" is forbidden: exceeded quota: few`}, "pods", "", false, true, false},
		{"refused by a webhook that quotes a user", trace.Request{Verb: "create", Object: pod, Code: 403,
			Message: `admission webhook "x" denied the request: User "jane" has to ask first`}, "pods", "", false, true, false},
		{"an error without a message", trace.Request{Verb: "create", Object: pod, Code: 500}, "pods", "", false, true, false},
		{"not permitted to the user", trace.Request{Verb: "create", Object: pod, Code: 403,
			Message: `pods is forbidden: User "jane" cannot create resource "pods" in API group "" in the namespace "shop"`},
			"pods", "", false, false, true},
		{"a webhook that has side effects", trace.Request{Verb: "create", Object: pod, Code: 400,
			Message: `admission webhook "x" does not support dry run`}, "pods", "", false, false, true},
		{"a conflict", trace.Request{Verb: "update", Object: status, Code: 409, Message: "try again"}, "", "", false, false, false},
		{"deleted meanwhile", trace.Request{Verb: "update", Object: status, Code: 404, Message: "gone"}, "", "", false, false, false},
		{"too many requests", trace.Request{Verb: "create", Object: pod, Code: 429}, "", "", false, false, false},
		{"no answer", trace.Request{Verb: "create", Object: pod, Message: "timeout"}, "", "", false, false, false},
		{"not sent", trace.Request{Verb: "create", Object: pod, Code: 201, NotSent: true}, "", "", false, false, false},
		{"an Event", trace.Request{Verb: "create", Code: 201, Recorded: &trace.RecordedEvent{}}, "", "", false, false, false},
	} {
		var a Attempt
		for range 2 { // the second is like the first
			a.add(&row.request)
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
