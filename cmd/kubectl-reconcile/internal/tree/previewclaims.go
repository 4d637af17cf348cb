package tree

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// claimLines describe the claims that StatefulSets would leave behind, and what becomes of the volumes of claims that
// would go.
func (p *preview) claimLines(add func(tone render.Tone, head, text string)) {
	var sets []ownertree.ClaimOutcome
	kept := map[*ownertree.Node][]*ownertree.Node{}
	volumes := map[corev1.PersistentVolumeReclaimPolicy][]*ownertree.Node{}
	for _, c := range p.claims {
		switch {
		case c.Volume != nil:
			volumes[c.Reclaim] = append(volumes[c.Reclaim], c.Volume)
		case c.Set != nil && !c.Deleted && !slices.Contains(p.Orphaned, c.Claim):
			if kept[c.Set] == nil {
				sets = append(sets, c)
			}
			kept[c.Set] = append(kept[c.Set], c.Claim)
		}
	}
	for _, c := range first(sets) {
		text := fmt.Sprintf(", made by %s: %s", p.name(c.Set), retentionText(c.WhenDeleted))
		add(render.TonePlain, "would keep "+p.counts(kept[c.Set]), text)
	}
	if more := len(sets) - cli.MaxNotes; more > 0 {
		add(render.TonePlain, fmt.Sprintf("would keep: the claims of %d more StatefulSets", more), "; -o json has all")
	}
	for _, v := range []struct {
		policy     corev1.PersistentVolumeReclaimPolicy
		tone       render.Tone
		head, text string
	}{
		{corev1.PersistentVolumeReclaimDelete, render.ToneTrouble, "would delete with claims", "what is stored goes, too"},
		{corev1.PersistentVolumeReclaimRecycle, render.ToneTrouble, "would empty", "what is stored goes"},
		{corev1.PersistentVolumeReclaimRetain, render.TonePlain, "would release", "what is stored stays"},
	} {
		if all := volumes[v.policy]; len(all) > 0 {
			add(v.tone, v.head, fmt.Sprintf(": %s; reclaim policy %s: %s", p.counts(all), v.policy, v.text))
		}
	}
}

// retentionText explains why a claim stays though the StatefulSet that made it goes.
func retentionText(whenDeleted appsv1.PersistentVolumeClaimRetentionPolicyType) string {
	if whenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		return "its retention policy is Delete, but is not in force: it does not own them"
	}
	return "its retention policy is Retain"
}
