package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func at(text string) *metav1.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return &metav1.Time{Time: t}
}

func TestConditions(t *testing.T) {
	obj := fromYAML(t, `
apiVersion: example.com/v1
kind: Cache
metadata: {generation: 3}
status:
  observedGeneration: 3
  conditions:
  - {type: Synced, status: "True", observedGeneration: 2, lastTransitionTime: "2026-01-02T03:04:05Z"}
  - {type: Scaling, status: "True"}
  - {type: Ready, status: Unknown, reason: Starting, message: "starting"}
  - {type: Available, status: "True", lastUpdateTime: "2026-01-02T03:04:06Z"}
  - {type: DiskFailed, status: "True", reason: Worn, lastTransitionTime: "2026-01-02T03:04:07Z"}
  - {type: Backup, status: "False", severity: Info}
`)
	want := []Condition{
		{Type: "DiskFailed", Status: "True", Reason: "Worn", Since: at("2026-01-02T03:04:07Z"), Drift: InSync, Polarity: Negative, Guessed: true, Bad: true},
		{Type: "Ready", Status: "Unknown", Reason: "Starting", Message: "starting", Drift: InSync, Polarity: Positive, Guessed: true},
		{Type: "Synced", Status: "True", Since: at("2026-01-02T03:04:05Z"), Generation: new(int64(2)), Drift: Behind, Polarity: Positive, Guessed: true},
		{Type: "Available", Status: "True", Since: at("2026-01-02T03:04:06Z"), Drift: InSync, Polarity: Positive, Guessed: true},
		{Type: "Backup", Status: "False", Severity: "Info", Drift: InSync, Polarity: Positive, Guessed: true},
		{Type: "Scaling", Status: "True", Drift: InSync, Polarity: Neutral, Guessed: true},
	}
	got := Inspect(obj, nil)
	if diff := cmp.Diff(want, got.Conditions); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if !got.Drifted() {
		t.Error("a condition is behind, and the object is not drifted")
	}
	if len(got.Problems) > 0 {
		t.Errorf("problems of an object that has none: %v", got.Problems)
	}
}

