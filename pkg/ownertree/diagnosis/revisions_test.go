package diagnosis

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// TestUndo: a rollout is undone only if it has led to the trouble, and to a revision of which pods have run.
func TestUndo(t *testing.T) {
	kind := func(group, name string) *cluster.Kind {
		k := &cluster.Kind{}
		k.Group, k.Kind = group, name
		return k
	}
	for _, row := range []struct {
		reason    string
		kind      string
		status    map[string]any
		revisions map[string]int64 // ready pods, by the number of the revision
		pod       string           // the revision that the pod is of
		to        int64            // 0 if it is not undone
		before    bool
	}{
		{"the last change is broken", "Deployment", nil, map[string]int64{"1": 2, "2": 0}, "2", 1, true},
		{"two changes are broken", "Deployment", nil, map[string]int64{"1": 2, "2": 0, "3": 0}, "3", 1, false},
		{"it stops all pods first", "Deployment", nil, map[string]int64{"1": 0, "2": 0}, "2", 1, true},
		{"the pod is of the revision before", "Deployment", nil, map[string]int64{"1": 1, "2": 1}, "1", 0, false},
		{"the rollout was completed", "Deployment", map[string]any{"conditions": []any{
			map[string]any{"type": "Progressing", "reason": "NewReplicaSetAvailable"},
		}}, map[string]int64{"1": 0, "2": 1}, "2", 0, false},
		{"a StatefulSet", "StatefulSet", map[string]any{"currentRevision": "r1"}, map[string]int64{"1": 0, "2": 0}, "2", 1, true},
		{"a StatefulSet whose template is back", "StatefulSet", map[string]any{"currentRevision": "r2"},
			map[string]int64{"1": 0, "2": 0}, "1", 0, false},
		{"a StatefulSet that has been updated", "StatefulSet", map[string]any{"currentRevision": "r2"},
			map[string]int64{"1": 0, "2": 0}, "2", 0, false},
	} {
		yes := true
		controlled := metav1.OwnerReference{Controller: &yes}
		workload := &ownertree.Node{Kind: kind("apps", row.kind), Name: "x"}
		pod := &ownertree.Node{Kind: kind("", "Pod"), Name: "x-0"}
		o := &rollout{workload: &unstructured.Unstructured{Object: map[string]any{"status": row.status}}}
		for _, number := range []string{"3", "2", "1"} {
			ready, there := row.revisions[number]
			if !there {
				continue
			}
			name := "ControllerRevision"
			if row.kind == "Deployment" {
				name = "ReplicaSet"
			}
			node := &ownertree.Node{Kind: kind("apps", name), Name: "r" + number}
			node.Owners = []ownertree.Owner{{Node: workload, OwnerReference: controlled}}
			o.revisions = append(o.revisions, templateRevision{node: node, number: int64(number[0] - '0'), ready: ready})
			switch {
			case number != row.pod:
			case row.kind == "Deployment":
				pod.Owners = []ownertree.Owner{{Node: node, OwnerReference: controlled}}
			default:
				pod.Labels = map[string]string{"controller-revision-hash": node.Name}
				pod.Owners = []ownertree.Owner{{Node: workload, OwnerReference: controlled}}
			}
		}
		d := &diagnoser{Situation: &Situation{rollouts: map[*ownertree.Node]*rollout{workload: o}}}
		got := d.undo(pod)
		var want *Undo
		if row.to != 0 {
			want = &Undo{Workload: workload, To: row.to, Before: row.before}
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *ownertree.Node) bool { return a == b })); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", row.reason, diff)
		}
	}
}
