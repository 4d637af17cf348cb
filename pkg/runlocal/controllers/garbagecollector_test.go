package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// collecting runs the garbage collector, and the controllers named, in a session that records.
func collecting(t *testing.T, others ...string) *session {
	t.Helper()
	s := recordedSession(t)
	s.run(t, 0, append(others, "garbagecollector")...)
	return s
}

// configMap creates a ConfigMap with these owners.
func (s *session) configMap(t *testing.T, namespace, name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	t.Helper()
	made, err := s.client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// ownedBy refers to a ConfigMap.
func ownedBy(owner *corev1.ConfigMap, blocks bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID,
		BlockOwnerDeletion: &blocks}
}

// configMaps are the names of those that the test has made, and what they wait for.
func (s *session) configMaps(t *testing.T, namespace string) []string {
	t.Helper()
	list, err := s.client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range list.Items {
		m := &list.Items[i]
		if m.Namespace != "kube-system" && m.Name != "kube-root-ca.crt" {
			out = append(out, strings.TrimSpace(m.Name+" "+strings.Join(m.Finalizers, ",")))
		}
	}
	return out
}

// expectConfigMaps waits until the ConfigMaps are those.
func (s *session) expectConfigMaps(t *testing.T, namespace string, want ...string) {
	t.Helper()
	var got []string
	eventually(t, "the ConfigMaps "+strings.Join(want, ", "), func() bool {
		got = s.configMaps(t, namespace)
		return slices.Equal(got, want)
	})
}

