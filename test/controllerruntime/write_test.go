package controllerruntime

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestServerSideApply: two managers share an object; what one owns, the other changes only by force.
func TestServerSideApply(t *testing.T) {
	t.Parallel()
	c := newClient(t, startProcess(t, apiAlone()...))
	apply := func(manager string, data map[string]string, options ...client.ApplyOption) error {
		config := corev1ac.ConfigMap("shared", namespace).WithData(data)
		return c.Apply(t.Context(), config, append(options, client.FieldOwner(manager))...)
	}
	if err := errors.Join(
		apply("alice", map[string]string{"color": "red", "size": "1"}),
		apply("bob", map[string]string{"shape": "round"}),
	); err != nil {
		t.Fatal(err)
	}
	err := apply("bob", map[string]string{"shape": "round", "color": "blue"})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "alice"`) || !strings.Contains(err.Error(), ".data.color") {
		t.Errorf("applying alice's field as bob: %v, want a conflict that names alice and .data.color", err)
	}
	if err := errors.Join(
		apply("bob", map[string]string{"shape": "round", "color": "blue"}, client.ForceOwnership),
		apply("alice", map[string]string{}), // gives up size; color is bob's by now
	); err != nil {
		t.Fatal(err)
	}
	shared := newContent("shared")
	get(t, c, shared)
	if diff := cmp.Diff(map[string]string{"shape": "round", "color": "blue"}, shared.Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	before := shared.ResourceVersion
	if err := apply("bob", map[string]string{"shape": "round", "color": "blue"}); err != nil {
		t.Fatal(err)
	}
	if get(t, c, shared); shared.ResourceVersion != before {
		t.Error("applying what is there already has written the object")
	}
}

// TestOptimisticLock: a write that is based on an old version is refused, by update, by patch and by delete.
func TestOptimisticLock(t *testing.T) {
	t.Parallel()
	c := newClient(t, startProcess(t, apiAlone()...))
	current := newContent("files")
	create(t, c, current)
	old := current.DeepCopy()
	current.Data["index.html"] = "changed"
	if err := c.Update(t.Context(), current); err != nil {
		t.Fatal(err)
	}
	stale := old.DeepCopy()
	stale.Data["index.html"] = "lost"
	tests := []struct {
		reason string
		write  func() error
	}{
		{"an update carries the version", func() error { return c.Update(t.Context(), stale.DeepCopy()) }},
		{"a patch carries it on demand", func() error {
			return c.Patch(t.Context(), stale.DeepCopy(), client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}))
		}},
		{"a deletion has it as a precondition", func() error {
			return c.Delete(t.Context(), old.DeepCopy(), client.Preconditions{ResourceVersion: &old.ResourceVersion})
		}},
		{"another object of the same name had another uid", func() error {
			return c.Delete(t.Context(), old.DeepCopy(), client.Preconditions{UID: new(types.UID("another"))})
		}},
	}
	for _, test := range tests {
		if err := test.write(); !apierrors.IsConflict(err) {
			t.Errorf("%s: the error is %v, want a conflict", test.reason, err)
		}
	}
	if get(t, c, current); current.Data["index.html"] != "changed" {
		t.Errorf("a refused write has left %q", current.Data["index.html"])
	}
}

// TestPatchTypes: every kind of patch does what its standard says.
func TestPatchTypes(t *testing.T) {
	t.Parallel()
	c := newClient(t, startSandbox(t, apiAlone()...))
	labels := map[string]string{"app": "web"}
	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "nginx"}}},
			},
		},
	}
	site := newSite("blog")
	create(t, c, web, site)
	const sidecar = `{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"busybox"}]}}}}`
	tests := []struct {
		reason     string
		patch      client.Patch
		containers []string
	}{
		{"a strategic merge patch merges containers by name", client.RawPatch(types.StrategicMergePatchType, []byte(sidecar)), []string{"sidecar", "server"}},
		{"a merge patch replaces lists", client.RawPatch(types.MergePatchType, []byte(sidecar)), []string{"sidecar"}},
		{"a JSON patch adds at a place", client.RawPatch(types.JSONPatchType,
			[]byte(`[{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"last","image":"busybox"}}]`)), []string{"sidecar", "last"}},
	}
	for _, test := range tests {
		if err := c.Patch(t.Context(), web, test.patch); err != nil {
			t.Errorf("%s: %v", test.reason, err)
		}
		var containers []string
		for _, container := range web.Spec.Template.Spec.Containers {
			containers = append(containers, container.Name)
		}
		if diff := cmp.Diff(test.containers, containers); diff != "" {
			t.Errorf("%s: containers (-want +got):\n%s", test.reason, diff)
		}
	}

	failing := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"test","path":"/spec/host","value":"other"}]`))
	if err := c.Patch(t.Context(), site.DeepCopy(), failing); !apierrors.IsInvalid(err) {
		t.Errorf("a JSON patch whose test fails: %v, want Invalid", err)
	}
	strategic := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"tier":"production"}}`))
	if err := c.Patch(t.Context(), site.DeepCopy(), strategic); !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("a strategic merge patch of a custom resource: %v, want UnsupportedMediaType", err)
	}
}

// TestGenerateName: the server makes names, and they differ.
func TestGenerateName(t *testing.T) {
	t.Parallel()
	c := newClient(t, startProcess(t, apiAlone()...))
	var names []string
	for range 3 {
		content := newContent("")
		content.GenerateName = "files-"
		create(t, c, content)
		if !strings.HasPrefix(content.Name, "files-") || slices.Contains(names, content.Name) {
			t.Errorf("the generated name is %q, after %q", content.Name, names)
		}
		names = append(names, content.Name)
	}
	if err := c.Create(t.Context(), newContent(names[0])); !apierrors.IsAlreadyExists(err) {
		t.Errorf("creating %q again: %v, want AlreadyExists", names[0], err)
	}
}

// TestDryRun: a dry run answers as the server would, and keeps nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	c := newClient(t, startProcess(t, apiAlone()...))
	content := newContent("files")
	if err := client.NewDryRunClient(c).Create(t.Context(), content); err != nil {
		t.Fatal(err)
	}
	if content.UID == "" {
		t.Error("the answer to a dry run has no uid, which the server gives")
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(content), content); !apierrors.IsNotFound(err) {
		t.Errorf("reading what a dry run has created: %v, want NotFound", err)
	}
}
