package ownertree

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// ClaimOutcome is what becomes of a PersistentVolumeClaim, and of its volume, in a Preview: of each that would be
// deleted, and of each that a StatefulSet which would be deleted has made.
type ClaimOutcome struct {
	Claim *Node
	// Deleted reports whether the claim is among Preview.Deleted.
	Deleted bool
	// Set is the StatefulSet; nil if none that would be deleted has made the claim.
	Set *Node
	// WhenDeleted is the retention policy of Set for its own deletion; empty without Set. Delete takes
	// effect by an owner reference that the StatefulSet controller gives the claim (updateClaimOwnerRefForSetAndPod of
	// k8s.io/kubernetes/pkg/controller/statefulset), and so not before it has.
	WhenDeleted appsv1.PersistentVolumeClaimRetentionPolicyType
	// Volume is bound to the claim; nil if none is, if it could not be read, or if the claim stays. Its UID may be
	// empty.
	Volume *Node
	// Reclaim is what becomes of the volume (reclaimVolume of k8s.io/kubernetes/pkg/controller/volume/persistentvolume,
	// or the provisioner of a driver): Delete takes what is stored with it. Empty without Volume.
	Reclaim corev1.PersistentVolumeReclaimPolicy
}

// PreviewClaims reads what becomes of claims and their volumes in a preview, sorted by claim. What could not be read is
// returned beside it. The error is not nil only if ctx has ended.
func (g *Graph) PreviewClaims(
	ctx context.Context, reader *cluster.Reader, p *Preview,
) ([]ClaimOutcome, []cluster.Incomplete, error) {
	var sets []*Node
	claims := map[*Node]*ClaimOutcome{}
	for _, n := range p.Deleted {
		switch n.Kind.GroupKind() {
		case schema.GroupKind{Group: appsv1.GroupName, Kind: "StatefulSet"}:
			sets = append(sets, n)
		case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
			claims[n] = &ClaimOutcome{Claim: n, Deleted: true}
		}
	}
	missing := g.claimsOfSets(ctx, reader, sets, claims)
	missing = append(missing, g.volumesOfClaims(ctx, reader, claims)...)
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("reading claims and volumes: %w", context.Cause(ctx))
	}
	out := make([]ClaimOutcome, 0, len(claims))
	for _, c := range claims {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b ClaimOutcome) int { return a.Claim.Compare(b.Claim) })
	return out, cluster.SortIncomplete(missing), nil
}

// claimsOfSets adds the claims that the StatefulSets have made.
func (g *Graph) claimsOfSets(
	ctx context.Context, reader *cluster.Reader, sets []*Node, claims map[*Node]*ClaimOutcome,
) []cluster.Incomplete {
	if len(sets) == 0 {
		return nil
	}
	objects, missing := readNodes(ctx, reader, sets, func() cluster.Typed { return &appsv1.StatefulSet{} })
	in := newRelationIndex(g.nodes)
	for n, object := range objects {
		set, ok := object.(*appsv1.StatefulSet)
		if !ok {
			continue
		}
		policy := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
		if retention := set.Spec.PersistentVolumeClaimRetentionPolicy; retention != nil {
			policy = cmp.Or(retention.WhenDeleted, policy)
		}
		for _, ref := range statefulSetReferences(set) {
			for _, claim := range in.matching(&ref) {
				if claims[claim] == nil {
					claims[claim] = &ClaimOutcome{Claim: claim}
				}
				claims[claim].Set, claims[claim].WhenDeleted = n, policy
			}
		}
	}
	return missing
}

// volumesOfClaims reads the volumes of the claims that would be deleted.
func (g *Graph) volumesOfClaims(
	ctx context.Context, reader *cluster.Reader, claims map[*Node]*ClaimOutcome,
) []cluster.Incomplete {
	var deleted []*Node
	for n, c := range claims {
		if c.Deleted {
			deleted = append(deleted, n)
		}
	}
	kind, served, err := g.kinds.Lookup(schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"})
	if err != nil || !served || len(deleted) == 0 { // what discovery could not find out is in Graph.Incomplete
		return nil
	}
	objects, missing := readNodes(ctx, reader, deleted, func() cluster.Typed { return &corev1.PersistentVolumeClaim{} })
	shared := g.share(kind)
	bound := map[*Node]*Node{} // claims by volume
	var volumes []*Node
	for n, object := range objects {
		if claim, ok := object.(*corev1.PersistentVolumeClaim); ok && claim.Spec.VolumeName != "" {
			volume := &Node{Kind: shared, Name: claim.Spec.VolumeName}
			bound[volume], volumes = n, append(volumes, volume)
		}
	}
	objects, unread := readNodes(ctx, reader, volumes, func() cluster.Typed { return &corev1.PersistentVolume{} })
	for n, object := range objects {
		volume, ok := object.(*corev1.PersistentVolume)
		if claim := bound[n]; ok && volume.Spec.ClaimRef != nil && volume.Spec.ClaimRef.UID == claim.UID {
			n.UID = volume.UID
			claims[claim].Volume, claims[claim].Reclaim = n, volume.Spec.PersistentVolumeReclaimPolicy
		}
	}
	return append(missing, unread...)
}
