package diagnosis

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// mostPlaced bounds the volumes that are read for where they can be used.
const mostPlaced = 8

// keptAwayByVolumes reports whether a pod has no node because of where its volumes are, which the scheduler does not
// name.
func keptAwayByVolumes(c inspect.Cause) bool {
	return c.Type == inspect.Unschedulable && (strings.Contains(c.Detail, "PersistentVolume's node affinity") ||
		strings.Contains(c.Detail, "volume node affinity conflict"))
}

// placesOf reads, of pods that are kept away by where their volumes are, the volumes that can only be used on some
// nodes.
func (r *situationReader) placesOf(ctx context.Context) error {
	volumes := r.kind("", "PersistentVolume")
	if volumes == nil {
		return nil
	}
	reads := 0
	for _, n := range r.explained {
		if !r.isKeptAway(n, keptAwayByVolumes) {
			continue
		}
		for _, relation := range r.relations[n] {
			if relation.To.Kind.Kind != "PersistentVolumeClaim" || relation.Missing || reads >= mostPlaced {
				continue
			}
			reads++
			var claim corev1.PersistentVolumeClaim
			var volume corev1.PersistentVolume
			read := r.object(ctx, *relation.To.Kind, relation.To.Namespace, relation.To.Name)
			if read == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(read.Object, &claim) != nil ||
				claim.Spec.VolumeName == "" {
				continue
			}
			read = r.object(ctx, *volumes, "", claim.Spec.VolumeName)
			if read == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(read.Object, &volume) != nil {
				continue
			}
			if place := placeOf(&volume); place != "" {
				r.places[n] = append(r.places[n], inspect.Evidence{
					Source: inspect.FromObject, Name: "PersistentVolume/" + volume.Name,
					Text: "is only for nodes with " + place + ", and has PersistentVolumeClaim/" + claim.Name,
				})
			}
		}
	}
	return nil
}

// placeOf describes on which nodes a volume can be used: "kubernetes.io/hostname in node-9"; empty for all.
func placeOf(v *corev1.PersistentVolume) string {
	if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
		return ""
	}
	var terms []string
	for _, term := range v.Spec.NodeAffinity.Required.NodeSelectorTerms {
		var parts []string
		for _, e := range term.MatchExpressions {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Key, strings.ToLower(string(e.Operator)),
				strings.Join(e.Values, ", "))))
		}
		terms = append(terms, strings.Join(parts, " and "))
	}
	return strings.Join(terms, ", or ")
}

// namesVolumes adds the volumes to the causes of a pod that is kept away by where they are.
func (d *diagnoser) namesVolumes(n *ownertree.Node, own []inspect.Cause) {
	for i := range own {
		if places := d.places[n]; keptAwayByVolumes(own[i]) && len(places) > 0 {
			own[i].Detail = strings.TrimSuffix(own[i].Detail, ".") + "; " + places[0].Name + " " + places[0].Text
			own[i].Evidence = append(own[i].Evidence, places...)
		}
	}
}
