package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// eventsOf returns the events of a kind in a file, a line each, and the last state of each object at each of them.
func eventsOf(t *testing.T, file, kind string) (events []string, states map[string]string) {
	t.Helper()
	r, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var state replay.State
	states = map[string]string{}
	for {
		r, err := s.Next()
		if errors.Is(err, io.EOF) {
			return events, states
		}
		if err != nil {
			t.Fatal(err)
		}
		state.Apply(r)
		if !r.Type.HasObject() || state.Stream(r.Stream).Kind != kind || r.Namespace != "shop" {
			continue
		}
		version := r.ResourceVersion
		if r.Type == replay.TypeDeleted {
			version = "last" // the answer to a deletion may have the version of before
		}
		event := fmt.Sprintf("%s %s %s", r.Name, r.Type, version)
		events = append(events, event)
		states[event] = canonical(t, r.Object)
	}
}

// canonical returns an object in canonical form.
func canonical(t *testing.T, object []byte) string {
	t.Helper()
	var o map[string]any
	err := json.Unmarshal(object, &o)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(o)
}

// TestAuditBesideWatch compares a real audit log with what kubectl watched at the same time: the log has all changes,
// with the same objects, except those that its answers do not have.
func TestAuditBesideWatch(t *testing.T) {
	for _, tt := range []struct {
		kind, watched string
		missing       []string // suffixes of events that the log cannot have
		other         []string // events whose objects are not quite the same
		reason        string
	}{
		{"Pod", "watch-shop-pods.input", []string{
			"MODIFIED 243", "MODIFIED 245", "MODIFIED 277", "MODIFIED 292", // bindings by the scheduler
			"MODIFIED 268", "MODIFIED 314", "MODIFIED 318", "MODIFIED 332", // one request with the deletion after it
		}, nil, "all but what is answered with a Status"},
		{"Deployment", "watch-shop-deployments.input", nil, []string{
			"web MODIFIED 257", // of a Scale the answer has no managed fields
		}, "a scale is merged into what was known"},
	} {
		want, wantStates := eventsOf(t, tt.watched, tt.kind)
		got, gotStates := eventsOf(t, "audit-shop.input", tt.kind)
		want = slices.DeleteFunc(want, func(event string) bool {
			return slices.ContainsFunc(tt.missing, func(m string) bool { return strings.HasSuffix(event, m) })
		})
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s (-watched +audit log):\n%s", tt.kind, tt.reason, diff)
		}
		for _, event := range want {
			if strings.HasSuffix(event, "last") || slices.Contains(tt.other, event) {
				continue
			}
			if diff := cmp.Diff(wantStates[event], gotStates[event]); diff != "" {
				t.Errorf("%s (-watched +audit log):\n%s", event, diff)
			}
		}
	}
}