// TestProblems: what foreign controllers write, in words that they can mend it by.
func TestProblems(t *testing.T) {
	tests := []struct {
		reason, object string
		want           []string
	}{
		{"a generation that is text", `{metadata: {generation: 2}, status: {observedGeneration: "2"}}`, []string{`status.observedGeneration is the text "2", not a number`}},
		{"a generation that is a word", `{metadata: {generation: 2}, status: {observedGeneration: two}}`, []string{`status.observedGeneration is the text "two", not a count`}},
		{"a generation with a fraction", `{metadata: {generation: 2.5}}`, []string{"metadata.generation is the number 2.5, not a count"}},
		{"a generation that there is not yet", `{metadata: {generation: 2}, status: {observedGeneration: 9}}`, []string{"status.observedGeneration 9 is above metadata.generation 2"}},
		{"a status that is none", `{status: [1]}`, []string{"status is a list, not a map"}},
		{"conditions that are no list", `{status: {conditions: all fine}}`, []string{`status.conditions is the text "all fine", not a list`}},
		{
			"entries that are no conditions", `{status: {conditions: [1, null, {status: "True"}, {type: Ready}, {type: Up, status: 1}]}}`,
			[]string{
				"status.conditions[0] is the number 1, not a condition", "status.conditions[1] is null, not a condition", "status.conditions[2] has no type",
				"condition Ready: there is no status", "condition Up: status is the number 1, not a text",
			},
		},
		{"a boolean for a word", `{status: {conditions: [{type: Ready, status: true}]}}`, []string{"condition Ready: status is the boolean true, not a text"}},
		{
			"a time that is none", `{status: {conditions: [{type: Ready, status: "True", lastTransitionTime: yesterday}, {type: Up, status: "True", lastTransitionTime: {inner: x}}]}}`,
			[]string{`condition Ready: lastTransitionTime is the text "yesterday", not a time`, "condition Up: lastTransitionTime is a map, not a time"},
		},
		{
			"a generation of a condition", `{metadata: {generation: 2}, status: {conditions: [{type: Ready, status: "True", observedGeneration: "1"}]}}`,
			[]string{`condition Ready: observedGeneration is the text "1", not a number`},
		},
		{"a long text is cut", `{status: {conditions: aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee}}`, []string{`status.conditions is the text "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd…", not a list`}},
		{
			"containers of another shape", `{apiVersion: v1, kind: Pod, status: {containerStatuses: [1, {name: 2}], initContainerStatuses: {}}}`,
			[]string{
				"status.initContainerStatuses is a map, not a list", "status.containerStatuses[0] is the number 1, not a map",
				"status.containerStatuses[1].name is the number 2, not a name",
			},
		},
		{"a time that is not set is no problem", `{status: {conditions: [{type: Ready, status: "True", lastTransitionTime: null}]}}`, nil},
		{"nothing at all", `{}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			text := tt.object
			if !strings.Contains(text, "kind: ") {
				text = "{apiVersion: example.com/v1, kind: Cache, " + text[1:]
			}
			obj := fromYAML(t, text)
			if diff := cmp.Diff(tt.want, Inspect(obj, nil).Problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSince(t *testing.T) {
	tests := []struct {
		reason, object, want string
	}{
		{
			"the oldest of what is bad", `{status: {conditions: [{type: AFailed, status: "True", lastTransitionTime: "2026-01-02T00:00:02Z"},
			  {type: BFailed, status: "True", lastTransitionTime: "2026-01-02T00:00:01Z"}, {type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`,
			"2026-01-02T00:00:01Z",
		},
		{"of what sums up, if nothing is", `{status: {conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`, "2026-01-01T00:00:00Z"},
		{
			"when the deletion was requested, not when the grace period ends",
			`{metadata: {deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30}}`, "2026-01-01T00:00:00Z",
		},
		{
			"when the spec was written that was not observed",
			`{metadata: {generation: 2, managedFields: [{manager: kubectl, operation: Update, time: "2026-01-01T00:00:05Z"},
			  {manager: controller, operation: Update, subresource: status, time: "2026-01-01T00:00:09Z"}]}, status: {observedGeneration: 1}}`,
			"2026-01-01T00:00:05Z",
		},
		{
			"not before the spec was written that it has, as when a rollout begins",
			`{metadata: {generation: 2, managedFields: [{manager: kubectl-set, operation: Update, time: "2026-01-01T00:03:00Z", fieldsV1: {f:spec: {}}},
			  {manager: kubectl-label, operation: Update, time: "2026-01-01T00:05:00Z", fieldsV1: {f:metadata: {}}},
			  {manager: controller, operation: Update, subresource: status, time: "2026-01-01T00:06:00Z", fieldsV1: {f:status: {}}}]},
			  status: {observedGeneration: 2, conditions: [{type: Ready, status: "False", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`,
			"2026-01-01T00:03:00Z",
		},
		{
			"nor before it was scaled",
			`{metadata: {generation: 2, managedFields: [{manager: kubectl, operation: Update, subresource: scale, time: "2026-01-01T00:03:00Z", fieldsV1: {f:spec: {}}}]},
			  status: {observedGeneration: 2, conditions: [{type: Ready, status: "False", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`,
			"2026-01-01T00:03:00Z",
		},
		{
			"of what is as its spec requests, since it is", `{metadata: {managedFields: [{manager: a, operation: Update, time: "2026-01-01T00:03:00Z", fieldsV1: {f:spec: {}}}]},
			  status: {conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`, "2026-01-01T00:00:00Z",
		},
		{"the object does not have it", `{status: {conditions: [{type: Ready, status: "True"}]}}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got := ""
			if since := Inspect(fromYAML(t, "{apiVersion: example.com/v1, kind: Cache, "+tt.object[1:]), nil).Since; since != nil {
				got = since.UTC().Format(time.RFC3339)
			}
			if got != tt.want {
				t.Errorf("since %q, want %q", got, tt.want)
			}
		})
	}
}

// TestInspectNothing: a caller whose object is gone gets an answer.
func TestInspectNothing(t *testing.T) {
	want := Report{Status: Status{Status: Unknown, Reason: "no object"}, Drift: Drift{State: NotReported}}
	if diff := cmp.Diff(want, Inspect(nil, nil)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
