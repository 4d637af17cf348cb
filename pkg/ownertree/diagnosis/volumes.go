package diagnosis

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// mostVolumes bounds the volumes that are read.
const mostVolumes = 2000

// volumesOf reads the volumes that pending claims could be bound to if no volumes are made for them: those that they
// name, and those of their classes.
func (r *situationReader) volumesOf(ctx context.Context) error {
	kind := r.kind("", "PersistentVolume")
	claims := map[*ownertree.Node]*corev1.PersistentVolumeClaim{}
	for _, n := range r.explained {
		claim, ok := r.pendingClaim(n)
		if ok && (claim.Spec.VolumeName != "" || !r.isProvisioned(ctx, n)) {
			claims[n] = claim
		}
	}
	if len(claims) == 0 || kind == nil {
		return nil
	}
	seen, target := 0, cluster.Target{Kind: *kind}
	all := cluster.ListOptions{Whole: true}
	err := r.reader.ListObjects(ctx, target, all, func(obj *unstructured.Unstructured) error {
		var volume corev1.PersistentVolume
		if seen++; seen > mostVolumes {
			return fmt.Errorf("only the first %d were read", mostVolumes)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &volume); err != nil {
			return fmt.Errorf("reading PersistentVolume %q: %w", obj.GetName(), err)
		}
		for n, claim := range claims {
			if named := claim.Spec.VolumeName; named == volume.Name ||
				named == "" && ptr.Deref(claim.Spec.StorageClassName, "") == volume.Spec.StorageClassName {
				r.volumes[n] = append(r.volumes[n], &volume)
			}
		}
		return nil
	})
	switch {
	case seen > mostVolumes:
		r.leaveOut(target, err.Error())
	case err != nil:
		r.unread = append(r.unread, target.Incomplete(err))
	}
	return nil
}

// pendingClaim reads a claim that has no volume; false for other objects.
func (s *Situation) pendingClaim(n *ownertree.Node) (*corev1.PersistentVolumeClaim, bool) {
	var claim corev1.PersistentVolumeClaim
	ok := n.Kind.GroupKind().String() == "PersistentVolumeClaim" && n.Deleting == nil && s.typed(n, &claim) &&
		(claim.Status.Phase == "" || claim.Status.Phase == corev1.ClaimPending)
	return &claim, ok
}

// isProvisioned reports whether a volume is made for a claim: it has a class, with a provisioner.
func (r *situationReader) isProvisioned(ctx context.Context, claim *ownertree.Node) bool {
	for _, relation := range r.relations[claim] {
		if relation.To.Kind.Kind != "StorageClass" || relation.Missing || relation.Unread {
			continue
		}
		class := r.object(ctx, *relation.To.Kind, "", relation.To.Name)
		return class == nil || class.Object["provisioner"] != "kubernetes.io/no-provisioner"
	}
	return false
}

// misfits completes the causes of a claim by why none of the volumes that it could have can be bound to it, and reports
// whether there are such volumes: then it does not need its class.
func (d *diagnoser) misfits(n *ownertree.Node, own []inspect.Cause) bool {
	claim, pending := d.pendingClaim(n)
	at := slices.IndexFunc(own, func(c inspect.Cause) bool { return c.Type == inspect.VolumeNotBound })
	if !pending || at < 0 {
		return false
	}
	best, why, taken := (*corev1.PersistentVolume)(nil), "", 0
	for _, v := range d.volumes[n] {
		problem, inUse := misfit(claim, v)
		switch {
		case problem == "":
			return true // it is about to be bound to it
		case inUse && claim.Spec.VolumeName == "":
			taken++
		case best == nil || v.Status.Phase == corev1.VolumeAvailable && best.Status.Phase != corev1.VolumeAvailable:
			best, why = v, problem
		}
	}
	c := &own[at]
	switch {
	case best != nil:
		c.Refers = &inspect.Reference{Kind: "PersistentVolume", Name: best.Name}
		c.Detail = "PersistentVolume/" + best.Name + " " + why
		c.Evidence = append(c.Evidence, inspect.Evidence{
			Source: inspect.FromObject, Name: "PersistentVolume/" + best.Name, Text: why,
		})
		if uid := releasedFor(claim, best); uid != "" {
			c.Evidence = append(c.Evidence, inspect.Evidence{
				Source: inspect.FromObject, Name: "PersistentVolume/" + best.Name + " spec.claimRef.uid",
				Text: string(uid),
			})
		}
	case taken > 0 && ptr.Deref(claim.Spec.StorageClassName, "") != "":
		c.Detail = fmt.Sprintf("others have all volumes of its class, of which there are %d", taken)
	default:
		return false
	}
	c.Certainty, c.Weight = inspect.Likely, inspect.Specific
	if claim.Spec.VolumeName != "" {
		c.Certainty = inspect.Certain // no other can be bound to it
	}
	return true
}

