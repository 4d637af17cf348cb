package ownertree_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// recorder writes down requests, refuses some, and adds a group whose server does not answer to discovery.
type recorder struct {
	next http.RoundTripper

	mu     sync.Mutex
	forbid string // path segment
	// forbidPath is a whole path.
	forbidPath string
	requests   []string
}

func (w *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.requests = append(w.requests, r.URL.Path)
	refused := w.forbid != "" && slices.Contains(strings.Split(r.URL.Path, "/"), w.forbid) || w.forbidPath == r.URL.Path
	w.mu.Unlock()
	if refused {
		return made(r, http.StatusForbidden, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no secrets for you"}`)), nil
	}
	response, err := w.next.RoundTrip(r)
	if err != nil || r.URL.Path != "/apis" {
		return response, err
	}
	defer response.Body.Close()
	var groups map[string]any
	if err := json.NewDecoder(response.Body).Decode(&groups); err != nil {
		return nil, err
	}
	items, _ := groups["items"].([]any)
	groups["items"] = append(items, map[string]any{
		"metadata": map[string]any{"name": "metrics.k8s.io"}, "versions": []any{map[string]any{"version": "v1beta1", "freshness": "Stale"}},
	})
	body, err := json.Marshal(groups)
	if err != nil {
		return nil, err
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, nil
}

func made(r *http.Request, code int, body []byte) *http.Response {
	return &http.Response{
		StatusCode: code, Request: r, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// asked returns the paths asked for since the last call.
func (w *recorder) asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.requests
	w.requests = nil
	slices.Sort(out)
	return out
}

// startRecorded is a sandbox whose reader goes through a recorder.
func startRecorded(t *testing.T) (*sandbox, *recorder) {
	t.Helper()
	s := startSandbox(t)
	config := s.server.Config()
	w := &recorder{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		w.next = next
		return w
	})
	var err error
	if s.reader, err = cluster.NewReader(config); err != nil {
		t.Fatal(err)
	}
	s.config = config
	return s, w
}

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// threeNamespaces are a ClusterRole that owns a widget in each of three namespaces, each of which owns two ConfigMaps.
func (s *sandbox) threeNamespaces() (role *unstructured.Unstructured) {
	s.Helper()
	s.create("", widgetDefinition)
	role = s.create("", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: top}}")
	s.eventually("widgets are served", func() bool {
		_, ok := s.kindNamed("widget")
		return ok
	})
	for i := range 3 {
		namespace := "n" + strconv.Itoa(i)
		s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
		var widget *unstructured.Unstructured
		s.eventually("a widget can be made", func() bool {
			obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}}}
			obj.SetOwnerReferences([]metav1.OwnerReference{owned(role)})
			obj.SetLabels(map[string]string{"app": namespace})
			made, err := s.resource(widgets, namespace).Create(s.Context(), obj, metav1.CreateOptions{})
			widget = made
			return err == nil
		})
		s.configMap(namespace, "one", owned(widget))
		s.configMap(namespace, "two", owned(widget))
		s.configMap(namespace, "stranger")
	}
	return role
}

func (s *sandbox) kindNamed(name string) (cluster.Kind, bool) {
	kind, err := s.kinds().Resolve(name)
	return kind, err == nil
}

// lines is a tree as text.
func lines(branches []*ownertree.Branch, indent string) string {
	var out strings.Builder
	for _, b := range branches {
		fmt.Fprintf(&out, "%s%s %s\n%s", indent, b.Node.Kind.Kind, strings.TrimPrefix(b.Node.Namespace+"/"+b.Node.Name, "/"), lines(b.Children, indent+" "))
	}
	return out.String()
}

