package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

func TestIsPruned(t *testing.T) {
	applied := map[string]string{corev1.LastAppliedConfigAnnotation: ""}
	object := func(annotations map[string]string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "1", Annotations: annotations,
		}}
	}
	resource := deploymentType.GroupResource()
	for _, row := range []struct {
		reason  string
		kind    cluster.Kind
		object  *metav1.PartialObjectMetadata
		visited []visitedObject
		want    bool
	}{
		{"an apply has made it, and this one does not", deploymentType, object(applied), nil, true},
		{"no apply has made it", deploymentType, object(nil), nil, false},
		{"it is among the files", deploymentType, object(applied),
			[]visitedObject{{resource, "shop", "web", ""}}, false},
		{"it is among the files, in another version or group", configMapType, object(applied),
			[]visitedObject{{resource, "shop", "web", "1"}}, false},
		{"one of its name and another kind is", configMapType, object(applied),
			[]visitedObject{{resource, "shop", "web", "2"}}, true},
		{"one of its name in another namespace is", deploymentType, object(applied),
			[]visitedObject{{resource, "other", "web", "2"}}, true},
		{"that no uid is known does not make two the same", configMapType,
			&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: applied}},
			[]visitedObject{{resource, "shop", "web", ""}}, true},
	} {
		if got := isPruned(row.kind, row.object, row.visited); got != row.want {
			t.Errorf("%s: %t, want %t", row.reason, got, row.want)
		}
	}
}

func TestParseAllowlist(t *testing.T) {
	for _, row := range []struct {
		reason string
		values []string
		want   []schema.GroupVersionKind
		err    string
	}{
		{"nil is kubectl's own list", nil, nil, ""},
		{"the order is kept: it is that of the deletions", []string{"apps/v1/Deployment", "core/v1/ConfigMap"},
			[]schema.GroupVersionKind{deploymentType.GroupVersionKind, configMapType.GroupVersionKind}, ""},
		{"the group without a name may be left out", []string{"/v1/ConfigMap"},
			[]schema.GroupVersionKind{configMapType.GroupVersionKind}, ""},
		{"no group", []string{"v1/ConfigMap"}, nil, `--prune-allowlist "v1/ConfigMap" is not GROUP/VERSION/KIND`},
		{"a subresource", []string{"apps/v1/Deployment/status"}, nil,
			`--prune-allowlist "apps/v1/Deployment/status" is not GROUP/VERSION/KIND`},
		{"one of several", []string{"core/v1/ConfigMap", ""}, nil, `--prune-allowlist "" is not GROUP/VERSION/KIND`},
	} {
		got, err := parseAllowlist(row.values)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if diff := cmp.Diff(row.want, got); diff != "" || text != row.err {
			t.Errorf("%s: error %q, want %q (-want +got):\n%s", row.reason, text, row.err, diff)
		}
	}
}
