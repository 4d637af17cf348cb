package imports

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// objectsOf returns the objects that an input has.
func objectsOf(t *testing.T, input string) map[string]*unstructured.Unstructured {
	t.Helper()
	s, err := Open(t.Context(), strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*unstructured.Unstructured{}
	for {
		r, err := s.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Type != replay.TypeListItem && r.Type != replay.TypeAdded && r.Type != replay.TypeModified {
			continue
		}
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(r.Object, &u.Object); err != nil {
			t.Fatal(err)
		}
		if string(u.GetUID()) != r.UID || u.GetNamespace() != r.Namespace {
			t.Errorf("the object of %s has the uid %q, its record %q", u.GetName(), u.GetUID(), r.UID)
		}
		out[u.GetKind()+"/"+u.GetNamespace()+"/"+u.GetName()] = u
	}
}

// TestManifestsAreCompleted: objects that no server has stored can be told from each other, are owned by what they
// refer to, and their kinds are served.
func TestManifestsAreCompleted(t *testing.T) {
	const input = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-1, uid: u-1, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u-0}]}
---
apiVersion: example.com/v1
kind: Fleet
metadata: {name: east}
---
apiVersion: example.com/v1
kind: Ship
metadata: {name: one, namespace: shop, ownerReferences: [{apiVersion: example.com/v1, kind: Fleet, name: east, uid: u-2}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fleets.example.com}
spec: {group: example.com, scope: Cluster, names: {kind: Fleet, plural: fleets}, versions: [{name: v1, served: true, storage: true}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ships.example.com}
spec: {group: example.com, scope: Namespaced, names: {kind: Ship, plural: ships}, versions: [{name: v1, served: true, storage: true}]}
status: {conditions: [{type: Established, status: "False"}]}
`
	got := objectsOf(t, input)
	if uid := got["ReplicaSet/default/web-1"].GetUID(); uid != "u-1" {
		t.Errorf("a uid that is there was replaced: %q", uid)
	}
	if uid := got["Fleet//east"].GetUID(); uid != "u-2" {
		t.Errorf("an owner has not the uid of the reference to it, but %q", uid)
	}
	if uid := got["Deployment/default/web"].GetUID(); uid != "u-0" || got["Deployment/shop/web"].GetUID() == uid {
		t.Errorf("an owner in the default namespace has the uid %q", uid)
	}
	one, again := got["Ship/shop/one"].GetUID(), objectsOf(t, input)["Ship/shop/one"].GetUID()
	if one == "" || one != again || one == got["Deployment/shop/web"].GetUID() {
		t.Errorf("a uid of another object, or another one each time: %q, %q", one, again)
	}
	status, _, err := unstructured.NestedMap(got["CustomResourceDefinition//fleets.example.com"].Object, "status")
	want := map[string]any{
		"acceptedNames": map[string]any{"kind": "Fleet", "listKind": "FleetList", "plural": "fleets", "singular": "fleet"},
		"conditions": []any{
			map[string]any{"type": "NamesAccepted", "status": "True", "reason": "Manifest"},
			map[string]any{"type": "Established", "status": "True", "reason": "Manifest"},
		},
		"storedVersions": []any{"v1"},
	}
	if diff := cmp.Diff(want, status); err != nil || diff != "" {
		t.Errorf("status of a definition: %v (-want +got):\n%s", err, diff)
	}
	known, _, _ := unstructured.NestedSlice(got["CustomResourceDefinition//ships.example.com"].Object, "status", "conditions")
	if len(known) != 1 {
		t.Errorf("a status that is there was replaced: %v", known)
	}
}

// TestUncompleted: a manifest that cannot be completed is an error.
func TestUncompleted(t *testing.T) {
	s, err := Open(t.Context(), strings.NewReader(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"metadata":null}`))
	for err == nil {
		_, err = s.Next()
	}
	if !strings.Contains(err.Error(), `the Pod "a": it has two fields metadata`) {
		t.Error(err)
	}
}