// delete deletes a ConfigMap.
func (s *session) delete(t *testing.T, m *corev1.ConfigMap, policy metav1.DeletionPropagation) {
	t.Helper()
	if err := s.client.CoreV1().ConfigMaps(m.Namespace).Delete(t.Context(), m.Name,
		metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
}

// collectorWrites are the collector's, as "verb resource/name by KEY".
func (s *session) collectorWrites() []string {
	var out []string
	for _, e := range s.log.list() {
		r, ok := e.Detail.(*trace.Request)
		if !ok || e.Controller != "garbagecollector" || !r.IsWrite() || r.Recorded != nil || r.Failed() {
			continue
		}
		text := r.Verb + " " + r.Resource + "/" + r.Name + " by " + e.Key
		if e.Reconcile == 0 {
			text += ", no reconcile"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestCascades(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		policy metav1.DeletionPropagation
		left   string // what of the Deployment's dependents is left, and owned by what
		writes []string
	}{
		{metav1.DeletePropagationBackground, "", []string{
			"delete pods/POD by pods default/POD", "delete replicasets/RS by replicasets.apps default/RS",
		}},
		{metav1.DeletePropagationForeground, "", []string{
			"delete pods/POD by pods default/POD", "delete replicasets/RS by replicasets.apps default/RS",
			"patch deployments/web by deployments.apps default/web", "patch replicasets/RS by replicasets.apps default/RS",
		}},
		{metav1.DeletePropagationOrphan, "RS owned by none, POD owned by RS", []string{
			"patch deployments/web by deployments.apps default/web", "patch replicasets/RS by deployments.apps default/web",
		}},
	} {
		t.Run(string(test.policy), func(t *testing.T) {
			t.Parallel()
			s := collecting(t, "deployment", "replicaset")
			if _, err := s.client.AppsV1().Deployments("default").Create(t.Context(), deploymentOf("web", 1),
				metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			// The answer that the pod's maker has may be recorded before that of the ReplicaSet's.
			eventually(t, "a ReplicaSet and a pod", func() bool {
				return len(s.requests("create", "replicasets")) == 1 && len(s.requests("create", "pods")) == 1
			})
			names := strings.NewReplacer(
				s.requests("create", "pods")[0].Detail.(*trace.Request).Name, "POD",
				s.requests("create", "replicasets")[0].Detail.(*trace.Request).Name, "RS",
			)
			s.settle(t)
			if err := s.client.AppsV1().Deployments("default").Delete(t.Context(), "web",
				metav1.DeleteOptions{PropagationPolicy: &test.policy}); err != nil {
				t.Fatal(err)
			}
			s.settle(t)
			if got := names.Replace(s.ownersText(t)); got != test.left {
				t.Errorf("left is %q, want %q", got, test.left)
			}
			var writes []string
			for _, w := range s.collectorWrites() {
				writes = append(writes, names.Replace(w))
			}
			if diff := cmp.Diff(test.writes, writes); diff != "" {
				t.Errorf("the collector's writes (-want +got):\n%s", diff)
			}
		})
	}
}

// ownersText lists Deployments, ReplicaSets and pods with their owners.
func (s *session) ownersText(t *testing.T) string {
	t.Helper()
	var out []string
	add := func(m *metav1.ObjectMeta) {
		owner := "none"
		if len(m.OwnerReferences) > 0 {
			owner = m.OwnerReferences[0].Name
		}
		out = append(out, m.Name+" owned by "+owner)
	}
	deployments, err := s.client.AppsV1().Deployments("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range deployments.Items {
		add(&deployments.Items[i].ObjectMeta)
	}
	sets, err := s.client.AppsV1().ReplicaSets("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range sets.Items {
		add(&sets.Items[i].ObjectMeta)
	}
	pods, err := s.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		add(&pods.Items[i].ObjectMeta)
	}
	return strings.Join(out, ", ")
}

func TestForegroundWaitsForWhatBlocks(t *testing.T) {
	t.Parallel()
	s := collecting(t)
	owner := s.configMap(t, "default", "owner")
	for _, blocks := range []bool{true, false} {
		name := map[bool]string{true: "a-blocks", false: "b-does-not"}[blocks]
		dependent := s.configMap(t, "default", name, ownedBy(owner, blocks))
		patch := []byte(`{"metadata":{"finalizers":["example.com/stay"]}}`)
		if _, err := s.client.CoreV1().ConfigMaps("default").Patch(t.Context(), dependent.Name, types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.settle(t)
	s.delete(t, owner, metav1.DeletePropagationForeground)
	s.expectConfigMaps(t, "default", "a-blocks example.com/stay", "b-does-not example.com/stay",
		"owner foregroundDeletion")
	s.settle(t)
	if _, err := s.client.CoreV1().ConfigMaps("default").Patch(t.Context(), "a-blocks", types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.expectConfigMaps(t, "default", "b-does-not example.com/stay")
}

func TestDependentOfAbsentOwnerIsCollected(t *testing.T) {
	t.Parallel()
	s := collecting(t)
	absent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "never", UID: "11111111-2222-3333-4444-555555555555"}}
	s.configMap(t, "default", "dependent", ownedBy(absent, false))
	s.expectConfigMaps(t, "default")
	s.settle(t)
	if diff := cmp.Diff([]string{"delete configmaps/dependent by configmaps default/dependent"},
		s.collectorWrites()); diff != "" {
		t.Errorf("the collector's writes (-want +got):\n%s", diff)
	}
	for _, e := range s.log.list() {
		if start, ok := e.Detail.(*trace.Start); ok && e.Controller == "garbagecollector" && len(start.Causes) == 0 {
			t.Errorf("reconcile %d of %s has no cause", e.Reconcile, e.Key)
		}
	}
}

func TestSolidOwnerKeepsAndDanglingReferencesGo(t *testing.T) {
	t.Parallel()
	s := collecting(t)
	first, second := s.configMap(t, "default", "first"), s.configMap(t, "default", "second")
	s.configMap(t, "default", "dependent", ownedBy(first, false), ownedBy(second, false))
	s.settle(t)
	s.delete(t, first, metav1.DeletePropagationBackground)
	var owners []string
	eventually(t, "one owner", func() bool {
		m, err := s.client.CoreV1().ConfigMaps("default").Get(t.Context(), "dependent", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		owners = nil
		for _, o := range m.OwnerReferences {
			owners = append(owners, o.Name)
		}
		return slices.Equal(owners, []string{"second"})
	})
}

func TestOwnerInAnotherNamespaceCountsAsAbsent(t *testing.T) {
	t.Parallel()
	s := collecting(t)
	if _, err := s.client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	owner := s.configMap(t, "default", "owner")
	s.settle(t)
	s.configMap(t, "other", "dependent", ownedBy(owner, false))
	s.expectConfigMaps(t, "other")
	s.expectConfigMaps(t, "default", "owner")
	var recorded *trace.RecordedEvent
	eventually(t, "an Event", func() bool {
		for _, e := range s.requests("create", "events") {
			recorded = e.Detail.(*trace.Request).Recorded
		}
		return recorded != nil
	})
	if recorded.Reason != "OwnerRefInvalidNamespace" || recorded.Regarding.Namespace != "other" ||
		recorded.Regarding.Name != "dependent" {
		t.Errorf("the Event is %+v", recorded)
	}
}

func TestCycleIsCollected(t *testing.T) {
	t.Parallel()
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground,
		metav1.DeletePropagationForeground} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := collecting(t)
			a := s.configMap(t, "default", "a")
			b := s.configMap(t, "default", "b", ownedBy(a, true))
			a.OwnerReferences = []metav1.OwnerReference{ownedBy(b, true)}
			if _, err := s.client.CoreV1().ConfigMaps("default").Update(t.Context(), a, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			s.settle(t)
			s.delete(t, a, policy)
			s.expectConfigMaps(t, "default")
		})
	}
}

func TestOwnerOfUnknownKindKeepsItsDependent(t *testing.T) {
	t.Parallel()
	s := collecting(t)
	owner := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Widget", Name: "w",
		UID: "11111111-2222-3333-4444-555555555555"}
	s.configMap(t, "default", "dependent", owner)
	var failed *trace.Event
	eventually(t, "a failure", func() bool {
		for _, e := range s.log.list() {
			if end, ok := e.Detail.(*trace.End); ok && end.Outcome == trace.Failed {
				failed = e
			}
		}
		return failed != nil
	})
	end := failed.Detail.(*trace.End)
	if failed.Key != "widget.example.com default/w" || !strings.Contains(end.Error, "Widget") || end.Next == nil {
		t.Errorf("%s failed with %+v", failed.Key, end)
	}
	if got := s.configMaps(t, "default"); !slices.Equal(got, []string{"dependent"}) {
		t.Errorf("left are %v", got)
	}
}

func TestCollectorStartsAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	stop := s.start(t, 0, "garbagecollector")
	stop() // goleak sees what it leaves
	broken := deploymentController()
	broken.build = func(context.Context, environment) (runFunc, error) { return nil, errors.New("its queue has moved") }
	if err := startAt(t.Context(), t, []Controller{garbageCollector(), broken}); err == nil {
		t.Error("a controller after it cannot be built, and there is no error")
	}
}

