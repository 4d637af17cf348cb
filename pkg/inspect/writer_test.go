package inspect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
