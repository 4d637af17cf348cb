package serve

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
)

func TestStatusText(t *testing.T) {
	at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		status       playback.Status
		want, reason string
	}{
		{playback.Status{Number: 3, Records: 9, Time: at, Speed: 1},
			"as of 2026-01-01 10:00:00Z (record #3 of 9), paused", "time stands still"},
		{playback.Status{Number: 3, Records: 9, Speed: 1, Playing: true},
			"as of record #3 of 9, playing", "a recording without times"},
		{playback.Status{Number: 3, Records: 9, Time: at, Speed: 0.5, Playing: true},
			"as of 2026-01-01 10:00:00Z (record #3 of 9), playing ×0.5", "another speed"},
		{playback.Status{Number: 9, Records: 9, Time: at, Ended: true},
			"as of 2026-01-01 10:00:00Z (record #9 of 9), at the end", "the end"},
		{playback.Status{Number: 9, Records: 9, Time: at, Ended: true, Problem: "cut off"},
			"as of 2026-01-01 10:00:00Z (record #9 of 9), cut off", "the end of what can be read"},
		{playback.Status{Number: 3, Records: 9, Time: at, Written: true, Failed: 2},
			"as of 2026-01-01 10:00:00Z (record #3 of 9), a client has written: nothing is played any more; " +
				"2 records could not be served", "a copy, and what could not be decoded"},
	} {
		if got := statusText(test.status); got != test.want {
			t.Errorf("%s\nwant %s: %s", got, test.want, test.reason)
		}
	}
}

func TestNotServed(t *testing.T) {
	bad := errors.New("it is\nbad")
	kind := func(group, resource, name string, err error) playback.NotServed {
		return playback.NotServed{Kind: schema.GroupVersionKind{Group: group}, Resource: resource, Name: name, Err: err}
	}
	got := notServed([]playback.NotServed{
		kind("events.k8s.io", "events", "", playback.ErrSameObjects),
		kind("", "pods", "a", bad), kind("", "pods", "b", bad), kind("", "secrets", "c", bad),
	})
	want := []string{
		"not served: events.events.k8s.io: its objects were recorded as another kind too, as which they are served",
		"not served: 2 pods: it is bad",
		"not served: secrets/c: it is bad",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
