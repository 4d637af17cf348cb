package drift

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// countFields are the fields of the numbers of one kind: Wanted with its default, and those of the status.
type countFields struct {
	wanted                           []string
	byDefault                        int64
	there, updated, ready, available string // below status; empty if the kind has none
}

// countsByKind are the kinds that count replicas or pods.
var countsByKind = map[schema.GroupKind]countFields{
	{Group: "apps", Kind: "Deployment"}: {
		wanted: []string{"spec", "replicas"}, byDefault: 1,
		there: "replicas", updated: "updatedReplicas", ready: "readyReplicas", available: "availableReplicas",
	},
	{Group: "apps", Kind: "StatefulSet"}: {
		wanted: []string{"spec", "replicas"}, byDefault: 1,
		there: "replicas", updated: "updatedReplicas", ready: "readyReplicas", available: "availableReplicas",
	},
	{Group: "apps", Kind: "ReplicaSet"}: {
		wanted: []string{"spec", "replicas"}, byDefault: 1,
		there: "replicas", ready: "readyReplicas", available: "availableReplicas",
	},
	{Kind: "ReplicationController"}: {
		wanted: []string{"spec", "replicas"}, byDefault: 1,
		there: "replicas", ready: "readyReplicas", available: "availableReplicas",
	},
	{Group: "apps", Kind: "DaemonSet"}: {
		wanted: []string{"status", "desiredNumberScheduled"},
		there:  "currentNumberScheduled", updated: "updatedNumberScheduled",
		ready: "numberReady", available: "numberAvailable",
	},
	{Group: "policy", Kind: "PodDisruptionBudget"}: {
		wanted: []string{"status", "desiredHealthy"}, ready: "currentHealthy",
	},
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: {
		wanted: []string{"status", "desiredReplicas"}, there: "currentReplicas",
	},
}

// countsOf returns the numbers of an object; ok is false if they are those that are wanted, or if its kind has none.
func countsOf(obj *unstructured.Unstructured) (c Count, ok bool) {
	fields, ok := countsByKind[obj.GroupVersionKind().GroupKind()]
	if !ok {
		return c, false
	}
	c = Count{Object: obj, Wanted: fields.byDefault}
	if n, found := number(obj, fields.wanted...); found {
		c.Wanted = n
	}
	if obj.GetKind() == "HorizontalPodAutoscaler" && c.Wanted == 0 {
		return c, false // it has not decided
	}
	differs := false
	for _, f := range []struct {
		name string
		into **int64
	}{
		{fields.there, &c.There}, {fields.updated, &c.Updated},
		{fields.ready, &c.Ready}, {fields.available, &c.Available},
	} {
		if f.name == "" {
			continue
		}
		n, _ := number(obj, "status", f.name) // 0 is left out
		*f.into = &n
		differs = differs || n != c.Wanted
	}
	if obj.GetKind() == "PodDisruptionBudget" {
		differs = *c.Ready < c.Wanted // more is no drift
	}
	if keepsOldPods(obj) {
		differs = *c.There != c.Wanted || *c.Ready != c.Wanted
	}
	return c, differs
}

// keepsOldPods reports whether a StatefulSet or a DaemonSet is to keep pods of an older template.
func keepsOldPods(obj *unstructured.Unstructured) bool {
	if kind := obj.GetKind(); kind != "StatefulSet" && kind != "DaemonSet" {
		return false
	}
	partition, _ := number(obj, "spec", "updateStrategy", "rollingUpdate", "partition")
	how, _, _ := unstructured.NestedString(obj.Object, "spec", "updateStrategy", "type")
	return partition > 0 || how == "OnDelete"
}

// number returns a whole number, whatever Go type it was decoded to; found is false if there is none.
func number(obj *unstructured.Unstructured, path ...string) (n int64, found bool) {
	v, found, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if err != nil || !found {
		return 0, false
	}
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	}
	return 0, false
}
