package diagnosis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// attachedElsewhere is a volume of a pod that is attached to another node than the pod's, and to no second one.
type attachedElsewhere struct {
	claim, volume string
	attachment    string // name of the VolumeAttachment
	node          string // to which it is attached
}

// attachments finds the VolumeAttachments of the volumes of pods that wait for them: by the claims of these, as neither
// the pod nor the claim names one.
func (r *situationReader) attachments(ctx context.Context) error {
	waiting := map[string][]*ownertree.Node{} // pods, by the name of the volume
	claims := map[string]string{}             // by the name of the volume
	for _, n := range r.explained {
		if !isPod(n) || n.Deleting != nil {
			continue
		}
		var pod corev1.Pod
		if !r.typed(n, &pod) || pod.Spec.NodeName == "" || pod.Status.Phase != corev1.PodPending {
			continue
		}
		for _, use := range r.relations[n] {
			if use.To.Kind.Kind != "PersistentVolumeClaim" || use.Missing {
				continue
			}
			for _, bound := range r.relations[use.To] {
				if bound.To.Kind.Kind == "PersistentVolume" && !bound.Missing {
					waiting[bound.To.Name] = append(waiting[bound.To.Name], n)
					claims[bound.To.Name] = use.To.Name
				}
			}
		}
	}
	kind := r.kind("storage.k8s.io", "VolumeAttachment")
	if kind == nil || len(waiting) == 0 {
		return nil
	}
	found, err := r.attachmentsOf(ctx, *kind, waiting)
	if err != nil {
		r.unread = append(r.unread, cluster.Target{Kind: *kind}.Incomplete(err))
		return nil
	}
	r.note(ctx, *kind, found, waiting, claims)
	return nil
}

// attachmentsOf lists the VolumeAttachments of volumes.
func (r *situationReader) attachmentsOf(
	ctx context.Context, kind cluster.Kind, volumes map[string][]*ownertree.Node,
) ([]*storagev1.VolumeAttachment, error) {
	var found []*storagev1.VolumeAttachment
	err := r.reader.ListTyped(ctx, cluster.Target{Kind: kind}, cluster.ListOptions{},
		func() cluster.Typed { return &storagev1.VolumeAttachment{} }, func(object cluster.Typed) error {
			a, ok := object.(*storagev1.VolumeAttachment)
			if ok && a.Spec.Source.PersistentVolumeName != nil && volumes[*a.Spec.Source.PersistentVolumeName] != nil {
				found = append(found, a)
			}
			return nil
		})
	slices.SortFunc(found, func(a, b *storagev1.VolumeAttachment) int { return strings.Compare(a.Name, b.Name) })
	return found, err
}

// note relates pods to the attachments that they wait for: on their own node, or else on the one that has the volume.
func (r *situationReader) note(
	ctx context.Context, kind cluster.Kind, found []*storagev1.VolumeAttachment,
	waiting map[string][]*ownertree.Node, claims map[string]string,
) {
	var nodes []*ownertree.Node
	for _, volume := range slices.Sorted(maps.Keys(waiting)) {
		for _, n := range waiting[volume] {
			var pod corev1.Pod
			r.typed(n, &pod)
			var elsewhere *storagev1.VolumeAttachment
			here := false
			for _, a := range found {
				switch {
				case *a.Spec.Source.PersistentVolumeName != volume:
				case a.Spec.NodeName == pod.Spec.NodeName:
					here = true
					node := r.graph.Add(kind, &metav1.PartialObjectMetadata{ObjectMeta: a.ObjectMeta})
					nodes = append(nodes, node)
					r.relations[n] = append(r.relations[n], ownertree.Relation{From: n, To: node, Type: "waits for"})
				case a.Status.Attached:
					elsewhere = a
				}
			}
			if elsewhere != nil && !here {
				r.elsewhere[n] = append(r.elsewhere[n], attachedElsewhere{
					claims[volume], volume, elsewhere.Name, elsewhere.Spec.NodeName,
				})
			}
		}
	}
	slices.SortFunc(nodes, (*ownertree.Node).Compare)
	nodes = slices.Compact(nodes)
	r.readFacts(ctx, nodes)
	r.branches = append(r.branches, r.graph.Tree(nodes, ownertree.TreeOptions{})...)
	r.explained = append(r.explained, nodes...)
	r.read(ctx, nodes)
}

// volumesElsewhere adds to the causes of a pod the volumes that are attached to other nodes: to the one that reports
// it, if there is one.
func (d *diagnoser) volumesElsewhere(n *ownertree.Node, own []inspect.Cause) []inspect.Cause {
	for _, e := range d.elsewhere[n] {
		evidence := inspect.Evidence{
			Source: inspect.FromObject, Name: "VolumeAttachment/" + e.attachment,
			Text: fmt.Sprintf("PersistentVolume/%s is attached to node %s, where another pod may use it",
				e.volume, e.node),
		}
		refers := &inspect.Reference{Group: "storage.k8s.io", Kind: "VolumeAttachment", Name: e.attachment}
		i := slices.IndexFunc(own, func(c inspect.Cause) bool {
			return c.Type == inspect.VolumeNotAttached && c.Refers == nil
		})
		if i >= 0 {
			own[i].Refers, own[i].Evidence = refers, append(own[i].Evidence, evidence)
			continue
		}
		own = append(own, inspect.Cause{
			Type: inspect.VolumeNotAttached, Certainty: inspect.Likely, Weight: inspect.Specific,
			Detail: fmt.Sprintf("the volume of claim %s is attached to node %s", e.claim, e.node),
			Refers: refers, Evidence: []inspect.Evidence{evidence},
		})
	}
	return own
}
