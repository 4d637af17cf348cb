package ownertree_test

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// indexEntry serves objects in full, and their metadata, from memory. What it has answered once it does not encode
// again, so that its own cost is small.
type indexEntry struct {
	testing.TB
	resources map[string][]metav1.APIResource // by version
	objects   map[string][]typed              // by the path of the list of all namespaces

	mu      sync.Mutex
	answers map[string][]byte
	asked   map[string]int // how often, by path and what was wanted: full objects or metadata
}

// typed is an object of a Go type of k8s.io/api.
type typed interface {
	k8sruntime.Object
	metav1.ObjectMetaAccessor
	Marshal() ([]byte, error)
}

func newShelf(tb testing.TB) *indexEntry {
	tb.Helper()
	return &indexEntry{
		TB: tb, resources: map[string][]metav1.APIResource{}, objects: map[string][]typed{},
		answers: map[string][]byte{}, asked: map[string]int{},
	}
}

// add puts objects on the shelf; their uid is made of what they are called.
func (s *indexEntry) add(objects ...typed) {
	s.Helper()
	for _, o := range objects {
		kinds, _, err := scheme.Scheme.ObjectKinds(o)
		if err != nil {
			s.Fatal(err)
		}
		m := o.GetObjectMeta()
		m.SetUID(types.UID(kinds[0].Kind + "/" + m.GetNamespace() + "/" + m.GetName()))
		version, resource := kinds[0].GroupVersion().String(), strings.ToLower(kinds[0].Kind)+"s"
		at := root(version) + "/" + resource
		if s.objects[at] == nil {
			s.resources[version] = append(s.resources[version], metav1.APIResource{
				Name: resource, Kind: kinds[0].Kind, Namespaced: m.GetNamespace() != "", Verbs: metav1.Verbs{"delete", "get", "list", "watch"},
			})
		}
		s.objects[at] = append(s.objects[at], o)
	}
}

func root(version string) string {
	if strings.Contains(version, "/") {
		return "/apis/" + version
	}
	return "/api/" + version
}

// open starts serving.
func (s *indexEntry) open() (*cluster.Reader, *cluster.Kinds) {
	s.Helper()
	return connect(s, s)
}

// ServeHTTP answers without pages: a server may leave them out.
func (s *indexEntry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if body := s.discovery(r.URL.Path); body != nil {
		answer(w, "application/json", body)
		return
	}
	form := "full"
	if !strings.Contains(r.Header.Get("Accept"), "protobuf") {
		form = "json"
	}
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		form = "metadata"
	}
	s.mu.Lock()
	key := strings.TrimSpace(form + " " + r.URL.Path + " " + r.URL.Query().Get("fieldSelector"))
	s.asked[key]++
	body, known := s.answers[key]
	if !known {
		body = s.body(r.URL.Path, form)
		s.answers[key] = body
	}
	s.mu.Unlock()
	if body == nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
		return
	}
	answer(w, map[string]string{"json": "application/json"}[form], body)
}

// discovery answers in the old form; nil for other paths.
func (s *indexEntry) discovery(at string) []byte {
	switch at {
	case "/api":
		return []byte(`{"versions":["v1"]}`)
	case "/apis":
		groups := []metav1.APIGroup{}
		for version := range s.resources {
			if group, v, found := strings.Cut(version, "/"); found {
				served := metav1.GroupVersionForDiscovery{GroupVersion: version, Version: v}
				groups = append(groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{served}, PreferredVersion: served})
			}
		}
		return encodeJSON(s, metav1.APIGroupList{Groups: groups})
	}
	for version, resources := range s.resources {
		if at == root(version) {
			return encodeJSON(s, metav1.APIResourceList{GroupVersion: version, APIResources: resources})
		}
	}
	return nil
}

// body is a list, or an object; nil if there is none.
func (s *indexEntry) body(at, form string) []byte {
	all, namespace, name := at, "", ""
	if before, after, found := strings.Cut(at, "/namespaces/"); found {
		parts := strings.Split(after, "/")
		namespace, all = parts[0], before+"/"+parts[1]
		name = strings.Join(parts[2:], "/")
	} else if s.objects[at] == nil {
		all, name = path.Split(at)
		all = strings.TrimSuffix(all, "/")
	}
	var items [][]byte
	for _, o := range s.objects[all] {
		m := o.GetObjectMeta()
		if namespace != "" && m.GetNamespace() != namespace || name != "" && m.GetName() != name {
			continue
		}
		if form == "json" {
			return encodeJSON(s, withKind(o))
		}
		if form == "metadata" {
			o = &metav1.PartialObjectMetadata{ObjectMeta: *m.(*metav1.ObjectMeta)}
		}
		raw, err := o.Marshal()
		if err != nil {
			s.Error(err)
		}
		items = append(items, raw)
	}
	switch {
	case name != "" && len(items) == 0:
		return nil
	case name != "":
		return s.envelope(items[0])
	}
	return s.envelope(slices.Concat(listed(items)...))
}

// withKind is the object as JSON has it.
func withKind(o typed) typed {
	if kinds, _, err := scheme.Scheme.ObjectKinds(o); err == nil {
		o.GetObjectKind().SetGroupVersionKind(kinds[0])
	}
	return o
}

// listed are the fields of a list that hold the items, behind its empty metadata.
func listed(items [][]byte) [][]byte {
	out := [][]byte{{1<<3 | 2, 0}}
	for _, item := range items {
		head := []byte{2<<3 | 2}
		for n := len(item); ; n >>= 7 {
			if n < 0x80 {
				head = append(head, byte(n))
				break
			}
			head = append(head, byte(n)|0x80)
		}
		out = append(out, head, item)
	}
	return out
}

func (s *indexEntry) envelope(raw []byte) []byte {
	body, err := (&k8sruntime.Unknown{Raw: raw}).Marshal()
	if err != nil {
		s.Error(err)
	}
	return append([]byte("k8s\x00"), body...)
}
