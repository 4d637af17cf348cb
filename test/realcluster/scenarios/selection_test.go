package scenarios

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// parsed is an object of that JSON.
func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return u
}

// pod is one that came in that step.
func pod(t *testing.T, name, owner string, step int, rest string) *seen {
	t.Helper()
	return &seen{resource: schema.GroupResource{Resource: "pods"}, step: step, object: parsed(t, `{"apiVersion": "v1", "kind": "Pod",
		"metadata": {"name": "`+name+`", "labels": {"app": "web"},
			"ownerReferences": [{"kind": "ReplicaSet", "name": "`+owner+`", "controller": true}]}`+rest+`}`)}
}

func TestPick(t *testing.T) {
	objects := []*seen{
		pod(t, "z", "a", 1, ""), pod(t, "a", "b", 1, ""), pod(t, "b", "a", 2, ""),
		{resource: schema.GroupResource{Resource: "configmaps"}, object: parsed(t, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "z"}}`)},
	}
	tests := []struct {
		name, reason string
		selection    Selection
		want         string
	}{
		{"all", "the step comes before the owner, the owner before the name", Selection{Object: "pods"}, "z a b"},
		{"newest", "the other way round", Selection{Object: "pods", Order: "newest"}, "b a z"},
		{"first", "no more than asked for", Selection{Object: "pods", First: 2}, "z a"},
		{"named", "of one resource alone", Selection{Object: "pods/z"}, "z"},
		{"by label", "what has not the label is left out", Selection{Object: "pods", Selector: "app!=web"}, ""},
		{"other group", "the group tells resources apart", Selection{Object: "pods.metrics.k8s.io"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var names []string
			for _, o := range tt.selection.pick(objects) {
				names = append(names, o.GetName())
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	objects := []*seen{
		pod(t, "a", "rs", 1, `, "status": {"phase": "Running", "n": 3, "conditions": [{"type": "Ready", "status": "True"}]}`),
		pod(t, "b", "rs", 1, `, "status": {"phase": "Pending"}`),
	}
	count := func(n int) *int { return &n }
	tests := []struct {
		name, reason string
		condition    Condition
		holds        bool
	}{
		{"value", "the named object has it", Condition{Selection: Selection{Object: "pods/a"}, Path: ".status.n", Value: json.RawMessage("3")}, true},
		{"other value", "it has another", Condition{Selection: Selection{Object: "pods/a"}, Path: ".status.n", Value: json.RawMessage("4")}, false},
		{"filter", "JSONPath can choose", Condition{
			Selection: Selection{Object: "pods/a"}, Path: `{.status.conditions[?(@.type=="Ready")].status}`, Value: json.RawMessage(`"True"`),
		}, true},
		{"path there", "without a value the path is enough", Condition{Selection: Selection{Object: "pods/a"}, Path: ".status.n"}, true},
		{"path not there", "and it must lead somewhere", Condition{Selection: Selection{Object: "pods/b"}, Path: ".status.n"}, false},
		{"not all", "all that are selected must meet it", Condition{Selection: Selection{Object: "pods"}, Path: ".status.phase", Value: json.RawMessage(`"Running"`)}, false},
		{"count", "unless a number is given", Condition{Selection: Selection{Object: "pods"}, Path: ".status.phase", Value: json.RawMessage(`"Running"`), Count: count(1)}, true},
		{"other count", "which is exact", Condition{Selection: Selection{Object: "pods"}, Count: count(1)}, false},
		{"none to count", "0 is a number", Condition{Selection: Selection{Object: "services"}, Count: count(0)}, true},
		{"no object", "no object meets it", Condition{Selection: Selection{Object: "pods/c"}}, false},
		{"gone", "which can be asked for", Condition{Selection: Selection{Object: "pods/c"}, Absent: true}, true},
		{"value gone", "of a field too", Condition{Selection: Selection{Object: "pods"}, Path: ".status.n", Absent: true}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := tt.condition.compile()
			if err != nil {
				t.Fatal(err)
			}
			if unmet := c.unmet(objects); (unmet == "") != tt.holds {
				t.Errorf("%s: unmet: %q, want it to hold: %t", tt.reason, unmet, tt.holds)
			}
		})
	}
}

func TestGatePatch(t *testing.T) {
	gates := `, "spec": {"readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]}, "status": {"conditions": [{"type": "a", "status": "True"}]}`
	tests := []struct {
		name, reason, pod, status string
		want                      []string
	}{
		{"open", "what is open stays as it is", gates, "", []string{`"type":"b"`, `"status":"True"`}},
		{"close", "both are closed", gates, "False", []string{`"type":"a"`, `"type":"b"`, `"status":"False"`}},
		{"none", "a pod without gates is not held", "", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body, err := gatePatch(pod(t, "p", "rs", 1, tt.pod).object, tt.status)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == nil && body != nil {
				t.Errorf("%s: got %s", tt.reason, body)
			}
			for _, want := range tt.want {
				if !strings.Contains(string(body), want) {
					t.Errorf("%s: got %s, want %s in it", tt.reason, body, want)
				}
			}
			if tt.name == "open" && strings.Contains(string(body), `"a"`) {
				t.Errorf("%s: got %s", tt.reason, body)
			}
		})
	}
}
