package timeline

import (
	"bytes"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
)

// changeOf describes what two versions of an object differ in. before is nil for an object that is new.
func changeOf(before, after *document, s *streamState, all bool) (*ObjectChange, difference, error) {
	out := numbersIn(after)
	if before == nil {
		conditions := rawjson.Elements(rawjson.ValueAt(after.at("status"), "conditions"))
		out.Conditions = compareConditions(nil, conditionsOf(conditions))
		out.OwnersAdded = ownersIn(after.meta("ownerReferences"))
		out.FinalizersAdded = stringsOf(after.meta("finalizers"))
		return out, difference{}, nil
	}
	d, err := differenceOf(before, after, all)
	if err != nil {
		return out, d, err
	}
	if out.Fields, out.Only, err = d.changes(s.mask(), all, s.heartbeats); err != nil {
		return out, d, err
	}
	if d.before["status"] != nil || d.after["status"] != nil {
		out.Conditions = compareConditions(conditionsIn(d.before), conditionsIn(d.after))
		out.Containers = containersOf(before.at("status"), after.at("status"))
	}
	if d.before["metadata"] != nil || d.after["metadata"] != nil {
		out.OwnersAdded, out.OwnersRemoved = compareSets(
			ownersIn(before.meta("ownerReferences")), ownersIn(after.meta("ownerReferences")), Owner.same)
		out.FinalizersAdded, out.FinalizersRemoved = compareSets(
			stringsOf(before.meta("finalizers")), stringsOf(after.meta("finalizers")),
			func(a, b string) bool { return a == b })
		out.DeletionRequested = after.deletionRequested() && !before.deletionRequested()
	}
	return out, d, nil
}

// deletionRequested reports whether the object has a deletionTimestamp.
func (d *document) deletionRequested() bool { return rawjson.Text(d.meta("deletionTimestamp")) != "" }

// compareSets returns which elements are new and which are gone.
func compareSets[T any](before, after []T, same func(a, b T) bool) (added, removed []T) {
	missing := func(of []T, in []T) []T {
		var out []T
		for _, one := range of {
			if !slices.ContainsFunc(in, func(other T) bool { return same(one, other) }) {
				out = append(out, one)
			}
		}
		return out
	}
	return missing(after, before), missing(before, after)
}

// maxSetSize bounds the owners, finalizers and conditions that are read of an object: they are compared each with each.
const maxSetSize = 200

// ownersOf returns the owner references of an object.
func ownersOf(raw []byte) []Owner {
	return ownersIn(rawjson.ValueAt(raw, "metadata", "ownerReferences"))
}

func ownersIn(references []byte) []Owner {
	var out []Owner
	for _, element := range rawjson.Elements(references) {
		if len(out) == maxSetSize {
			break
		}
		out = append(out, Owner{
			APIVersion: rawjson.TextAt(element, "apiVersion"),
			Kind:       rawjson.TextAt(element, "kind"),
			Name:       rawjson.TextAt(element, "name"),
			UID:        types.UID(rawjson.TextAt(element, "uid")),
			Controller: string(rawjson.ValueAt(element, "controller")) == "true",
		})
	}
	return out
}

func (o Owner) same(other Owner) bool { return o == other }

func stringsOf(raw []byte) []string {
	var out []string
	for _, element := range rawjson.Elements(raw) {
		if len(out) == maxSetSize {
			break
		}
		out = append(out, rawjson.Text(element))
	}
	return out
}

// condition is a condition as the object has it.
type condition struct{ name, status, reason, message string }

func conditionsOf(elements [][]byte) []condition {
	var out []condition
	for _, e := range elements[:min(len(elements), maxSetSize)] {
		out = append(out, condition{
			rawjson.TextAt(e, "type"), rawjson.TextAt(e, "status"), rawjson.TextAt(e, "reason"),
			rawjson.TextAt(e, "message"),
		})
	}
	return out
}

// conditionsIn returns the conditions in a part of an object that was decoded.
func conditionsIn(fields map[string]any) []condition {
	list, _, _ := unstructured.NestedFieldNoCopy(fields, "status", "conditions")
	entries, _ := list.([]any)
	var out []condition
	for _, entry := range entries[:min(len(entries), maxSetSize)] {
		m, _ := entry.(map[string]any)
		text := func(name string) string {
			s, _ := m[name].(string)
			return s
		}
		out = append(out, condition{text("type"), text("status"), text("reason"), text("message")})
	}
	return out
}

// compareConditions returns the conditions whose status or reason differ, in the order of the object, then those that
// are gone.
func compareConditions(before, after []condition) []ConditionChange {
	var out []ConditionChange
	named := func(list []condition, name string) int {
		return slices.IndexFunc(list, func(c condition) bool { return c.name == name })
	}
	for _, c := range after {
		change := ConditionChange{Type: c.name, To: c.status, Reason: c.reason, Message: c.message}
		if i := named(before, c.name); i >= 0 {
			if before[i].status == c.status && before[i].reason == c.reason {
				continue
			}
			change.From = before[i].status
		}
		out = append(out, change)
	}
	for _, c := range before {
		if named(after, c.name) < 0 {
			out = append(out, ConditionChange{Type: c.name, From: c.status, Reason: c.reason, Message: c.message})
		}
	}
	return out
}

// numbersIn returns an ObjectChange that only has the numbers of an object.
func numbersIn(d *document) *ObjectChange {
	status := d.at("status")
	return &ObjectChange{
		ResourceVersion:    rawjson.Text(d.meta("resourceVersion")),
		Generation:         numberOf(d.meta("generation")),
		ObservedGeneration: numberOf(rawjson.ValueAt(status, "observedGeneration")),
		Replicas:           replicasOf(d.at("spec"), status),
	}
}

// replicasOf returns the numbers of pods, by the names that the kinds of the API have for them.
func replicasOf(spec, status []byte) *Replicas {
	out := Replicas{Wanted: numberOf(rawjson.ValueAt(spec, "replicas"))}
	if out.Wanted == nil && !bytes.Contains(status, []byte("umber")) && !bytes.Contains(status, []byte("eplicas")) {
		return nil // most kinds, such as pods: their status need not be split
	}
	for _, m := range rawjson.Members(status) {
		switch m.Key {
		case "replicas", "currentNumberScheduled":
			out.Current = numberOf(m.Value)
		case "updatedReplicas", "updatedNumberScheduled":
			out.Updated = numberOf(m.Value)
		case "readyReplicas", "numberReady":
			out.Ready = numberOf(m.Value)
		case "availableReplicas", "numberAvailable":
			out.Available = numberOf(m.Value)
		case "desiredNumberScheduled":
			if out.Wanted == nil {
				out.Wanted = numberOf(m.Value)
			}
		}
	}
	if out == (Replicas{}) {
		return nil
	}
	return &out
}

// numberOf returns a whole number; nil if the JSON value is none.
func numberOf(raw []byte) *int64 {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// fullObject decodes an object as a whole. kind and apiVersion are set if it has none.
func fullObject(raw []byte, apiVersion, kind string) (*unstructured.Unstructured, error) {
	fields := map[string]any{}
	if err := utiljson.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	if fields["kind"] == nil {
		fields["kind"], fields["apiVersion"] = kind, apiVersion
	}
	return &unstructured.Unstructured{Object: fields}, nil
}