func TestLoad(t *testing.T) {
	s, w := startRecorded(t)
	s.threeNamespaces()
	kinds := s.kinds()
	widget, _ := s.kindNamed("widget")
	role, _ := s.kindNamed("clusterrole")
	for _, tt := range []struct {
		reason   string
		ref      ownertree.Ref
		down     bool
		want     string
		requests func(path string) bool // those allowed
	}{
		{"a namespaced root reads its namespace, and owners without one by themselves", ownertree.Ref{Kind: widget, Namespace: "n1", Name: "w"}, true, `
ClusterRole top
 Widget n1/w
  ConfigMap n1/one
  ConfigMap n1/two
`, func(path string) bool {
			return strings.Contains(path, "/namespaces/n1/") || strings.HasSuffix(path, "/clusterroles/top")
		}},
		{"owners alone need no list", ownertree.Ref{Kind: widget, Namespace: "n1", Name: "w"}, false, `
ClusterRole top
 Widget n1/w
`, func(path string) bool {
			return strings.HasSuffix(path, "/widgets/w") || strings.HasSuffix(path, "/clusterroles/top")
		}},
		{"what has no namespace may own anything anywhere", ownertree.Ref{Kind: role, Name: "top"}, true, `
ClusterRole top
 Widget n0/w
  ConfigMap n0/one
  ConfigMap n0/two
 Widget n1/w
  ConfigMap n1/one
  ConfigMap n1/two
 Widget n2/w
  ConfigMap n2/one
  ConfigMap n2/two
`, func(path string) bool { return !strings.Contains(path, "/namespaces/") }},
	} {
		w.asked()
		g, nodes := s.load(kinds, ownertree.ScopeOf([]ownertree.Ref{tt.ref}, tt.down), tt.ref)
		got := "\n" + lines(g.Tree(nodes, ownertree.TreeOptions{Up: true, Down: tt.down}), "")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		for _, path := range w.asked() {
			if !tt.requests(path) {
				t.Errorf("%s: asked for %s", tt.reason, path)
			}
		}
	}
}

// TestIncomplete: what may not be read and what does not answer is named, and makes no owner missing.
func TestIncomplete(t *testing.T) {
	s, w := startRecorded(t)
	secret := s.create("default", "{apiVersion: v1, kind: Secret, metadata: {name: owner}}")
	s.configMap("default", "of-a-secret", owned(secret))
	s.configMap("default", "of-no-secret", nowhere("v1", "Secret", "none"))
	s.configMap("default", "of-metrics", nowhere("metrics.k8s.io/v1beta1", "PodMetrics", "none"))
	s.configMap("default", "of-absent", nowhere("v1", "ConfigMap", "none"))
	w.forbid = "secrets"
	g := s.collect(ownertree.Scope{Namespaces: []string{"default"}})
	var missing []string
	for _, i := range g.Incomplete() {
		missing = append(missing, i.Group+" "+i.Resource+" "+i.Namespace+" "+i.Reason)
	}
	if diff := cmp.Diff([]string{" secrets default Forbidden", "metrics.k8s.io   Discovery"}, missing); diff != "" {
		t.Errorf("incomplete (-want +got):\n%s", diff)
	}
	want := map[string]ownertree.Verdict{
		"of-a-secret": ownertree.Unknown, "of-no-secret": ownertree.Unknown, "of-metrics": ownertree.Unknown, "of-absent": ownertree.OwnerMissing,
	}
	kind, _ := s.kindNamed("cm")
	for name, verdict := range want {
		n := g.Find(kind, "default", name)
		fate := g.GCOutcome(n).Action
		if o := n.Owners[0]; o.Verdict != verdict || (fate == ownertree.Deleted) != (verdict == ownertree.OwnerMissing) {
			t.Errorf("%s: %s, %q, to be %s; want %s", name, o.Verdict, o.Detail, fate, verdict)
		}
	}
}

// TestConfirmEndsWithContext: what was not read is read by the next call.
func TestConfirmEndsWithContext(t *testing.T) {
	s, _ := startRecorded(t)
	s.configMap("default", "o", nowhere("v1", "ConfigMap", "none"))
	g, err := ownertree.Collect(t.Context(), s.reader, s.kinds(), ownertree.Scope{Namespaces: []string{"default"}})
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := s.kindNamed("cm")
	n := g.Find(kind, "default", "o")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Confirm(ended, s.reader, g.Nodes()); err == nil || n.Owners[0].Confirmed {
		t.Errorf("confirmed %v although the context has ended: %v", n.Owners[0].Confirmed, err)
	}
	if err := g.Confirm(t.Context(), s.reader, g.Nodes()); err != nil || !n.Owners[0].Dangling() {
		t.Errorf("not confirmed: %v", err)
	}
}

