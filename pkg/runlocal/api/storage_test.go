package api

import (
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Events are one table under two groups; a copy for each would make events of one group invisible in the other.
func TestEventsOfBothGroupsAreOneTable(t *testing.T) {
	f := start(t, Options{})
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "default"}, EventTime: metav1.NowMicro(), Type: "Normal", Reason: "r", Action: "a",
		ReportingController: "c", ReportingInstance: "i",
	}
	if _, err := f.EventsV1().Events("default").Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	core, named := schema.GroupResource{Resource: "events"}, schema.GroupResource{Group: "events.k8s.io", Resource: "events"}
	if a, b := f.LastEvent(core), f.LastEvent(named); a == 0 || a != b {
		t.Errorf("the newest event is %d in the core group, %d in events.k8s.io", a, b)
	}
	if err := f.CoreV1().Events("default").Delete(t.Context(), "e", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.EventsV1().Events("default").Get(t.Context(), "e", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("an event that was deleted in the other group: %v", err)
	}
}

func TestPrefixesAreTheirOwn(t *testing.T) {
	f := start(t, Options{})
	shared := map[string][]schema.GroupResource{}
	for gr, prefix := range f.backend.prefixes {
		shared[prefix] = append(shared[prefix], gr)
	}
	for prefix, resources := range shared {
		if len(resources) > 1 && prefix != "/events" {
			t.Errorf("%v share the prefix %q", resources, prefix)
		}
	}
	if len(shared) < 60 {
		t.Errorf("only %d resources have storage", len(shared))
	}
}
