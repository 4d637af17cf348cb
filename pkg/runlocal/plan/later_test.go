package plan

import "testing"

// TestFailuresOfOthers: what another key does, or another controller, is no failure or success of the key reconciled.
func TestFailuresOfOthers(t *testing.T) {
	released := queueKey{"replicaset", "replicaset", "default/web"}
	for _, tt := range []struct {
		reason string
		step   Step
		before int // failures in a row
		want   int
	}{
		{"its own failure", Step{Controller: "replicaset", Key: "default/web", Error: "no"}, 1, 2},
		{"its own success", Step{Controller: "replicaset", Key: "default/web"}, 1, 0},
		{"another key of the controller fails", Step{Controller: "replicaset", Key: "default/api", Error: "no"}, 1, 1},
		{"another key of the controller succeeds", Step{Controller: "replicaset", Key: "default/api"}, 1, 1},
		{"another controller fails at the same key", Step{Controller: "job", Key: "default/web", Error: "no"}, 1, 1},
		{"a timer loop fails", Step{Controller: "replicaset", Error: "no"}, 1, 1},
	} {
		p := New()
		p.failures[released] = failure{text: "no", tries: tt.before}
		p.append(&tt.step, released)
		if got := p.failures[released].tries; got != tt.want {
			t.Errorf("%s: %d failures, want %d", tt.reason, got, tt.want)
		}
	}
	p := New()
	p.append(&Step{Controller: "job", Key: "default/task", Error: "no"}, queueKey{})
	if len(p.failures) > 0 {
		t.Errorf("failures while the change is made are those of %v", p.failures)
	}
}
