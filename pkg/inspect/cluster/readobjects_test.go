package cluster

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
)

// countingReader has an object for each "NAMESPACE/NAME", whose uid is the same text, and records what is read.
type countingReader struct {
	objects []string
	// listErr is the error of lists of all namespaces.
	listErr error

	mu    sync.Mutex
	reads []string
}

func (r *countingReader) note(read string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads = append(r.reads, read)
}

func thing(id string) *unstructured.Unstructured {
	namespace, name, _ := strings.Cut(id, "/")
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetUID(types.UID(id))
	return obj
}

func (r *countingReader) Object(_ context.Context, _ Kind, namespace, name string) (*unstructured.Unstructured, error) {
	id := namespace + "/" + name
	r.note("get " + id)
	if slices.Contains(r.objects, id) {
		return thing(id), nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
}

func (r *countingReader) ListObjects(_ context.Context, t Target, o ListOptions, each func(*unstructured.Unstructured) error) error {
	r.note(strings.TrimSuffix("list "+t.Namespace+"?"+o.Labels, "?"))
	if t.Namespace == "" && r.listErr != nil {
		return r.listErr
	}
	for _, id := range r.objects {
		if t.Namespace == "" || strings.HasPrefix(id, t.Namespace+"/") {
			if err := each(thing(id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// labelsOf are the labels of an object: those of n0/00 to n0/39 share two.
func labelsOf(id string) map[string]string {
	if len(id) == len("n0/00") {
		return map[string]string{"app": "a", "of": "many", "name": id}
	}
	return nil
}

func TestReadObjects(t *testing.T) {
	kind := &Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Thing"}, Resource: "things", Namespaced: true, Verbs: []string{"get", "list"}}
	single := &Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Single"}, Resource: "singles", Namespaced: true, Verbs: []string{"get"}}
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
	var all, some []string
	for i := range 5 {
		all = append(all, fmt.Sprintf("n%d/a", i), fmt.Sprintf("n%d/b", i))
		some = append(some, fmt.Sprintf("get n%d/a", i), fmt.Sprintf("get n%d/b", i))
	}
	existing := func(n int) func(*Kind, string, map[string]string) int {
		return func(_ *Kind, _ string, having map[string]string) int {
			if having["app"] == "a" {
				return 40
			}
			return n
		}
	}
	var many, single40 []string
	for i := range 40 {
		many, single40 = append(many, fmt.Sprintf("n0/%02d", i)), append(single40, fmt.Sprintf("get n0/%02d", i))
	}
	for _, tt := range []struct {
		reason     string
		kind       *Kind
		wanted     []string
		options    ReadOptions
		listErr    error
		reads      []string
		gone       []string
		incomplete []string
	}{
		{"nothing", kind, nil, ReadOptions{}, nil, nil, nil, nil},
		{"one object is read by itself", kind, []string{"n0/a"}, ReadOptions{}, nil, []string{"get n0/a"}, nil, nil},
		{"several by a list", kind, []string{"n0/a", "n0/b"}, ReadOptions{Existing: existing(40)}, nil, []string{"list n0"}, nil, nil},
		{"unless that is much longer", kind, []string{"n0/a", "n0/b"}, ReadOptions{Existing: existing(41)}, nil, []string{"get n0/a", "get n0/b"}, nil, nil},
		{"or not allowed for the kind", single, []string{"n0/a", "n0/b"}, ReadOptions{}, nil, []string{"get n0/a", "get n0/b"}, nil, nil},
		{"one that no longer exists", kind, []string{"n0/a", "n0/x"}, ReadOptions{}, nil, []string{"list n0"}, []string{"n0/x"}, nil},
		{"one that no longer exists, by itself", kind, []string{"n0/x"}, ReadOptions{}, nil, []string{"get n0/x"}, []string{"n0/x"}, nil},
		{"many namespaces", kind, all, ReadOptions{Existing: existing(2), AllNamespaces: true}, nil, []string{"list "}, nil, nil},
		{"not those of all namespaces are known", kind, all, ReadOptions{Existing: existing(2)}, nil, []string{"list n0", "list n1", "list n2", "list n3", "list n4"}, nil, nil},
		{"most of the list is not wanted", kind, all, ReadOptions{Existing: existing(5), AllNamespaces: true}, nil, []string{"list n0", "list n1", "list n2", "list n3", "list n4"}, nil, nil},
		{"a list of all namespaces that is forbidden", kind, all, ReadOptions{Existing: existing(2), AllNamespaces: true}, forbidden, append([]string{"list "}, some...), nil, nil},
		{"many of still more are listed by their labels", kind, many, ReadOptions{Existing: existing(9000)}, nil, append([]string{"list n0?app=a,of=many"}, single40...), many, nil},
		{"another error", kind, all, ReadOptions{Existing: existing(2), AllNamespaces: true}, errors.New("broken"), []string{"list "}, nil, []string{"things"}},
	} {
		reader := &countingReader{objects: all, listErr: tt.listErr}
		var ids []ObjectID
		for _, id := range tt.wanted {
			namespace, name, _ := strings.Cut(id, "/")
			ids = append(ids, ObjectID{Kind: tt.kind, Namespace: namespace, Name: name, UID: types.UID(id), Labels: labelsOf(id)})
		}
		var mu sync.Mutex
		var gone []string
		found := 0
		incomplete := ReadObjects(t.Context(), reader, ids, tt.options, func(i int, obj *unstructured.Unstructured) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case obj == nil:
				gone = append(gone, tt.wanted[i])
			case obj.GetUID() != ids[i].UID:
				t.Errorf("%s: %s is handled as %s", tt.reason, obj.GetUID(), tt.wanted[i])
			default:
				found++
			}
		})
		var failed []string
		for _, i := range incomplete {
			failed = append(failed, i.Resource)
		}
		slices.Sort(gone)
		slices.Sort(reader.reads)
		slices.Sort(tt.reads)
		if diff := cmp.Diff(tt.reads, reader.reads); diff != "" {
			t.Errorf("%s: reads (-want +got):\n%s", tt.reason, diff)
		}
		if diff := cmp.Diff(tt.gone, gone); diff != "" {
			t.Errorf("%s: gone (-want +got):\n%s", tt.reason, diff)
		}
		if diff := cmp.Diff(tt.incomplete, failed); diff != "" {
			t.Errorf("%s: incomplete (-want +got):\n%s", tt.reason, diff)
		}
		if want := len(tt.wanted) - len(tt.gone); failed == nil && found != want {
			t.Errorf("%s: %d objects found, want %d", tt.reason, found, want)
		}
	}
}
