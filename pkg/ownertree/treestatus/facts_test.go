package treestatus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// fakeReader has objects, and notes what is read.
type fakeReader struct {
	objects []*unstructured.Unstructured
	err     error

	mu    sync.Mutex
	reads []string
}

func (r *fakeReader) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads = append(r.reads, fmt.Sprintf(format, args...))
}

// Object implements cluster.ObjectReader.
func (r *fakeReader) Object(_ context.Context, kind cluster.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	r.note("get %s %s/%s", kind, namespace, name)
	if r.err != nil {
		return nil, r.err
	}
	for _, o := range r.objects {
		if o.GetKind() == kind.Kind && o.GetNamespace() == namespace && o.GetName() == name {
			return o, nil
		}
	}
	return nil, apierrors.NewNotFound(kind.GroupResource(), name)
}

// ListObjects implements cluster.ObjectReader.
func (r *fakeReader) ListObjects(_ context.Context, t cluster.Target, o cluster.ListOptions, each func(*unstructured.Unstructured) error) error {
	r.note("list %s in %q, whole %t", t.Kind, t.Namespace, o.Whole)
	for _, obj := range r.objects {
		if obj.GetKind() == t.Kind.Kind && (t.Namespace == "" || obj.GetNamespace() == t.Namespace) {
			if err := each(obj); err != nil {
				return err
			}
		}
	}
	return r.err
}

func kindOf(name string) *cluster.Kind {
	return &cluster.Kind{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: name}, Resource: strings.ToLower(name) + "s", Namespaced: true,
		HasStatus: name != "ConfigMap", Verbs: []string{"delete", "get", "list", "watch"},
	}
}

// pods are objects and nodes of so many pods in a namespace.
func pods(namespace string, n int) ([]*unstructured.Unstructured, []*ownertree.Node) {
	var objects []*unstructured.Unstructured
	var nodes []*ownertree.Node
	kind := kindOf("Pod")
	for i := range n {
		name := fmt.Sprintf("p%d", i)
		uid := types.UID(namespace + name)
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{
				"namespace": namespace, "name": name, "uid": string(uid),
				"managedFields": []any{map[string]any{"manager": "m", "operation": "Update", "time": "2026-03-04T12:00:00Z"}},
			},
			"spec":   map[string]any{"containers": []any{map[string]any{"name": "main"}}},
			"status": map[string]any{"phase": "Failed", "reason": "Evicted"},
		}})
		nodes = append(nodes, &ownertree.Node{Kind: kind, Namespace: namespace, Name: name, UID: uid})
	}
	return objects, nodes
}

func TestFactsAreReadCheaply(t *testing.T) {
	for _, tt := range []struct {
		name          string
		there, wanted int
		verbs         []string
		whole         bool
		want          string
		reason        string
	}{
		{"all", 100, 100, nil, false, `list pod in "a", whole false`, "one list"},
		{"a twentieth", 100, 5, nil, false, `list pod in "a", whole false`, "a list of a hundred is as cheap as five single reads"},
		{"fewer", 100, 4, nil, false, "get pod a/p0, get pod a/p1, get pod a/p2, get pod a/p3", "single reads are cheaper"},
		{"one", 1, 1, nil, false, "get pod a/p0", "one object is read by itself"},
		{"no list", 2, 2, []string{"get"}, false, "get pod a/p0, get pod a/p1", "a kind that cannot be listed"},
		{"whole", 2, 2, nil, true, `list pod in "a", whole true`, "managedFields are kept only where they are shown"},
	} {
		objects, nodes := pods("a", tt.there)
		if tt.verbs != nil {
			nodes[0].Kind.Verbs = tt.verbs // all share it
		}
		reader := &fakeReader{objects: objects}
		facts, incomplete := readOwn(t.Context(), reader, nodes[:tt.wanted], ReadOptions{ManagedFields: tt.whole, Containers: true}, cluster.ReadOptions{Whole: tt.whole, Existing: countExisting(nodes)})
		slices.Sort(reader.reads)
		if got := strings.Join(reader.reads, ", "); got != tt.want {
			t.Errorf("%s: %s; want %s: %s", tt.name, got, tt.want, tt.reason)
		}
		for _, n := range nodes[:tt.wanted] {
			f := facts[n.UID]
			if f == nil || f.Status.Status != inspect.Failed || len(f.Containers) != 1 || (f.Writer != nil) != tt.whole {
				t.Errorf("%s: facts of %s are %+v", tt.name, n, f)
			}
		}
		if len(facts) != tt.wanted || incomplete != nil {
			t.Errorf("%s: facts of %d objects, %v", tt.name, len(facts), incomplete)
		}
	}
}

