package diagnosis

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// at is the present time of all situations.
var at = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// served are the kinds of the server, by version; a kind with * has no namespace.
var served = map[string]string{
	"v1": "Pod Service Event ConfigMap Secret ServiceAccount PersistentVolumeClaim PersistentVolume* Node* Namespace*",

	"apps/v1":                         "Deployment ReplicaSet",
	"admissionregistration.k8s.io/v1": "ValidatingWebhookConfiguration* MutatingWebhookConfiguration*",
	"autoscaling/v2":                  "HorizontalPodAutoscaler",
	"coordination.k8s.io/v1":          "Lease",
	"discovery.k8s.io/v1":             "EndpointSlice",
	"networking.k8s.io/v1":            "Ingress",
	"policy/v1":                       "PodDisruptionBudget",
	"storage.k8s.io/v1":               "VolumeAttachment*",
}

// server answers as an API server that has these objects does, in JSON and without pages.
type server struct {
	testing.TB
	objects []*unstructured.Unstructured
	// refuses has the code with which requests are answered: for an object ("leases/a"), lists of objects in full ("list
	// leases"), or all of a resource ("leases").
	refuses map[string]int
	// reads is called before an object is read whole, and may change it; it may be nil.
	reads func(*unstructured.Unstructured)
}

// newServer has the objects of YAML documents. What they do not say is filled in: their namespace is shop, their uid
// Kind/name, and they are an hour old.
func newServer(t testing.TB, documents string) *server {
	t.Helper()
	s := &server{TB: t, refuses: map[string]int{}}
	for document := range strings.SplitSeq(documents, "\n---\n") {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &obj.Object); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		if obj.Object != nil {
			s.add(obj)
		}
	}
	return s
}

func (s *server) add(obj *unstructured.Unstructured) {
	kinds := strings.Fields(served[obj.GetAPIVersion()])
	if obj.GetNamespace() == "" && slices.Contains(kinds, obj.GetKind()) {
		obj.SetNamespace("shop")
	}
	obj.SetUID(types.UID(obj.GetKind() + "/" + obj.GetName()))
	if obj.GetCreationTimestamp().Time.IsZero() {
		obj.SetCreationTimestamp(metav1.NewTime(at.Add(-time.Hour)))
	}
	s.objects = append(s.objects, obj)
}

func resourceOf(gvk schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural.Resource
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if body := discovery(r.URL.Path); body != nil {
		s.answer(w, http.StatusOK, body)
		return
	}
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")
	version, resource, _ := strings.Cut(path, "/")
	if version != "v1" {
		v, rest, _ := strings.Cut(resource, "/")
		version, resource = version+"/"+v, rest
	}
	namespace := ""
	if inside, ok := strings.CutPrefix(resource, "namespaces/"); ok && strings.Contains(inside, "/") {
		namespace, resource, _ = strings.Cut(inside, "/")
	}
	resource, name, _ := strings.Cut(resource, "/")
	keys := []string{resource + "/" + name, resource}
	if name == "" && !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		keys = append(keys, "list "+resource)
	}
	for _, key := range keys {
		if code := s.refuses[key]; code != 0 {
			s.refuse(w, code, resource, name)
			return
		}
	}
	query := r.URL.Query()
	byLabels, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		s.Error(err)
	}
	byFields, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		s.Error(err)
	}
	items := []any{}
	for _, obj := range s.objects {
		if obj.GetAPIVersion() == version && resourceOf(obj.GroupVersionKind()) == resource &&
			(namespace == "" || obj.GetNamespace() == namespace) && (name == "" || obj.GetName() == name) &&
			byLabels.Matches(labels.Set(obj.GetLabels())) && byFields.Matches(objectFields{obj}) {
			items = append(items, s.form(r, obj))
		}
	}
	switch {
	case name != "" && len(items) == 0:
		s.refuse(w, http.StatusNotFound, resource, name)
	case name != "":
		s.answer(w, http.StatusOK, items[0])
	case strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList"):
		s.answer(w, http.StatusOK, map[string]any{
			"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": map[string]any{"resourceVersion": "1"}, "items": items,
		})
	default:
		s.answer(w, http.StatusOK, map[string]any{
			"apiVersion": version, "kind": "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": items,
		})
	}
}

// form returns the object as a request wants it: whole, or its metadata.
func (s *server) form(r *http.Request, obj *unstructured.Unstructured) any {
	if !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		if s.reads != nil {
			s.reads(obj)
		}
		return obj.Object
	}
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": obj.Object["metadata"]}
}

