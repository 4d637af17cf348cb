package diagnosis

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// Undo is how a rollout can be undone.
type Undo struct {
	// Workload is the Deployment, StatefulSet or DaemonSet.
	Workload *ownertree.Node
	// To is the number of the revision to go back to. Before reports that it is the one before the latest.
	To     int64
	Before bool
}

// rollout is what is known of the revisions of a Deployment, a StatefulSet or a DaemonSet.
type rollout struct {
	workload *unstructured.Unstructured
	// revisions are ordered, the latest first.
	revisions []templateRevision
}

// templateRevision is a ReplicaSet or a ControllerRevision.
type templateRevision struct {
	node   *ownertree.Node
	number int64
	ready  int64 // pods of a ReplicaSet
}

// mostTemplateRevisions bounds the revisions of a workload that are read. By default ten old ones are kept.
const mostTemplateRevisions = 24

// rolloutsOf reads the revisions of the workloads whose pods are to be explained, or which are themselves.
func (r *situationReader) rolloutsOf(ctx context.Context) error {
	for _, n := range r.explained {
		workload, _ := workloadOf(n)
		if workload == nil || r.rollouts[workload] != nil {
			continue
		}
		wanted := []*ownertree.Node{workload}
		for _, d := range workload.Dependents {
			isRevision := d.Kind.Kind == "ReplicaSet" || d.Kind.Kind == "ControllerRevision"
			if isRevision && len(wanted) <= mostTemplateRevisions {
				wanted = append(wanted, d)
			}
		}
		if len(wanted) < 3 { // there is one revision
			continue
		}
		objects, unread := treestatus.ReadEach(ctx, r.reader, wanted)
		r.unread = append(r.unread, unread...)
		out := &rollout{workload: objects[workload]}
		for _, n := range wanted[1:] {
			if obj := objects[n]; obj != nil {
				out.revisions = append(out.revisions, revisionIn(n, obj))
			}
		}
		if out.workload == nil {
			continue
		}
		slices.SortFunc(out.revisions, func(a, b templateRevision) int { return cmp.Compare(b.number, a.number) })
		r.rollouts[workload] = out
	}
	return nil
}

func revisionIn(n *ownertree.Node, obj *unstructured.Unstructured) templateRevision {
	out := templateRevision{node: n}
	if n.Kind.Kind == "ControllerRevision" {
		out.number, _, _ = unstructured.NestedInt64(obj.Object, "revision")
		return out
	}
	out.number, _ = strconv.ParseInt(obj.GetAnnotations()["deployment.kubernetes.io/revision"], 10, 64)
	out.ready, _, _ = unstructured.NestedInt64(obj.Object, "status", "readyReplicas")
	return out
}

// workloadOf returns the workload with revisions that an object is, or that a pod is of, and the direct owner of the
// pod; both are nil if there is none.
func workloadOf(n *ownertree.Node) (workload, owner *ownertree.Node) {
	if isPod(n) {
		if owner = controllerOf(n); owner == nil {
			return nil, nil
		}
		n = owner
		if n.Kind.GroupKind().String() == "ReplicaSet.apps" {
			n = controllerOf(n)
		}
	}
	if n != nil {
		switch n.Kind.GroupKind().String() {
		case "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps":
			return n, owner
		}
	}
	return nil, nil
}

// controllerOf returns the object that manages another, if the graph has it.
func controllerOf(n *ownertree.Node) *ownertree.Node {
	for i := range n.Owners {
		if o := &n.Owners[i]; o.Node != nil && o.Controller != nil && *o.Controller {
			return o.Node
		}
	}
	return nil
}

// isOf reports whether a pod, or the workload itself, has a revision.
func (v templateRevision) isOf(n, owner *ownertree.Node) bool {
	hash := n.Labels[appsv1.ControllerRevisionHashLabelKey]
	return v.node == owner || hash != "" && (v.node.Name == hash || strings.HasSuffix(v.node.Name, "-"+hash))
}

// text returns a text of the workload.
func (o *rollout) text(path ...string) string {
	s, _, _ := unstructured.NestedString(o.workload.Object, path...)
	return s
}

