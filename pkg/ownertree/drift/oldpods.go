package drift

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// OldPods are the pods of one older revision of a StatefulSet or a DaemonSet that are to be of the newest one. Those
// that a partition, or the strategy OnDelete, keeps at an older one are none.
type OldPods struct {
	Object *unstructured.Unstructured
	// Wanted and Actual are the names of the ControllerRevisions.
	Wanted, Actual string
	// Pods are their names, sorted.
	Pods []string
}

// revisionLabel is the label of pods that names their revision: of a StatefulSet by its name, of a DaemonSet by what
// follows the name of the DaemonSet in it.
const revisionLabel = "controller-revision-hash"

// oldPods returns the pods of older revisions, sorted by owner and revision. The template of a ControllerRevision
// cannot be changed, so it is not compared with that of its owner.
func oldPods(objects []*unstructured.Unstructured) []OldPods {
	owners := map[types.UID]*unstructured.Unstructured{}
	newest := map[types.UID]string{}
	numbers := map[types.UID]int64{}
	for _, obj := range objects {
		switch obj.GroupVersionKind().GroupKind().String() {
		case "StatefulSet.apps":
			revision, _, err := unstructured.NestedString(obj.Object, "status", "updateRevision")
			if err == nil && revision != "" && replacesPods(obj) {
				owners[obj.GetUID()], newest[obj.GetUID()] = obj, revision
			}
		case "DaemonSet.apps":
			if replacesPods(obj) {
				owners[obj.GetUID()] = obj
			}
		case "ControllerRevision.apps":
			of := metav1.GetControllerOfNoCopy(obj)
			n, found := number(obj, "revision")
			if of != nil && of.Kind == "DaemonSet" && found && n > numbers[of.UID] {
				newest[of.UID], numbers[of.UID] = obj.GetName(), n
			}
		}
	}
	type revisionOf struct {
		owner    types.UID
		revision string
	}
	found := map[revisionOf][]string{}
	for _, obj := range objects {
		of := metav1.GetControllerOfNoCopy(obj)
		if of == nil || obj.GetKind() != "Pod" || owners[of.UID] == nil || newest[of.UID] == "" ||
			obj.GetDeletionTimestamp() != nil || isKept(obj, owners[of.UID]) {
			continue
		}
		revision := obj.GetLabels()[revisionLabel]
		if of.Kind == "DaemonSet" && revision != "" {
			revision = of.Name + "-" + revision
		}
		if revision != "" && revision != newest[of.UID] {
			key := revisionOf{of.UID, revision}
			found[key] = append(found[key], obj.GetName())
		}
	}
	var out []OldPods
	for key, pods := range found {
		slices.Sort(pods)
		out = append(out, OldPods{
			Object: owners[key.owner], Wanted: newest[key.owner], Actual: key.revision, Pods: pods,
		})
	}
	slices.SortFunc(out, func(a, b OldPods) int {
		return cmp.Or(compareObjects(a.Object, b.Object), cmp.Compare(a.Actual, b.Actual))
	})
	return out
}

// replacesPods reports whether a StatefulSet or a DaemonSet replaces its pods by itself, and its controller has seen
// its latest template.
func replacesPods(obj *unstructured.Unstructured) bool {
	how, _, err := unstructured.NestedString(obj.Object, "spec", "updateStrategy", "type")
	report := inspect.Inspect(obj, nil)
	return err == nil && how != "OnDelete" && !report.Drifted()
}

// isKept reports whether the partition of a StatefulSet keeps a pod at an older revision.
func isKept(pod, owner *unstructured.Unstructured) bool {
	partition, found := number(owner, "spec", "updateStrategy", "rollingUpdate", "partition")
	if !found || owner.GetKind() != "StatefulSet" {
		return false
	}
	ordinal, err := strconv.ParseInt(pod.GetName()[strings.LastIndexByte(pod.GetName(), '-')+1:], 10, 64)
	return err == nil && ordinal < partition
}