// widgets is a CRD.
func widgets() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget", ListKind: "WidgetList",
				Singular: "widget"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
}

func TestCustomResourcesOfNewKindsAreCollected(t *testing.T) {
	t.Parallel()
	s := ownSession(t)
	s.run(t, 0, "garbagecollector")
	crds := apiextensions.NewForConfigOrDie(jsonConfig(s.config)).ApiextensionsV1().CustomResourceDefinitions()
	resource := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	client := dynamic.NewForConfigOrDie(jsonConfig(s.config)).Resource(resource).Namespace("default")
	for range 2 { // the second time, the kind is served again
		if _, err := crds.Create(t.Context(), widgets(), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		owner := s.configMap(t, "default", "owner")
		reference := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": owner.Name, "uid": string(owner.UID)}
		widget := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"name": "w", "ownerReferences": []any{reference}},
		}}
		var made *unstructured.Unstructured
		eventually(t, "the kind to be served", func() bool {
			var err error
			made, err = client.Create(t.Context(), widget, metav1.CreateOptions{})
			return err == nil
		})
		child := s.configMap(t, "default", "child",
			metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Widget", Name: "w", UID: made.GetUID()})
		eventually(t, "the collector to watch it", func() bool { return s.tap.State().Handled[resource.GroupResource()] > 0 })
		s.settle(t)
		s.delete(t, owner, metav1.DeletePropagationBackground)
		eventually(t, "the widget's end", func() bool {
			_, err := client.Get(t.Context(), "w", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
		s.expectConfigMaps(t, "default")
		s.settle(t) // a write is recorded when it is answered
		if want := "delete widgets/w by widgets.example.com default/w"; !slices.Contains(s.collectorWrites(), want) {
			t.Errorf("the collector wrote %v, not %q, and not %s", s.collectorWrites(), want, child.Name)
		}
		if err := crds.Delete(t.Context(), widgets().Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "no informer to watch the kind", func() bool {
			_, watched := s.tap.State().Handled[resource.GroupResource()]
			return !watched
		})
	}
	s.settle(t)
}

// dumped is a node as upstream's errors dump it.
type dumped struct {
	identity any
	owners   []metav1.OwnerReference
}

func TestErrorsWithoutNodes(t *testing.T) {
	dump := fmt.Sprintf("&garbagecollector.node%s",
		fmt.Sprintf("%#v", dumped{identity("v1", "Pod", "default", "a"),
			[]metav1.OwnerReference{{Name: "x"}}})[len("controllers.dumped"):])
	reason := errors.New("it has moved")
	for _, test := range []struct{ reason, text, want string }{
		{"the dump goes", fmt.Sprintf("error syncing item %s: %v", dump, reason), "error syncing item: it has moved"},
		{"every dump goes", fmt.Sprintf("%v of %s and of %s: no", reason, dump, dump), "it has moved of and of: no"},
		{"a dump that was cut off", "error syncing item &garbagecollector.node{identity:", "error syncing item"},
		{"another error stays", "it {has} moved", "it {has} moved"},
	} {
		if got := stripNodeDumps(test.text); got != test.want {
			t.Errorf("%s: got %q, want %q", test.reason, got, test.want)
		}
	}
}
