package run

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/access"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// answered is a request on pods in the namespace shop, and its answer.
func answered(verb string, code int, message string) *trace.Request {
	return &trace.Request{Verb: verb, Code: code, Message: message, Object: trace.Object{Resource: "pods", Namespace: "shop"}}
}

// denied is one that the server's authorization has refused.
func denied(verb string) *trace.Request {
	return answered(verb, http.StatusForbidden, `pods is forbidden: User "ed" cannot `+verb+` resource "pods" in API group "" in the namespace "shop"`)
}

func TestRights(t *testing.T) {
	const quota = `pods "web-1" is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3`
	event := denied("create")
	event.Resource = "events"
	scale := denied("update")
	scale.Subresource = "scale"
	done := func(verb string) *trace.Request { return answered(verb, http.StatusCreated, "") }
	elsewhere := done("create")
	elsewhere.Namespace = "blog"
	for _, row := range []struct {
		reason  string
		places  bool
		missing []access.Need
		// batches come a second apart.
		batches [][]*trace.Request
		want    []string
	}{
		{"all is well", false, nil, [][]*trace.Request{{done("create"), done("update")}}, nil},
		{
			"what is lost at one time is told together, and each once", false, nil,
			[][]*trace.Request{{denied("create"), scale, denied("create")}, {denied("create"), scale}}, []string{"lost create pods, update pods/scale"},
		},
		{
			"what comes back is told, and may be lost again", false, nil,
			[][]*trace.Request{{denied("create")}, {done("create")}, {denied("create")}}, []string{"lost create pods", "back create pods", "lost create pods"},
		},
		{"what is back at once was never missed", false, nil, [][]*trace.Request{{denied("create"), done("create")}, {done("create")}}, nil},
		{"another right does not bring it back", false, nil, [][]*trace.Request{{denied("create")}, {done("update")}}, []string{"lost create pods"}},
		{
			"nor does the right in another namespace, where it was never lost", false, nil,
			[][]*trace.Request{{denied("create"), elsewhere}, {denied("create"), elsewhere}, {done("create")}},
			[]string{"lost create pods", "back create pods"},
		},
		{"no answer is no permission", false, nil, [][]*trace.Request{{denied("create")}, {answered("create", 0, "EOF")}}, []string{"lost create pods"}},
		{"a quota takes no right away", false, nil, [][]*trace.Request{{answered("create", http.StatusForbidden, quota)}}, nil},
		{"nobody misses Events", false, nil, [][]*trace.Request{{event}}, nil},
		{
			"what was missing at the start was told then", false,
			[]access.Need{need(access.Permission{Resource: "pods", Verb: "create"}, false), need(access.Permission{Group: "*", Resource: "*/scale", Verb: "update"}, false)},
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
			var told []string
			r := newRights(row.places, func(lost, back []access.Need) {
				mu.Lock()
				defer mu.Unlock()
				if lost != nil {
					told = append(told, "lost "+rightsText(lost))
				}
				if back != nil {
					told = append(told, "back "+rightsText(back))
				}
			})
			r.without(row.missing)
			for _, batch := range row.batches {
				for _, request := range batch {
					r.Record(&trace.Event{Detail: request})
				}
				<-time.After(time.Second) // of the bubble
			}
			if diff := cmp.Diff(row.want, told); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.reason, diff)
			}
		})
	}
}

// TestRightsEnd: what has just been lost is told before the summary, and nothing after it.
func TestRightsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		r := newRights(false, func(lost, _ []access.Need) { told = append(told, rightsText(lost)) })
		r.Record(&trace.Event{Detail: denied("create")})
		r.end()
		r.Record(&trace.Event{Detail: denied("update")})
		<-time.After(time.Minute) // of the bubble
		if diff := cmp.Diff([]string{"create pods"}, told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
	(*rights)(nil).end() // of a run that has not come so far
}

// TestUnreadableBy: readiness names whom it harms that a resource cannot be read.
func TestUnreadableBy(t *testing.T) {
	pods, widgets := schema.GroupResource{Resource: "pods"}, schema.GroupResource{Group: "example.com", Resource: "widgets"}
	all := []runlocal.Listing{
		{Resource: pods, Controllers: []string{"replicaset", "job"}, Err: apierrors.NewForbidden(pods, "", nil)},
		{Resource: widgets, Err: apierrors.NewForbidden(widgets, "", nil)},
	}
	for name, want := range map[string]string{
		"replicaset": "it cannot read pods (Forbidden)", "ttl": "", "garbagecollector": "it cannot read widgets.example.com (Forbidden)",
	} {
		if got := unreadableBy(known(t, name)[0], all); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := unreadableBy(known(t, "replicaset")[0], slices.Delete(all, 0, 1)); strings.Contains(got, "cannot") {
		t.Errorf("nothing is lost that it reads: %q", got)
	}
}
