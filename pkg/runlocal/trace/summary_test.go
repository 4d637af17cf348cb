package trace

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSummary(t *testing.T) {
	s := NewSummary()
	record := func(controller string, id ReconcileID, details ...Detail) {
		for _, d := range details {
			s.Record(&Event{Controller: controller, Reconcile: id, Detail: d})
		}
	}
	record("replicaset", 1,
		&Start{QueueWait: 40},
		&Request{Verb: "get", Code: 200},
		&Request{Verb: "create", Code: 201},
		&Request{Verb: "create", Code: 201, Recorded: &RecordedEvent{}},
		&Request{Verb: "update", Code: 403},
		&End{Outcome: Failed, Duration: 20})
	record("replicaset", 5, // a conflict that the next reconcile does not have
		&Start{},
		&Request{Verb: "update", Code: 409, Reason: "Conflict", Message: "modified"},
		&End{Outcome: Failed, Error: "updating: modified", Duration: 20, Next: &Next{Retry: 1}})
	record("replicaset", 6, // one that goes on
		&Start{},
		&Request{Verb: "update", Code: 409, Reason: "Conflict", Message: "modified"},
		&End{Outcome: Failed, Error: "updating: modified", Duration: 20, Next: &Next{Retry: PersistentConflict}})
	record("replicaset", 7, // one that the controller has got over by itself
		&Start{},
		&Request{Verb: "update", Code: 409, Reason: "Conflict", Message: "modified"},
		&Request{Verb: "update", Code: 200},
		&End{Outcome: Done, Duration: 20})
	record("replicaset", 2,
		&Start{Causes: []Cause{{Type: CauseWatch}, {Type: CauseRetry}}, QueueWait: 60},
		&End{Outcome: GaveUp, Duration: 30}, &Dropped{Retries: 1})
	record("replicaset", 4,
		&Start{}, &End{Outcome: Failed, Error: "read version: 1 is not as new as written version: 2 for group resource pods", PutOff: "pods"})
	record("replicaset", 0, &Request{Verb: "patch"})
	record("deployment", 3, &Start{}, &End{Outcome: Done, Duration: 10})
	record("", 0, &Watch{})

	want := []ControllerSummary{
		{Controller: "deployment", Reconciles: 1, P50: 10, P99: 10, Longest: 10},
		{
			Controller: "replicaset", Reconciles: 6, Failed: 3, Conflicts: 3, PutOff: 1, Retries: 1, GaveUp: 1, Writes: 2, RefusedWrites: 2, Unattributed: 1, Events: 1,
			P50: 20, P99: 30, Longest: 30, WaitedP50: 0, WaitedP99: 60,
		},
	}
	if diff := cmp.Diff(want, s.Controllers()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// TestHistogramIsClose compares quantiles with exact ones over ten decades.
func TestHistogramIsClose(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var h histogram
	var exact []time.Duration
	for range 10_000 {
		d := time.Duration(1) << random.IntN(34) * time.Duration(1+random.IntN(1000)) / 1000
		exact = append(exact, d)
		h.add(d)
	}
	slices.Sort(exact)
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999} {
		want := exact[int(q*float64(len(exact)))]
		got := h.quantile(q)
		if off := (got - want).Abs(); off > want/bucketsPerDoubling+1 {
			t.Errorf("quantile %v is %v, exactly %v", q, got, want)
		}
	}
	if h.quantile(1) != exact[len(exact)-1] {
		t.Errorf("the longest is %v, want %v", h.quantile(1), exact[len(exact)-1])
	}
}

func TestHistogramEdges(t *testing.T) {
	tests := []struct {
		reason string
		add    []time.Duration
		want   time.Duration
	}{
		{"nothing was added", nil, 0},
		{"a clock that went back counts as no time", []time.Duration{-5}, 0},
		{"one value is its own quantile", []time.Duration{time.Hour}, time.Hour},
		{"the longest there is", []time.Duration{1<<63 - 1}, 1<<63 - 1},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			var h histogram
			for _, d := range tt.add {
				h.add(d)
			}
			if got := h.quantile(0.99); got < tt.want-tt.want/bucketsPerDoubling || got > tt.want {
				t.Errorf("quantile %v, want %v", got, tt.want)
			}
		})
	}
}
