package diagnosis

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestNamespaceContents: so many objects of a namespace are looked at, however many finalizers each has.
func TestNamespaceContents(t *testing.T) {
	for _, finalizers := range []int{1, 2, 3, 5} {
		var names []string
		for i := range finalizers {
			names = append(names, fmt.Sprintf("example.com/f%c", 'a'+i))
		}
		objects := []string{`
{apiVersion: v1, kind: Namespace, metadata: {name: shop, deletionTimestamp: "2026-01-01T11:30:00Z"}, spec: {finalizers: [kubernetes]}, status: {phase: Terminating}}`}
		for i := range mostContents + 8 {
			objects = append(objects, fmt.Sprintf(
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: left-%02d, deletionTimestamp: "2026-01-01T11:30:00Z", finalizers: [%s]}}`,
				i, strings.Join(names, ", ")))
		}
		d := newServer(t, documents(objects...)).situation("Namespace/shop").Diagnose(at)
		if len(d.Causes) != finalizers {
			t.Errorf("%d finalizers: %q", finalizers, lines(d))
		}
		for _, c := range d.Causes {
			if got := 1 + len(c.Others); got != mostContents {
				t.Errorf("%d finalizers: %d objects have %s, want %d", finalizers, got, c.Detail, mostContents)
			}
		}
	}
}

// TestDeletions: what the deletion of an object waits for.
func TestDeletions(t *testing.T) {
	const deleted = `deletionTimestamp: "2026-01-01T11:30:00Z"`
	for _, row := range []struct {
		reason, objects string
		want            []string
	}{
		{"a foreign finalizer", `{apiVersion: v1, kind: Secret, metadata: {name: it, ` + deleted + `, finalizers: [example.com/a]}}`, []string{
			"Certain Finalizer of Secret/it: example.com/a",
		}},
		{"dependents that block it", `
{apiVersion: v1, kind: Secret, metadata: {name: it, ` + deleted + `, finalizers: [foregroundDeletion]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: below, ` + deleted + `, finalizers: [example.com/a],
  ownerReferences: [{apiVersion: v1, kind: Secret, name: it, uid: Secret/it, blockOwnerDeletion: true}]}}`, []string{
			"Certain Finalizer of ConfigMap/below: example.com/a",
			"Certain DependentsRemain of Secret/it: ConfigMap/below -> ConfigMap/below",
		}},
		{"a pod that its kubelet has not removed", `
{apiVersion: v1, kind: Pod, metadata: {name: it, deletionGracePeriodSeconds: 30, ` + deleted + `}, spec: {nodeName: node-1, containers: [{name: a}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {conditions: [{type: Ready, status: "True"}]}}`, []string{
			"Likely PodNotStopped of Pod/it: its kubelet has not reported that its containers have ended",
		}},
	} {
		s := newServer(t, row.objects)
		d := s.situation(string(s.objects[0].GetUID())).Diagnose(at)
		if diff := cmp.Diff(row.want, lines(d)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// cordoned is a node from which pods are to be removed, with pods that a budget protects.
func cordoned(pods int) string {
	objects := []string{
		`{apiVersion: v1, kind: Node, metadata: {name: node-1}, spec: {unschedulable: true}, status: {conditions: [{type: Ready, status: "True"}]}}`,
		`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, generation: 1}, spec: {selector: {matchLabels: {app: web}}},
		status: {observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2}}`,
		`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: allows, generation: 1}, spec: {selector: {matchLabels: {app: api}}},
		status: {observedGeneration: 1, disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1}}`,
	}
	for i := range pods {
		objects = append(objects, fmt.Sprintf(
			`{apiVersion: v1, kind: Pod, metadata: {name: web-%04d, labels: {app: web}}, spec: {nodeName: node-1, containers: [{name: web}]}}`, i))
	}
	return documents(objects...)
}

// TestEvictions: budgets keep pods on a node. What was not read of that is said.
func TestEvictions(t *testing.T) {
	const blocked = "Likely EvictionBlocked of Node/node-1: web-0000, web-0001 -> PodDisruptionBudget/web"
	for _, row := range []struct {
		reason  string
		pods    int
		refused string
		want    string
		unread  []string
	}{
		{"two pods", 2, "", blocked, nil},
		{"budgets may not be listed", 2, "poddisruptionbudgets", "", []string{"poddisruptionbudgets Forbidden"}},
		{"pods may not be listed", 2, "pods", "", []string{"pods Forbidden"}},
		{"as many as are looked at", mostEvicted, "", strings.Replace(blocked, "web-0001", "web-0001, web-0002", 1), nil},
		{"more than are looked at", mostEvicted + 1, "", strings.Replace(blocked, "web-0001", "web-0001, web-0002", 1), []string{"pods TooMany"}},
	} {
		s := newServer(t, cordoned(row.pods))
		s.refuses[row.refused] = http.StatusForbidden
		read := s.situation("Node/node-1")
		got := lines(read.Diagnose(at))
		if row.want != "" && (len(got) == 0 || got[0] != row.want) || row.want == "" && strings.Contains(strings.Join(got, ""), "EvictionBlocked") {
			t.Errorf("%s: %q", row.reason, got)
		}
		if diff := cmp.Diff(row.unread, unread(read), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: not read (-want +got):\n%s", row.reason, diff)
		}
	}
}
