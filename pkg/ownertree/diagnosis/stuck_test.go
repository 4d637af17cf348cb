package diagnosis

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// TestStuck: what waits for its controller is stuck if that writes nothing, and waits for no pod.
func TestStuck(t *testing.T) {
	object := func(minReady int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"minReadySeconds": minReady}}}
	}
	idle := &inspect.Evidence{Text: "it writes nothing"}
	for _, tt := range []struct {
		reason, kind string
		idle         *inspect.Evidence
		obj          *unstructured.Unstructured
		deleting     bool
		want         inspect.CauseType
	}{
		{"it writes nothing", "StatefulSet", idle, object(0), false, Stuck},
		{"it was not tried, or writes", "StatefulSet", nil, object(0), false, inspect.PodsNotMade},
		{"a pod is being deleted", "StatefulSet", idle, object(0), true, inspect.PodsNotMade},
		{"a pod has to be ready for longer", "DaemonSet", idle, object(9), false, inspect.PodsNotMade},
		{"a Deployment counts those that are available", "Deployment", idle, object(9), false, Stuck},
		{"it was tried, and could not be read", "StatefulSet", idle, nil, false, inspect.PodsNotMade},
	} {
		kind := &cluster.Kind{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: tt.kind}}
		n, pod := &ownertree.Node{Kind: kind, UID: "u"}, &ownertree.Node{Kind: kind}
		if tt.deleting {
			pod.Deleting = &metav1.Time{}
		}
		d := &diagnoser{Situation: &Situation{
			Trials:  map[types.UID]inspect.Trial{"u": {Idle: tt.idle}},
			objects: map[types.UID]*unstructured.Unstructured{},
		}}
		if tt.obj != nil {
			d.objects["u"] = tt.obj
		}
		own := []inspect.Cause{{Type: inspect.PodsNotMade}}
		below := &treestatus.StatusNode{Branch: &ownertree.Branch{Node: pod}}
		d.stuck(n, &treestatus.StatusNode{Children: []*treestatus.StatusNode{below}}, own)
		if own[0].Type != tt.want {
			t.Errorf("%s: %s, want %s", tt.reason, own[0].Type, tt.want)
		}
	}
}
