package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// DeletePreview is what `tree --delete-preview -o json` prints: what deleting objects would do, when all is over that
// it starts.
type DeletePreview struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// The policy of the deletion.
	Policy metav1.DeletionPropagation `json:"policy"`
	// The objects that would be deleted by the user.
	Asked []ObjectRef `json:"asked"`
	// All objects that would go, those asked for included.
	Deleted []ObjectRef `json:"deleted"`
	// Objects that would stay and lose their owner.
	Orphaned []ObjectRef `json:"orphaned,omitempty"`
	// Objects that would lose an owner and stay for others.
	Kept []KeptObject `json:"kept,omitempty"`
	// Objects that would stay, because the garbage collector cannot judge them.
	Stuck []ObjectReason `json:"stuck,omitempty"`
	// Objects of which it is not known what would become of them.
	Unknown []ObjectReason `json:"unknown,omitempty"`
	// Those of deleted that would not go by themselves.
	HeldUp []HeldObject `json:"heldUp,omitempty"`
	// Those of deleted, beside heldUp, that have finalizers which Kubernetes itself removes.
	Waits []HeldObject `json:"waits,omitempty"`
	// PersistentVolumeClaims: those of deleted, and those that a StatefulSet of deleted has made and would leave.
	Claims []ClaimOutcome `json:"claims,omitempty"`
	// Those of deleted that stay until what holds an owner of theirs has gone.
	Late []ObjectRef `json:"late,omitempty"`
	// What could not be read, so that something may be missing.
	Incomplete []cluster.Incomplete `json:"incomplete,omitempty"`
}

// KeptObject is an object that would stay, and its owners that would.
type KeptObject struct {
	Object ObjectRef `json:"object"`
	// The owners that would stay.
	Owners []ObjectRef `json:"owners"`
}

// ObjectReason is an object and why it is in its list.
type ObjectReason struct {
	Object ObjectRef `json:"object"`
	Why    string    `json:"why"`
}

// HeldObject is an object that is not gone as soon as it is deleted.
type HeldObject struct {
	Object ObjectRef `json:"object"`
	DeletionBlockers
	// It depends on whether the garbage collector comes between several deletions.
	Perhaps bool `json:"perhaps,omitempty"`
}

// ClaimOutcome is what becomes of a PersistentVolumeClaim and its volume.
type ClaimOutcome struct {
	Object ObjectRef `json:"object"`
	// It is among deleted.
	Deleted bool `json:"deleted"`
	// What has made it.
	StatefulSet *ObjectRef `json:"statefulSet,omitempty"`
	// The retention policy of statefulSet for its own deletion.
	WhenDeleted appsv1.PersistentVolumeClaimRetentionPolicyType `json:"whenDeleted,omitempty"`
	// What is bound to a claim that would be deleted.
	Volume *ObjectRef `json:"volume,omitempty"`
	// What then becomes of volume: Delete takes what is stored with it.
	ReclaimPolicy corev1.PersistentVolumeReclaimPolicy `json:"reclaimPolicy,omitempty"`
}
