package seed

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// files returns the objects of YAML documents as those of one file.
func files(t *testing.T, source, documents string) []File {
	t.Helper()
	var out []File
	for text := range strings.SplitSeq(documents, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		out = append(out, File{source, u})
	}
	return out
}

// state is a part of a namespace as it was: a pod whose ReplicaSet and whose node are not there, and custom resources
// with and without a definition.
const state = `apiVersion: v1
kind: Pod
metadata:
  {name: web-1-a, namespace: shop, uid: p1, resourceVersion: "7", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: r1, controller: true}]}
spec: {nodeName: worker, containers: [{name: c, image: i}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata:
  {name: static, namespace: kube-system, uid: p2, resourceVersion: "8", ownerReferences: [{apiVersion: v1, kind: Node, name: control, uid: n1, controller: true}]}
spec: {nodeName: control, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Event
metadata: {name: e, namespace: shop, uid: e1, resourceVersion: "9"}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: mice.example.com, uid: c1, resourceVersion: "3"}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: mice, singular: mouse, kind: Mouse, listKind: MouseList}
  conversion: {strategy: Webhook}
  versions:
  - {name: v1, served: true, storage: true}
  - {name: v1beta1, served: true, storage: false}
---
apiVersion: example.com/v1
kind: Mouse
metadata: {name: m, namespace: shop, uid: m1, resourceVersion: "12"}
---
apiVersion: example.org/v1
kind: Widget
metadata: {name: w, namespace: shop, uid: w1, resourceVersion: "11"}`

func TestFromFiles(t *testing.T) {
	c, err := FromFiles(files(t, "dump.yaml", state), 0)
	if err != nil {
		t.Fatal(err)
	}
	got := keys(c, "pods", "events", "mice", "widgets", "nodes", "customresourcedefinitions")
	want := []string{
		"customresourcedefinitions /mice.example.com", "mice shop/m", "nodes /control", "nodes /worker",
		"pods kube-system/static", "pods shop/web-1-a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"kube-system", "shop"}, c.Namespaces); diff != "" || c.AllNamespaces {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
	if c.ResourceVersion != 12 {
		t.Errorf("resource version %d", c.ResourceVersion)
	}
	var left []string
	for _, l := range c.LeftOut {
		left = append(left, string(l.Reason)+" "+l.Resource+" "+l.Name)
	}
	if diff := cmp.Diff([]string{
		"Conversion mice ", "Nodes nodes ", "Owner replicasets web-1", "Undefined widgets ",
	}, left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if len(c.AbsentOwners) != 1 || c.AbsentOwners[0].Kind.Resource != "replicasets" || c.AbsentOwners[0].Name != "web-1" ||
		c.AbsentOwners[0].Namespace != "shop" {
		t.Errorf("absent owners %v", c.AbsentOwners)
	}
	pod, _ := c.Find(schema.GroupResource{Resource: "pods"}, "shop", "web-1-a")
	if pod.UID != "p1" || !strings.Contains(string(pod.JSON), `"phase":"Running"`) {
		t.Errorf("a pod is not as it was: %s", pod.JSON)
	}
	if node, _ := c.Find(nodes, "", "control"); node.UID != "n1" {
		t.Errorf("the node of a static pod has uid %q: the pod would lose its owner", node.UID)
	}
}

func TestFromFilesErrors(t *testing.T) {
	pod := func(name, uid, version string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: '" + name + "', namespace: shop, uid: u" + uid +
			", resourceVersion: '" + version + "'}"
	}
	for _, tt := range []struct {
		reason string
		files  []string
		limit  int
		want   []string // nil is no error
	}{
		{"the same twice, as kubectl get all,pods prints it", []string{pod("a", "1", "1"), pod("a", "1", "1")}, 0, nil},
		{"two states of one object", []string{pod("a", "1", "1"), pod("a", "1", "2")}, 0,
			[]string{"f.yaml: pod/a is also in f.yaml, and is not the same there"}},
		{"two objects of one uid", []string{pod("a", "1", "1"), pod("b", "1", "1")}, 0,
			[]string{"f.yaml: pod/b has the uid of f.yaml: pod/a"}},
		{"no name", []string{pod("", "1", "1"), pod("a", "2", "1"), pod("a", "3", "1")}, 0,
			[]string{"f.yaml: the pod has no name", "f.yaml: pod/a is also in f.yaml, and is not the same there"}},
		{"more than may be", []string{pod("a", "1", "1"), pod("b", "2", "1")}, 1,
			[]string{"it has more than 1 objects, among those read 2 pods"}},
	} {
		_, err := FromFiles(files(t, "f.yaml", strings.Join(tt.files, "\n---\n")), tt.limit)
		var got []string
		var joined interface{ Unwrap() []error }
		switch {
		case errors.As(err, &joined):
			for _, e := range joined.Unwrap() {
				got = append(got, e.Error())
			}
		case err != nil:
			got = []string{err.Error()}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}