// releasedFor returns the uid of the claim that is gone and that a volume is kept for, if it is meant for another claim
// now: that is of the same name, or names the volume. It is empty for all others, which may not have what is on it.
func releasedFor(claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) types.UID {
	ref := v.Spec.ClaimRef
	if v.Status.Phase != corev1.VolumeReleased || ref == nil ||
		claim.Spec.VolumeName != v.Name && (claim.Namespace != ref.Namespace || claim.Name != ref.Name) {
		return ""
	}
	return ref.UID
}

// misfit returns why a volume cannot be bound to a claim, and whether that is because another claim has it; empty if it
// can be. It mirrors checkVolumeSatisfyClaim of
// k8s.io/kubernetes/pkg/controller/volume/persistentvolume/pv_controller.go and FindMatchingVolume of
// k8s.io/component-helpers/storage/volume/pv_helpers.go.
func misfit(claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) (problem string, inUse bool) {
	wanted, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], v.Spec.Capacity[corev1.ResourceStorage]
	class := ptr.Deref(claim.Spec.StorageClassName, "")
	wantedMode := ptr.Deref(claim.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	mode := ptr.Deref(v.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	selector, err := metav1.LabelSelectorAsSelector(claim.Spec.Selector)
	if claim.Spec.Selector == nil || err != nil {
		selector = labels.Everything()
	}
	lacks := slices.DeleteFunc(slices.Clone(claim.Spec.AccessModes), func(m corev1.PersistentVolumeAccessMode) bool {
		return slices.Contains(v.Spec.AccessModes, m)
	})
	if ref := v.Spec.ClaimRef; ref != nil {
		other := "PersistentVolumeClaim/" + ref.Name + " of namespace " + ref.Namespace
		switch {
		case v.Status.Phase == corev1.VolumeReleased:
			return "is kept for " + other + ", which is gone", false
		case ref.Namespace != claim.Namespace || ref.Name != claim.Name || ref.UID != "" && ref.UID != claim.UID:
			return "is for " + other, true
		}
	}
	switch {
	case v.Spec.StorageClassName != class:
		return fmt.Sprintf("has the class %q, not %q", v.Spec.StorageClassName, class), false
	case has.Cmp(wanted) < 0:
		return fmt.Sprintf("has %s, less than the %s that are requested", has.String(), wanted.String()), false
	case len(lacks) > 0:
		return fmt.Sprintf("does not allow %s, but %s", joined(lacks), joined(v.Spec.AccessModes)), false
	case mode != wantedMode:
		return fmt.Sprintf("has the mode %s, not %s", mode, wantedMode), false
	case !selector.Matches(labels.Set(v.Labels)):
		return "does not have the labels " + selector.String(), false
	case v.Status.Phase == corev1.VolumeFailed || v.DeletionTimestamp != nil:
		return "is being deleted, or has failed", false
	}
	return "", false
}

func joined(modes []corev1.PersistentVolumeAccessMode) string {
	var out []string
	for _, m := range modes {
		out = append(out, string(m))
	}
	return strings.Join(out, ", ")
}
