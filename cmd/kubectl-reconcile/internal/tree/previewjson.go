package tree

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// previewDocument is what `tree --delete-preview -o json` prints. docs/tree.schema.json describes it: it is a promise.
type previewDocument struct {
	APIVersion string                     `json:"apiVersion"`
	Kind       string                     `json:"kind"`
	Policy     metav1.DeletionPropagation `json:"policy"`
	Asked      []cli.ObjectRef            `json:"asked"`
	Deleted    []cli.ObjectRef            `json:"deleted"`
	Orphaned   []cli.ObjectRef            `json:"orphaned,omitempty"`
	Kept       []previewKept              `json:"kept,omitempty"`
	Stuck      []previewReason            `json:"stuck,omitempty"`
	Unknown    []previewReason            `json:"unknown,omitempty"`
	HeldUp     []previewHeld              `json:"heldUp,omitempty"`
	// Waits are those of Deleted that wait for Kubernetes itself alone.
	Waits []previewHeld `json:"waits,omitempty"`
	// Claims are those of Deleted, and those that StatefulSets of it have made.
	Claims []previewClaim `json:"claims,omitempty"`
	// Late are those of Deleted that stay until what holds an owner of theirs is gone.
	Late       []cli.ObjectRef      `json:"late,omitempty"`
	Incomplete []cluster.Incomplete `json:"incomplete,omitempty"`
}

// previewKept is an object that would stay, and its owners that would.
type previewKept struct {
	Object cli.ObjectRef   `json:"object"`
	Owners []cli.ObjectRef `json:"owners"`
}

// previewReason is an object and why it is in its list.
type previewReason struct {
	Object cli.ObjectRef `json:"object"`
	Why    string        `json:"why"`
}

// previewHeld is an object that would not go by itself.
type previewHeld struct {
	Object cli.ObjectRef `json:"object"`
	treeHold
}

// previewClaim is what becomes of a claim and its volume.
type previewClaim struct {
	Object  cli.ObjectRef `json:"object"`
	Deleted bool          `json:"deleted"`
	// StatefulSet has made the claim; WhenDeleted is its retention policy.
	StatefulSet *cli.ObjectRef                                  `json:"statefulSet,omitempty"`
	WhenDeleted appsv1.PersistentVolumeClaimRetentionPolicyType `json:"whenDeleted,omitempty"`
	// Volume is bound to a claim that would be deleted; ReclaimPolicy is what then becomes of it.
	Volume        *cli.ObjectRef                       `json:"volume,omitempty"`
	ReclaimPolicy corev1.PersistentVolumeReclaimPolicy `json:"reclaimPolicy,omitempty"`
}

func newPreviewClaim(c ownertree.ClaimOutcome) previewClaim {
	out := previewClaim{Object: refOf(c.Claim), Deleted: c.Deleted, WhenDeleted: c.WhenDeleted, ReclaimPolicy: c.Reclaim}
	if c.Set != nil {
		set := refOf(c.Set)
		out.StatefulSet = &set
	}
	if c.Volume != nil {
		volume := refOf(c.Volume)
		out.Volume = &volume
	}
	return out
}

func (p *preview) document() *previewDocument {
	d := &previewDocument{
		APIVersion: cli.APIVersion, Kind: "DeletePreview", Policy: p.Policy,
		Asked: refsOf(p.asked), Deleted: refsOf(p.Deleted), Orphaned: refsOf(p.Orphaned), Late: refsOf(p.Late), Incomplete: p.Incomplete,
		Stuck: p.reasons(p.Stuck), Unknown: p.reasons(p.Unknown),
	}
	for _, n := range p.Kept {
		d.Kept = append(d.Kept, previewKept{refOf(n), refsOf(p.keepers(n))})
	}
	for _, c := range p.claims {
		d.Claims = append(d.Claims, newPreviewClaim(c))
	}
	for _, h := range p.Blocked {
		d.HeldUp = append(d.HeldUp, previewHeld{refOf(h.Node), *newTreeHold(h)})
	}
	for _, h := range p.Waits {
		d.Waits = append(d.Waits, previewHeld{refOf(h.Node), *newTreeHold(h)})
	}
	return d
}

func (p *preview) reasons(nodes []*ownertree.Node) []previewReason {
	var out []previewReason
	for _, n := range nodes {
		out = append(out, previewReason{refOf(n), p.GCOutcome(n).Why})
	}
	return out
}
