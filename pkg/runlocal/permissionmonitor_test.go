package runlocal

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/access"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// answer returns a request on pods in the namespace shop, with this answer.
func answer(verb string, code int, message string) *trace.Request {
	return &trace.Request{Verb: verb, Code: code, Message: message, Object: trace.Object{Resource: "pods",
		Namespace: "shop"}}
}

// denied returns one that the server's authorizer refused.
func denied(verb string) *trace.Request {
	return answer(verb, http.StatusForbidden,
		`pods is forbidden: User "ed" cannot `+verb+` resource "pods" in API group "" in the namespace "shop"`)
}

func TestPermissionMonitor(t *testing.T) {
	const quota = `pods "web-1" is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3`
	event := denied("create")
	event.Resource = "events"
	scale := denied("update")
	scale.Subresource = "scale"
	done := func(verb string) *trace.Request { return answer(verb, http.StatusCreated, "") }
	elsewhere := done("create")
	elsewhere.Namespace = "blog"
	for _, row := range []struct {
		reason     string
		namespaced bool
		missing    []access.Need
		// batches come a second apart.
		batches [][]*trace.Request
		want    []string
	}{
		{"no change", false, nil, [][]*trace.Request{{done("create"), done("update")}}, nil},
		{
			"what is lost at one time is reported together, and each once", false, nil,
			[][]*trace.Request{{denied("create"), scale, denied("create")}, {denied("create"), scale}},
			[]string{"lost create pods, update pods/scale"},
		},
		{
			"what is regained is reported, and may be lost again", false, nil,
			[][]*trace.Request{{denied("create")}, {done("create")}, {denied("create")}},
			[]string{"lost create pods", "regained create pods", "lost create pods"},
		},
		{"what is regained at once is not reported", false, nil, [][]*trace.Request{{denied("create"), done("create")},
			{done("create")}}, nil},
		{"another permission does not regain it", false, nil, [][]*trace.Request{{denied("create")}, {done("update")}},
			[]string{"lost create pods"}},
		{
			"nor does the permission in another namespace, where it was never lost", false, nil,
			[][]*trace.Request{{denied("create"), elsewhere}, {denied("create"), elsewhere}, {done("create")}},
			[]string{"lost create pods", "regained create pods"},
		},
		{"no answer is no permission", false, nil, [][]*trace.Request{{denied("create")}, {answer("create", 0, "EOF")}},
			[]string{"lost create pods"}},
		{"a quota takes no permission away", false, nil,
			[][]*trace.Request{{answer("create", http.StatusForbidden, quota)}}, nil},
		{"Events are ignored", false, nil, [][]*trace.Request{{event}}, nil},
		{
			"what was missing at the start was reported then", false,
			[]access.Need{need(access.Permission{Resource: "pods", Verb: "create"}, false),
				need(access.Permission{Group: "*", Resource: "*/scale", Verb: "update"}, false)},
			[][]*trace.Request{{denied("create"), scale, denied("delete")}}, []string{"lost delete pods"},
		},
		{
			"what was missing in another namespace was not", true,
			[]access.Need{need(access.Permission{Namespace: "blog", Resource: "pods", Verb: "create"}, false)},
			[][]*trace.Request{{denied("create")}}, []string{"lost create pods in shop"},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var reported []string
			r := NewPermissionMonitor(row.namespaced, func(lost, regained []access.Need) {
				mu.Lock()
				defer mu.Unlock()
				if lost != nil {
					reported = append(reported, "lost "+permissionsText(lost))
				}
				if regained != nil {
					reported = append(reported, "regained "+permissionsText(regained))
				}
			})
			r.SetMissing(row.missing)
			for _, batch := range row.batches {
				for _, request := range batch {
					r.Record(&trace.Event{Detail: request})
				}
				<-time.After(time.Second) // of the bubble
				synctest.Wait()           // for the report of the batch, which is due now
			}
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(row.want, reported); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.reason, diff)
			}
		})
	}
}

// TestPermissionMonitorClose: what has just been lost is reported before the summary, and nothing after it.
func TestPermissionMonitorClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []string
		r := NewPermissionMonitor(false, func(lost, _ []access.Need) {
			reported = append(reported, permissionsText(lost))
		})
		r.Record(&trace.Event{Detail: denied("create")})
		r.Close()
		r.Record(&trace.Event{Detail: denied("update")})
		<-time.After(time.Minute) // of the bubble
		if diff := cmp.Diff([]string{"create pods"}, reported); diff != "" {
			t.Errorf("reported (-want +got):\n%s", diff)
		}
	})
	(*PermissionMonitor)(nil).Close() // of a run that did not get so far
}

func need(right access.Permission, optional bool, controllers ...string) access.Need {
	return access.Need{Permission: right, Optional: optional, Controllers: controllers}
}

func permissionsText(needs []access.Need) string {
	var texts []string
	for _, n := range needs {
		texts = append(texts, n.String())
	}
	return strings.Join(texts, ", ")
}
