package plan

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func object(name, value string, generation int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "ConfigMap", "metadata": map[string]any{"name": name, "generation": generation},
		"data": map[string]any{"v": value},
	}}
}

// TestLoops plays writes of single fields, one a step, and looks for the loop that they are.
func TestLoops(t *testing.T) {
	for _, tt := range []struct {
		reason string
		values []string // that the object has after each step; empty deletes it
		round  int      // steps of the loop; 0 if there is none
	}{
		{"two that set a field to and fro", []string{"a", "b", "a", "b", "a", "b", "a", "b"}, 2},
		{"three of them", []string{"a", "b", "c", "a", "b", "c", "a", "b", "c", "a", "b", "c"}, 3},
		{"what is created and deleted again and again", []string{"a", "", "a", "", "a", "", "a", ""}, 2},
		{"on the way to another state it may come back once or twice", []string{"a", "b", "a", "b", "a", "c"}, 0},
		{"steps that only count something are no states", []string{"a", "a", "a", "a", "a", "a", "a", "a"}, 0},
	} {
		var s states
		var steps []Step
		var loop *Loop
		var last *unstructured.Unstructured
		for i, v := range tt.values {
			var next *unstructured.Unstructured
			if v != "" {
				next = object("m", v, int64(i)+1)
			}
			s.add(last, next)
			last = next
			steps = append(steps, Step{Number: i + 1})
			if loop = s.after(steps); loop != nil {
				break
			}
		}
		round := 0
		if loop != nil {
			round = len(loop.Steps)
		}
		if round != tt.round {
			t.Errorf("%s: a loop of %d steps, want %d", tt.reason, round, tt.round)
		}
	}
}

func TestWithoutNumbers(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"web-<12>", "web-<>"}, {"<3>-x-<4>", "<>-x-<>"}, {"a <b> c", "a <b> c"}, {"a < b", "a < b"}, {"<<1>", "<<>"}, {"", ""},
	} {
		if got := withoutNumbers(tt.text); got != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.text, got, tt.want)
		}
	}
}

// TestRepeating: what grows without an end repeats its steps, though no state comes back.
func TestRepeating(t *testing.T) {
	var steps []Step
	for i := range 10 {
		pod := []Write{{Verb: Create, Object: ObjectID{Name: fmt.Sprintf("hot-<%d>", i)}}}
		gone := []Write{{Verb: Delete, Object: pod[0].Object}}
		steps = append(steps, Step{Controller: "replicaset", Key: "a/hot", Writes: pod},
			Step{Controller: "taint-eviction", Key: fmt.Sprintf("a/hot-<%d>", i), Writes: gone})
	}
	if loop := repeating(steps); loop == nil || len(loop.Steps) != 2 || loop.Rounds != 10 {
		t.Errorf("ten rounds of two steps: %+v", loop)
	}
	steps[len(steps)-3].Controller = "job"
	if loop := repeating(steps); loop != nil {
		t.Errorf("the last rounds are not the same: %+v", loop)
	}
}
