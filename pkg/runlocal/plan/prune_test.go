package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
