package scenarios

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestUnsettled(t *testing.T) {
	const namespace = "n"
	pods := schema.GroupResource{Resource: "pods"}
	object := func(generation, observed string) any {
		return parsed(t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "uid": "u", "generation": `+generation+`},
			"status": {"observedGeneration": `+observed+`}}`)
	}
	ticks := func(o *observer, n int) { o.ticks += n }
	tests := []struct {
		name, reason string
		happens      func(o *observer)
		want         string // empty for settled
	}{{
		name: "quiet", reason: "nothing has changed for as long as asked for",
		happens: func(o *observer) { o.saw(pods, object("1", "1")); ticks(o, 5) },
	}, {
		name: "not long enough", reason: "what comes next may be on its way",
		happens: func(o *observer) { ticks(o, 9); o.saw(pods, object("1", "1")); ticks(o, 4) },
		want:    "no change for 4 of 5 ticks",
	}, {
		name: "deleted", reason: "a deletion is a change",
		happens: func(o *observer) { ticks(o, 9); o.lost(pods, object("1", "1")) },
		want:    "no change for 0 of 5 ticks",
	}, {
		name: "elsewhere", reason: "other namespaces do not count",
		happens: func(o *observer) {
			ticks(o, 9)
			other := parsed(t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "other", "uid": "v"}}`)
			o.saw(pods, other)
		},
	}, {
		name: "behind", reason: "the controller that writes the status has not seen the change",
		happens: func(o *observer) { o.saw(pods, object("1", "1")); o.saw(pods, object("2", "1")); ticks(o, 5) },
		want:    "pods/p: its status is of an older generation",
	}, {
		name: "never current", reason: "a status that no controller keeps up to date says nothing",
		happens: func(o *observer) { o.saw(pods, object("2", "1")); ticks(o, 5) },
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := &observer{spaces: map[string]*space{}}
			tt.happens(o)
			if got := o.unsettled(namespace, nil, 0, 5); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}

func TestUnsettledCountsFromTheStep(t *testing.T) {
	o := &observer{spaces: map[string]*space{}, ticks: 20}
	if got := o.unsettled("n", nil, 18, 5); !strings.Contains(got, "for 2 of 5") {
		t.Errorf("got %q: what was quiet before an input says nothing of its effects", got)
	}
}

func TestSpacesRememberSteps(t *testing.T) {
	o := &observer{spaces: map[string]*space{}}
	pods := schema.GroupResource{Resource: "pods"}
	for i, name := range []string{"b", "a"} {
		o.begin("n", i+1)
		o.saw(pods, parsed(t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "`+name+`", "namespace": "n", "uid": "`+name+`"}}`))
	}
	o.saw(pods, parsed(t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b", "namespace": "n", "uid": "b"}, "spec": {}}`))
	picked := o.pick("n", Selection{Object: "pods"})
	if len(picked) != 2 || picked[0].GetName() != "b" {
		t.Errorf("got %v: an object is as old as the step in which it was first seen", picked)
	}
}