func TestFactsOfManyNamespaces(t *testing.T) {
	var objects []*unstructured.Unstructured
	var nodes []*ownertree.Node
	kind := kindOf("Pod")
	for i := range 5 {
		o, n := pods(fmt.Sprintf("ns%d", i), 3)
		for _, one := range n {
			one.Kind = kind
		}
		objects, nodes = append(objects, o...), append(nodes, n...)
	}
	for _, tt := range []struct {
		everywhere bool
		want       int
		reason     string
	}{
		{true, 1, "all namespaces are read at once, if all of them are in the graph"},
		{false, 5, "else there may be many more objects elsewhere"},
	} {
		reader := &fakeReader{objects: objects}
		facts, _ := readOwn(t.Context(), reader, nodes, ReadOptions{}, cluster.ReadOptions{Existing: countExisting(nodes), AllNamespaces: tt.everywhere})
		if len(reader.reads) != tt.want || len(facts) != len(nodes) {
			t.Errorf("%v for %d facts: %s", reader.reads, len(facts), tt.reason)
		}
	}
}

func TestFactsThatCannotBeRead(t *testing.T) {
	objects, nodes := pods("a", 3)
	objects[1].SetUID("another")
	forbidden := apierrors.NewForbidden(nodes[0].Kind.GroupResource(), "", errors.New("no"))
	for _, tt := range []struct {
		name       string
		reader     *fakeReader
		wanted     []*ownertree.Node
		status     string
		incomplete []string
		reason     string
	}{
		{"gone", &fakeReader{objects: objects[:1]}, nodes[2:], inspect.Terminating, nil, "deleted since the metadata were read"},
		{"gone from a list", &fakeReader{objects: objects[:1]}, nodes[1:], inspect.Terminating, nil, "the same"},
		{"another", &fakeReader{objects: objects}, nodes[1:2], inspect.Terminating, nil, "another object of the name is not the one"},
		{"forbidden", &fakeReader{err: forbidden}, nodes[:1], inspect.Unknown, []string{"pods a Forbidden"}, "it is there, but may not be read"},
		{"list forbidden", &fakeReader{err: forbidden}, nodes[:2], inspect.Unknown, []string{"pods a Forbidden"}, "the same, said once"},
	} {
		facts, incomplete := readOwn(t.Context(), tt.reader, tt.wanted, ReadOptions{}, cluster.ReadOptions{Existing: countExisting(tt.wanted)})
		for _, n := range tt.wanted {
			if got := facts.Of(n).Status.Status; got != tt.status {
				t.Errorf("%s: %s is %s, want %s: %s", tt.name, n, got, tt.status, tt.reason)
			}
		}
		var got []string
		for _, i := range incomplete {
			got = append(got, strings.Join([]string{i.Resource, i.Namespace, i.Reason}, " "))
		}
		if diff := cmp.Diff(tt.incomplete, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, tt.reason, diff)
		}
	}
}

func TestFactsAreDated(t *testing.T) {
	objects, nodes := pods("a", 40)
	for i, o := range objects {
		if i%2 == 0 {
			_ = unstructured.SetNestedField(o.Object, int64(2), "metadata", "generation")
			_ = unstructured.SetNestedField(o.Object, int64(1), "status", "observedGeneration")
			o.SetManagedFields(nil)
		}
	}
	reader := &fakeReader{objects: objects}
	readOwn(t.Context(), reader, nodes, ReadOptions{}, cluster.ReadOptions{Existing: countExisting(nodes)})
	if want := 1 + maxDated; len(reader.reads) != want {
		t.Errorf("one list, and single reads of so many of the objects behind: %v", reader.reads)
	}
}

func TestFactsThatNeedNoReading(t *testing.T) {
	settings := &ownertree.Node{Kind: kindOf("ConfigMap"), Name: "settings", UID: "s"}
	_, known := pods("a", 2)
	before := FactsByUID{known[0].UID: {}, known[1].UID: {}}
	reader := &fakeReader{}
	all := append(slices.Clone(known), settings)
	facts, _ := readOwn(t.Context(), reader, all, ReadOptions{Known: func(n *ownertree.Node) *Facts {
		if n == known[1] {
			return nil // touched
		}
		return before[n.UID]
	}}, cluster.ReadOptions{Existing: countExisting(all)})
	if diff := cmp.Diff([]string{"get pod a/p1"}, reader.reads); diff != "" {
		t.Errorf("only what has a status, and was touched since it was known, is read (-want +got):\n%s", diff)
	}
	if facts.Of(settings).Status.Status != inspect.Current || facts[known[0].UID] != before[known[0].UID] {
		t.Errorf("facts are lost: %v", facts)
	}
	readOwn(t.Context(), reader, []*ownertree.Node{settings}, ReadOptions{ManagedFields: true}, cluster.ReadOptions{})
	if len(reader.reads) != 2 {
		t.Errorf("who wrote a ConfigMap last is not known without reading it: %v", reader.reads)
	}
}