// update is what Watch has called with.
type update struct {
	graph   *ownertree.Graph
	touched ownertree.Touched
}

func watching(t *testing.T, s *sandbox, scope ownertree.Scope) chan update {
	t.Helper()
	kinds := s.kinds()
	updates := make(chan update, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- ownertree.Watch(ctx, s.reader, kinds, scope, func(g *ownertree.Graph, touched ownertree.Touched) error {
			updates <- update{g, touched}
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("watching: %v", err)
		}
	})
	return updates
}

// until takes updates until one is as it should be, and returns it.
func until(t *testing.T, updates chan update, what string, ok func(update) bool) update {
	t.Helper()
	patience := time.After(3 * time.Minute)
	for {
		select {
		case u := <-updates:
			if ok(u) {
				return u
			}
		case <-patience:
			t.Fatalf("no update in which %s", what)
		}
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	s, w := startRecorded(t)
	s.threeNamespaces()
	w.forbid = "secrets"
	cm, _ := s.kindNamed("cm")
	widget, _ := s.kindNamed("widget")
	updates := watching(t, s, ownertree.Scope{Namespaces: []string{"n1"}})
	first := until(t, updates, "everything is listed", func(update) bool { return true })
	top := first.graph.Find(widget, "n1", "w")
	if top == nil || len(top.Dependents) != 2 || first.graph.Find(cm, "n0", "one") != nil {
		t.Fatalf("the first graph has the nodes %v", first.graph.Nodes())
	}
	if !slices.ContainsFunc(first.graph.Incomplete(), func(i cluster.Incomplete) bool { return i.Resource == "secrets" && i.Reason == cluster.ReasonForbidden }) {
		t.Errorf("incomplete: %v", first.graph.Incomplete())
	}
	if err := first.graph.Ascend(t.Context(), s.reader, []*ownertree.Node{top}); err != nil || len(first.graph.Tree([]*ownertree.Node{top}, ownertree.TreeOptions{Up: true})) != 1 {
		t.Errorf("going up from a snapshot: %v", err)
	}
	parent := s.get(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": "n1", "uid": string(top.UID)},
	}})
	for i := range 50 {
		s.configMap("n1", "burst-"+strconv.Itoa(i), owned(parent))
	}
	burst := until(t, updates, "all of a burst is there", func(u update) bool { return len(u.graph.Find(widget, "n1", "w").Dependents) == 52 })
	if child := burst.graph.Find(cm, "n1", "burst-49"); !burst.touched(child) || burst.touched(burst.graph.Find(cm, "n1", "stranger")) {
		t.Errorf("touched: the new one %v, another %v", burst.touched(child), burst.touched(burst.graph.Find(cm, "n1", "stranger")))
	}
	if len(top.Dependents) != 2 {
		t.Error("an earlier graph has changed")
	}
	old := burst.graph.Find(cm, "n1", "one")
	s.delete(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "one", "namespace": "n1"}}}, background)
	gone := until(t, updates, "one is gone", func(u update) bool { return u.graph.Find(cm, "n1", "one") == nil })
	if !gone.touched(old) {
		t.Error("what has gone was not touched")
	}
	w.mu.Lock()
	w.forbid = ""
	w.mu.Unlock()
	until(t, updates, "secrets may be listed", func(u update) bool {
		return !slices.ContainsFunc(u.graph.Incomplete(), func(i cluster.Incomplete) bool { return i.Resource == "secrets" })
	})
}

func TestWatchEnds(t *testing.T) {
	t.Parallel()
	s, _ := startRecorded(t)
	enough := errors.New("enough")
	stop := func(*ownertree.Graph, ownertree.Touched) error { return enough }
	for _, scope := range []ownertree.Scope{{}, {Nothing: true}, {Namespaces: []string{}}} {
		if err := ownertree.Watch(t.Context(), s.reader, s.kinds(), scope, stop); !errors.Is(err, enough) {
			t.Errorf("ended with %v, want the error of the callback", err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ownertree.Watch(ended, s.reader, s.kinds(), ownertree.Scope{}, stop); err != nil {
		t.Errorf("ended with %v, want nothing for a context that has ended", err)
	}
}
