package ownertree_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// sandbox is an embedded API server with nothing that acts on its objects.
type sandbox struct {
	*testing.T
	server  *api.Server
	dynamic *dynamic.DynamicClient
	reader  *cluster.Reader
	config  *rest.Config // to discover kinds with; nil is the server's
}

// startSandbox starts a server that stops when the test ends.
func startSandbox(t *testing.T) *sandbox {
	t.Helper()
	server, err := api.Start(context.WithoutCancel(t.Context()), api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return newSandbox(t, server)
}

// newSandbox has clients of a server that runs.
func newSandbox(t *testing.T, server *api.Server) *sandbox {
	t.Helper()
	s := &sandbox{T: t, server: server}
	var err error
	if s.dynamic, err = dynamic.NewForConfig(server.Config()); err != nil {
		t.Fatal(err)
	}
	if s.reader, err = cluster.NewReader(server.Config()); err != nil {
		t.Fatal(err)
	}
	return s
}

// collectGarbage runs the real garbage collector until the test ends.
func (s *sandbox) collectGarbage() {
	s.Helper()
	s.control("garbagecollector")
}

// control runs real controllers until the test ends.
func (s *sandbox) control(names ...string) {
	s.Helper()
	client, err := kubernetes.NewForConfig(s.server.Config())
	if err != nil {
		s.Fatal(err)
	}
	selected, err := controllers.Select(names)
	if err != nil {
		s.Fatal(err)
	}
	observer := tap.New(tap.Options{})
	ctx, cancel := context.WithCancel(s.Context())
	running, err := controllers.Start(ctx, controllers.Deps{
		Tap: observer, Informers: observer.Informers(client, 0), Config: s.server.Config(),
	}, selected)
	if err != nil {
		cancel()
		s.Fatal(err)
	}
	s.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

func (s *sandbox) kinds() *cluster.Kinds {
	s.Helper()
	config := s.config
	if config == nil {
		config = s.server.Config()
	}
	kinds, err := cluster.Discover(s.Context(), config)
	if err != nil {
		s.Fatal(err)
	}
	return kinds
}

// resource is the client of a kind, in a namespace if that is not empty.
func (s *sandbox) resource(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return s.dynamic.Resource(gvr)
	}
	return s.dynamic.Resource(gvr).Namespace(namespace)
}

// create makes an object of a manifest, with these owners.
func (s *sandbox) create(namespace, manifest string, owners ...metav1.OwnerReference) *unstructured.Unstructured {
	s.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &obj.Object); err != nil {
		s.Fatal(err)
	}
	if len(owners) > 0 {
		obj.SetOwnerReferences(owners)
	}
	gvr, _ := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
	made, err := s.resource(gvr, namespace).Create(s.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		s.Fatalf("creating %s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
	return made
}

// configMap makes a ConfigMap with these owners.
func (s *sandbox) configMap(namespace, name string, owners ...metav1.OwnerReference) *unstructured.Unstructured {
	s.Helper()
	return s.create(namespace, "{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"}}", owners...)
}

// get returns nil if the object is not there.
func (s *sandbox) get(obj *unstructured.Unstructured) *unstructured.Unstructured {
	s.Helper()
	gvr, _ := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
	now, err := s.resource(gvr, obj.GetNamespace()).Get(s.Context(), obj.GetName(), metav1.GetOptions{})
	if err != nil || now.GetUID() != obj.GetUID() {
		return nil
	}
	return now
}

// delete asks for the deletion of an object.
func (s *sandbox) delete(obj *unstructured.Unstructured, policy metav1.DeletionPropagation) {
	s.Helper()
	gvr, _ := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
	err := s.resource(gvr, obj.GetNamespace()).Delete(s.Context(), obj.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy})
	if err != nil {
		s.Fatal(err)
	}
}

// collect makes a graph of everything and confirms all of it.
func (s *sandbox) collect(scope ownertree.Scope) *ownertree.Graph {
	s.Helper()
	g, err := ownertree.Collect(s.Context(), s.reader, s.kinds(), scope)
	if err != nil {
		s.Fatal(err)
	}
	if err := g.Ascend(s.Context(), s.reader, g.Nodes()); err != nil {
		s.Fatal(err)
	}
	return g
}

// eventually waits until condition holds.
func (s *sandbox) eventually(what string, condition func() bool) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.Context(), 5*time.Millisecond, 3*time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		s.Errorf("waiting until %s: %v", what, err)
	}
}

// owned refers to an object as its owner.
func owned(by *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: by.GetAPIVersion(), Kind: by.GetKind(), Name: by.GetName(), UID: by.GetUID()}
}

// changed is the reference after a change.
func changed(ref metav1.OwnerReference, change func(*metav1.OwnerReference)) metav1.OwnerReference {
	change(&ref)
	return ref
}

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	claims     = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	widgets    = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

func encodeJSON(tb testing.TB, v any) []byte {
	tb.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// load reads what is in the scope, the objects themselves, their owners all the way up, and the owners that are not
// there of what is below them, as a tree needs it.
func (s *sandbox) load(kinds *cluster.Kinds, scope ownertree.Scope, refs ...ownertree.Ref) (*ownertree.Graph, []*ownertree.Node) {
	s.Helper()
	g, err := ownertree.Collect(s.Context(), s.reader, kinds, scope)
	if err != nil {
		s.Fatal(err)
	}
	nodes := make([]*ownertree.Node, len(refs))
	for i, ref := range refs {
		object, err := s.reader.Metadata(s.Context(), ref.Kind, ref.Namespace, ref.Name)
		if err != nil {
			s.Fatal(err)
		}
		nodes[i] = g.Add(ref.Kind, object)
	}
	if err := g.Ascend(s.Context(), s.reader, nodes); err != nil {
		s.Fatal(err)
	}
	if err := g.Confirm(s.Context(), s.reader, below(nodes)); err != nil {
		s.Fatal(err)
	}
	return g, nodes
}

// below are the nodes and everything that they own, each once.
func below(nodes []*ownertree.Node) []*ownertree.Node {
	var out []*ownertree.Node
	seen := map[*ownertree.Node]bool{}
	for next := nodes; len(next) > 0; next = next[1:] {
		if n := next[0]; !seen[n] {
			seen[n] = true
			out = append(out, n)
			next = append(next, n.Dependents...)
		}
	}
	return out
}
