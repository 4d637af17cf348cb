package plans

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// write is a write of one object, in a plan or on a cluster, in words that do not differ between the two.
type write struct {
	// controller is empty for the change itself.
	controller string
	verb       string // create, update or delete
	// at is Kind/NAME, or with the namespace if that is not the case's; generated names end in "*". object names it
	// with what was generated.
	at, object string
	// owner is that which controls the object, as at is written; itself without one.
	owner string
	// fields are those that an update changed, but of the status; none is an update of the status.
	fields []string
	// replicas is what the object is asked to have after the write, from what it was; nil if that has not changed.
	from, replicas *int64
	// code is the HTTP status of a refusal; 0 if the write was accepted.
	code int
}

// onlyStatus reports whether the write changed nothing but the status.
func (w write) onlyStatus() bool { return w.verb == updates && len(w.fields) == 0 }

// String is what the write did, without who and to what.
func (w write) String() string {
	return strings.TrimSpace(w.verb + " " + strings.Join(w.fields, " "))
}

// The verbs of writes.
const (
	creates = "create"
	updates = "update"
	deletes = "delete"
)

// generatedPart is what the API appends to a name that it generates, in a plan or on a cluster.
const generatedPart = `<[0-9]*>|[bcdfghjklmnpqrstvwxz2456789]{5}`

var generated = regexp.MustCompile(`^(?:` + generatedPart + `)$`)

// sized are the kinds whose numbers of replicas a plan lists.
var sized = []string{"ReplicaSet", "StatefulSet", "ReplicationController"}

// anyUID is a uid, on a cluster or in a plan, as in the names of volumes.
var anyUID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|<uid of [^<>]*(<[0-9]*>)?>`)

// nameOf is the name of an object, without what was generated of it.
func nameOf(u *unstructured.Unstructured) string {
	prefix := u.GetGenerateName()
	if suffix, ok := strings.CutPrefix(u.GetName(), prefix); ok && prefix != "" && generated.MatchString(suffix) {
		return prefix + "*"
	}
	return anyUID.ReplaceAllString(u.GetName(), "*")
}

// describe is the write that made the object what it is after from what it was before; either may be nil. It returns
// false for one that nothing but what every write changes tells apart.
func describe(home string, before, after *unstructured.Unstructured) (write, bool) {
	u := after
	if u == nil {
		u = before
	}
	w := write{verb: updates, at: at(home, u.GetNamespace(), u.GetKind(), nameOf(u)), owner: owner(home, u)}
	w.object = at(home, u.GetNamespace(), u.GetKind(), u.GetName())
	if w.owner == "" {
		w.owner = w.at
	}
	switch {
	case before == nil:
		w.verb, w.from = creates, new(int64)
	case after == nil, before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil:
		w.verb = deletes
	default:
		w.fields = changedFields(before.Object, after.Object)
		w.from = replicas(before)
		if len(w.fields) == 0 && reflect.DeepEqual(before.Object["status"], after.Object["status"]) {
			return w, false
		}
	}
	if after != nil && w.verb != deletes && slices.Contains(sized, u.GetKind()) {
		w.replicas = replicas(after)
	}
	if w.from == nil || w.replicas == nil || *w.from == *w.replicas {
		w.from, w.replicas = nil, nil
	}
	return w, true
}

func replicas(u *unstructured.Unstructured) *int64 {
	n, found, err := unstructured.NestedInt64(u.Object, "spec", "replicas")
	if err != nil || !found {
		return nil
	}
	return &n
}

// at names an object: its namespace is left out if it is the case's, or none.
func at(home, namespace, kind, name string) string {
	if namespace != "" && namespace != home {
		return kind + "/" + namespace + "/" + name
	}
	return kind + "/" + name
}

// owner names what controls an object; empty for nothing. Owners have no generated names in the cases.
func owner(home string, u *unstructured.Unstructured) string {
	for _, r := range u.GetOwnerReferences() {
		if r.Controller != nil && *r.Controller {
			return at(home, u.GetNamespace(), r.Kind, r.Name)
		}
	}
	return ""
}

// unplanned are the fields of metadata that the API sets by itself when an object is written. When an object is being
// deleted is a time.
var unplanned = []string{"resourceVersion", "generation", "managedFields", "deletionTimestamp"}

// changedFields are the fields of objects in which they differ, sorted, as spec.template or spec.replicas=3: the status
// is left out, and so is what kubectl and the API keep for themselves.
func changedFields(before, after map[string]any) []string {
	var out []string
	for _, top := range keys(before, after) {
		if top == "status" || reflect.DeepEqual(before[top], after[top]) {
			continue
		}
		if top == "endpoints" && reflect.DeepEqual(trimmed(before[top]), trimmed(after[top])) {
			continue // their order is chance: the controller keeps them in a map
		}
		b, isMap := before[top].(map[string]any)
		a, stillMap := after[top].(map[string]any)
		if !isMap && !stillMap {
			out = append(out, top)
			continue
		}
		for _, field := range keys(b, a) {
			if top == "metadata" &&
				(slices.Contains(unplanned, field) || field == "annotations" && sameAnnotations(b, a)) {
				continue
			}
			if !reflect.DeepEqual(b[field], a[field]) {
				out = append(out, top+"."+field+scalar(a[field]))
			}
		}
	}
	sort.Strings(out)
	return out
}

// keys are those of both maps, sorted.
func keys(a, b map[string]any) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// uncompared are annotations that are not compared: kubectl's copy of the object, and since when endpoints are what
// they are. Whether a controller says the latter is chance: it depends on which changes it has seen at once, and in
// which second, and so a plan leaves it out.
var uncompared = []string{corev1.LastAppliedConfigAnnotation, corev1.EndpointsLastChangeTriggerTime}

// sameAnnotations reports whether the annotations of two objects differ in nothing but those that are not compared.
func sameAnnotations(before, after map[string]any) bool {
	without := func(metadata map[string]any) map[string]any {
		annotations, _ := metadata["annotations"].(map[string]any) // nil if there are none
		out := maps.Clone(annotations)
		for _, key := range uncompared {
			delete(out, key)
		}
		return out
	}
	b, a := without(before), without(after)
	return len(b) == 0 && len(a) == 0 || reflect.DeepEqual(b, a)
}

// scalar is a number or a truth value after an equals sign; empty for what may be generated or long.
func scalar(v any) string {
	switch v.(type) {
	case int64, float64, bool:
		return fmt.Sprintf("=%v", v)
	}
	return ""
}
