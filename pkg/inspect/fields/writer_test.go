package fields

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func at(text string) *metav1.Time {
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return &metav1.Time{Time: parsed}
}

func TestLastWriter(t *testing.T) {
	tests := []struct {
		reason, managed string
		want            Writer
		found           bool
	}{
		{
			"the latest", `[{manager: kubectl, operation: Apply, time: "2026-01-02T03:04:05Z"}, {manager: kubelet, operation: Update, subresource: status, time: "2026-01-02T03:04:06Z"}]`,
			Writer{"kubelet", "Update", "status", at("2026-01-02T03:04:06Z")}, true,
		},
		{
			"of one second, the one that wrote the status: that is an answer to the spec",
			`[{manager: a, time: "2026-01-02T03:04:05Z"}, {manager: z, subresource: status, time: "2026-01-02T03:04:05Z"}, {manager: b, subresource: scale, time: "2026-01-02T03:04:05Z"}]`,
			Writer{"z", "", "status", at("2026-01-02T03:04:05Z")}, true,
		},
		{
			"then another subresource: it changes an object that was made before",
			`[{manager: a, time: "2026-01-02T03:04:05Z"}, {manager: z, subresource: scale, time: "2026-01-02T03:04:05Z"}, {manager: x, subresource: resize, time: "2026-01-02T03:04:05Z"}]`,
			Writer{"x", "", "resize", at("2026-01-02T03:04:05Z")}, true,
		},
		{
			"then the first by name",
			`[{manager: b, time: "2026-01-02T03:04:05Z"}, {manager: a, time: "2026-01-02T03:04:05Z"}]`,
			Writer{"a", "", "", at("2026-01-02T03:04:05Z")}, true,
		},
		{
			"a spec of the next second comes after the status",
			`[{manager: a, time: "2026-01-02T03:04:06Z"}, {manager: z, subresource: status, time: "2026-01-02T03:04:05Z"}]`,
			Writer{"a", "", "", at("2026-01-02T03:04:06Z")}, true,
		},
		{"a time that is none comes last", `[{manager: a, time: soon}, {manager: b, time: "2026-01-02T03:04:05Z"}]`, Writer{"b", "", "", at("2026-01-02T03:04:05Z")}, true},
		{"entries of another shape", `[1, {manager: a}]`, Writer{Manager: "a"}, true},
		{"no list", `{}`, Writer{}, false},
		{"none", `[]`, Writer{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, found := LastWriter(fromYAML(t, `{apiVersion: v1, kind: Pod, metadata: {managedFields: `+tt.managed+`}}`))
			if diff := cmp.Diff(tt.want, got); diff != "" || found != tt.found {
				t.Errorf("found %t, writer (-want +got):\n%s", found, diff)
			}
		})
	}
}

// TestLastWriterOfTyped: objects read as metadata only are typed.
func TestLastWriterOfTyped(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "old", Operation: metav1.ManagedFieldsOperationApply, Time: at("2026-01-02T03:04:05Z")},
		{Manager: "new", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale", Time: at("2026-01-02T03:04:07Z")},
	}}}
	got, found := LastWriter(pod)
	if diff := cmp.Diff(Writer{"new", "Update", "scale", at("2026-01-02T03:04:07Z")}, got); diff != "" || !found {
		t.Errorf("found %t, writer (-want +got):\n%s", found, diff)
	}
	if _, found := LastWriter(nil); found {
		t.Error("nothing has a writer")
	}
}

// TestWritersOfParts: who wrote the spec and the status, and when, also where an entry does not say it.
func TestWritersOfParts(t *testing.T) {
	const one, two, three = "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z", "2026-01-02T03:04:07Z"
	tests := []struct {
		reason, managed string
		status          string
		spec            []string
		lastSpec        *metav1.Time
	}{
		{"no managed fields", `[]`, "", nil, nil},
		{
			"a user and a controller",
			`[{manager: a, time: "` + one + `", fieldsV1: {"f:spec": {"f:replicas": {}}}}, {manager: b, subresource: status, time: "` + two + `", fieldsV1: {"f:status": {}}}]`,
			"b", []string{"a"}, at(one),
		},
		{
			"a controller without the subresource, which has written both",
			`[{manager: a, time: "` + one + `", fieldsV1: {"f:spec": {"f:x": {}}, "f:status": {"f:y": {}}}}]`,
			"a", []string{"a"}, at(one),
		},
		{
			"what the creator is left with when others have set all fields is no field of the spec",
			`[{manager: a, time: "` + one + `", fieldsV1: {"f:spec": {".": {}}}}, {manager: b, time: "` + two + `", fieldsV1: {"f:spec": {"f:x": {}}}}]`,
			"", []string{"b"}, at(two),
		},
		{
			"labels alone are no spec",
			`[{manager: a, time: "` + one + `", fieldsV1: {"f:spec": {"f:x": {}}}}, {manager: b, time: "` + two + `", fieldsV1: {"f:metadata": {}}}]`,
			"", []string{"a"}, at(one),
		},
		{
			"an entry whose fields cannot be read may have written the spec, and owns nothing",
			`[{manager: a, time: "` + three + `", fieldsV1: [1]}, {manager: b, time: "` + two + `", fieldsV1: {"f:status": {}}}]`,
			"b", nil, at(three),
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			obj := fromYAML(t, `{apiVersion: v1, kind: X, spec: {x: 1}, metadata: {name: n, managedFields: `+tt.managed+`}}`)
			status, _ := LastStatusWriter(obj)
			var spec []string
			for _, w := range SpecWriters(obj) {
				spec = append(spec, w.Manager)
			}
			if diff := cmp.Diff(
				[]any{tt.status, tt.spec, tt.lastSpec}, []any{status.Manager, spec, LastSpecWrite(obj)},
			); diff != "" {
				t.Errorf("writer of the status, of the spec, last write of the spec (-want +got):\n%s", diff)
			}
			if _, err := Owners(obj, nil); err != nil {
				t.Error(err)
			}
		})
	}
}