func (s *server) refuse(w http.ResponseWriter, code int, resource, name string) {
	err := apierrors.NewGenericServerResponse(code, "get", schema.GroupResource{Resource: resource}, name, "", 0, false)
	err.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	s.answer(w, code, err.ErrStatus)
}

func (s *server) answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.Error(err)
	}
}

// discovery answers in the old form; nil for other paths.
func discovery(path string) any {
	switch path {
	case "/api":
		return metav1.APIVersions{Versions: []string{"v1"}}
	case "/apis":
		list := metav1.APIGroupList{Groups: []metav1.APIGroup{}}
		for version := range served {
			if group, v, found := strings.Cut(version, "/"); found {
				preferred := metav1.GroupVersionForDiscovery{GroupVersion: version, Version: v}
				list.Groups = append(list.Groups, metav1.APIGroup{
					Name: group, Versions: []metav1.GroupVersionForDiscovery{preferred}, PreferredVersion: preferred,
				})
			}
		}
		return list
	}
	version := strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/")
	if served[version] == "" {
		return nil
	}
	list := metav1.APIResourceList{GroupVersion: version}
	for kind := range strings.FieldsSeq(served[version]) {
		name, global := strings.CutSuffix(kind, "*")
		resource := resourceOf(schema.FromAPIVersionAndKind(version, name))
		list.APIResources = append(list.APIResources,
			metav1.APIResource{Name: resource, Kind: name, Namespaced: !global, Verbs: metav1.Verbs{"delete", "get", "list", "watch"}},
			metav1.APIResource{Name: resource + "/status", Kind: name, Namespaced: !global, Verbs: metav1.Verbs{"get"}})
	}
	return list
}

// objectFields are the fields of an object by their paths.
type objectFields struct{ obj *unstructured.Unstructured }

// Has implements fields.Fields.
func (f objectFields) Has(string) bool { return true }

// Get implements fields.Fields.
func (f objectFields) Get(path string) string {
	value, found, _ := unstructured.NestedFieldNoCopy(f.obj.Object, strings.Split(path, ".")...)
	if !found {
		return ""
	}
	return fmt.Sprint(value)
}

// situation reads what is around an object, Kind/name, as of the present time.
func (s *server) situation(asked string) *Situation {
	s.Helper()
	out, _ := s.read(asked)
	return out
}

// read is situation, with the reader.
func (s *server) read(asked string) (*Situation, *cluster.Reader) {
	s.Helper()
	listening := httptest.NewServer(s)
	s.Cleanup(listening.Close)
	config := &rest.Config{Host: listening.URL, QPS: -1}
	kinds, err := cluster.Discover(s.Context(), config)
	if err != nil {
		s.Fatal(err)
	}
	reader, err := cluster.NewReader(config)
	if err != nil {
		s.Fatal(err)
	}
	i := slices.IndexFunc(s.objects, func(o *unstructured.Unstructured) bool { return string(o.GetUID()) == asked })
	if i < 0 {
		s.Fatalf("there is no %s", asked)
	}
	obj := s.objects[i]
	kind, ok, err := kinds.Lookup(obj.GroupVersionKind())
	if err != nil || !ok {
		s.Fatalf("%s: %v", obj.GroupVersionKind(), err)
	}
	graph, err := ownertree.Collect(s.Context(), reader, kinds, Scope(kind, obj.GetNamespace(), obj.GetName()))
	if err != nil {
		s.Fatal(err)
	}
	metadata, err := reader.Metadata(s.Context(), kind, obj.GetNamespace(), obj.GetName())
	if err != nil {
		s.Fatal(err)
	}
	out, err := Read(s.Context(), reader, kinds, graph, graph.Add(kind, metadata), at)
	if err != nil {
		s.Fatal(err)
	}
	return out, reader
}

// lines describes the causes of a diagnosis, the likeliest first, each with the object that shows it.
func lines(d *Diagnosis) []string {
	var out []string
	for _, c := range d.Causes {
		line := fmt.Sprintf("%s %s of %s/%s", c.Certainty, c.Type, c.Node().Kind.Kind, c.Node().Name)
		if c.Part != "" {
			line += ", " + c.Part
		}
		if c.Detail != "" {
			line += ": " + c.Detail
		}
		if c.Refers != nil {
			line += " -> " + c.Refers.Kind + "/" + c.Refers.Name
		}
		out = append(out, line)
	}
	return out
}

// unread describes what could not be read.
func unread(s *Situation) []string {
	var out []string
	for _, i := range s.Incomplete {
		out = append(out, i.Resource+" "+i.Reason)
	}
	return out
}