// isOutdated reports whether a pod, or a ReplicaSet, is of an older revision than the latest of its Deployment or
// DaemonSet, whose controller removes those that are not ready first: what is wrong with it is of the past. In a
// rollout that is paused, or that waits for deletions, it counts.
func (d *diagnoser) isOutdated(n *ownertree.Node) bool {
	workload, owner := workloadOf(n)
	if n.Kind.GroupKind().String() == "ReplicaSet.apps" {
		workload, owner = controllerOf(n), n
	}
	o := d.rollouts[workload]
	if o == nil || n == workload || len(o.revisions) < 2 || o.revisions[0].number == o.revisions[1].number {
		return false
	}
	switch workload.Kind.Kind {
	case "Deployment":
		paused, _, _ := unstructured.NestedBool(o.workload.Object, "spec", "paused")
		return !paused && !o.revisions[0].isOf(n, owner)
	case "DaemonSet":
		waits := o.text("spec", "updateStrategy", "type") == string(appsv1.OnDeleteDaemonSetStrategyType)
		return !waits && !o.revisions[0].isOf(n, owner)
	}
	return false
}

// undo returns how the rollout that made a pod, or is that of a workload, can be undone: the pod is of the latest
// revision, whose rollout has not been completed, and there was one before it. A rollout that was completed has shown
// that the template is good, and so is not the cause of what happens later.
func (d *diagnoser) undo(n *ownertree.Node) *Undo {
	workload, owner := workloadOf(n)
	o := d.rollouts[workload]
	if o == nil || len(o.revisions) < 2 {
		return nil
	}
	latest, before := o.revisions[0], o.revisions[1]
	if n != workload && !latest.isOf(n, owner) {
		return nil
	}
	back := before
	switch workload.Kind.Kind {
	case "StatefulSet":
		current := o.text("status", "currentRevision")
		i := slices.IndexFunc(o.revisions, func(v templateRevision) bool { return v.node.Name == current })
		if i <= 0 { // it is the latest, or not known
			return nil
		}
		back = o.revisions[i]
	case "Deployment":
		if i := slices.IndexFunc(o.revisions[1:], func(v templateRevision) bool { return v.ready > 0 }); i >= 0 {
			back = o.revisions[1+i]
		} else if isComplete(o.workload) {
			return nil
		}
	}
	return &Undo{Workload: workload, To: back.number, Before: back.number == before.number}
}

// isComplete reports whether the rollout of a Deployment has been completed.
func isComplete(deployment *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(deployment.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		fields, _ := c.(map[string]any)
		return fields["type"] == "Progressing" && fields["reason"] == "NewReplicaSetAvailable"
	})
}

// oldRevision is the cause of a pod of a StatefulSet that is not of its latest revision, not ready, and so not
// replaced: upstream calls what it takes a forced rollback. Only in the order of the pods is one waited for before it
// is updated.
func (d *diagnoser) oldRevision(n *ownertree.Node) (inspect.Cause, bool) {
	workload, _ := workloadOf(n)
	o := d.rollouts[workload]
	hash := n.Labels[appsv1.ControllerRevisionHashLabelKey]
	if o == nil || workload.Kind.Kind != "StatefulSet" || n.Deleting != nil || hash == "" {
		return inspect.Cause{}, false
	}
	latest := o.text("status", "updateRevision")
	partition, _, _ := unstructured.NestedInt64(o.workload.Object,
		"spec", "updateStrategy", "rollingUpdate", "partition")
	ordinal, err := strconv.ParseInt(n.Name[strings.LastIndexByte(n.Name, '-')+1:], 10, 64)
	observed, _, _ := unstructured.NestedInt64(o.workload.Object, "status", "observedGeneration")
	switch {
	case latest == "" || hash == latest || observed != o.workload.GetGeneration(),
		err != nil || ordinal < partition,
		o.text("spec", "podManagementPolicy") == string(appsv1.ParallelPodManagement),
		o.text("spec", "updateStrategy", "type") == string(appsv1.OnDeleteStatefulSetStrategyType):
		return inspect.Cause{}, false
	}
	return inspect.Cause{
		Type: OldRevision, Certainty: inspect.Certain, Weight: inspect.Specific,
		Detail: d.facts.Of(n).Reason,
		Evidence: []inspect.Evidence{
			{
				Source: inspect.FromField, Name: "metadata.labels[" + appsv1.ControllerRevisionHashLabelKey + "]",
				Text: hash,
			},
			{
				Source: inspect.FromObject, Name: "StatefulSet/" + workload.Name,
				Text: "its latest revision is " + latest,
			},
		},
	}, true
}
