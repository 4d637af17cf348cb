package fields

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestCompletePath(t *testing.T) {
	read := func(text string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	web := read(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  finalizers: [example.com/a]
  labels: {app: web, app.kubernetes.io/name: web}
  annotations: {example.com/team: a, example.com/owner: b}
  managedFields: [{manager: x}]
spec:
  replicas: 3
  selector: {}
  template:
    spec:
      containers:
      - {name: web, image: nginx, env: [{name: "7", value: x}], ports: [{containerPort: 80}]}
      - {name: sidecar, image: envoy}
status:
  conditions: [{type: Ready, status: "True"}]
`)
	for _, tt := range []struct {
		text   string
		want   []string
		reason string
	}{
		{"", []string{"metadata.", "spec.", "status."}, "the first level, without what every object has"},
		{"spec.", []string{"spec.replicas", "spec.selector", "spec.template."}, "a map that is empty has no fields"},
		{"spec.re", []string{"spec.replicas"}, "the beginning of a field"},
		{"spec.replicas", []string{"spec.replicas"}, "a whole path"},
		{"spec.replicas.", nil, "below a number"},
		{"metadata.", []string{"metadata.annotations[", "metadata.finalizers", "metadata.labels", "metadata.name"},
			"what is below must have brackets, may have some, or is no map; managedFields are left out"},
		{"metadata.labels.", []string{"metadata.labels.app"}, "of those that may have brackets, the ones without"},
		{"metadata.annotations[example.com/t", []string{"metadata.annotations[example.com/team]"}, "a dot in brackets is none of the path"},
		{"spec.template.spec.", []string{"spec.template.spec.containers["}, "a list"},
		{"spec.template.spec.containers[", []string{"spec.template.spec.containers[sidecar].", "spec.template.spec.containers[web]."}, "its entries, by name"},
		{"spec.template.spec.containers[name=w", nil, "the form that is not offered"},
		{"spec.template.spec.containers[name=web].i", []string{"spec.template.spec.containers[name=web].image"}, "below the form that is not offered"},
		{"spec.template.spec.containers[web].env[", []string{"spec.template.spec.containers[web].env[name=7]."}, "a name that is a number would be an index"},
		{"spec.template.spec.containers[web].ports[", []string{"spec.template.spec.containers[web].ports[containerPort=80]."}, "another key"},
		{"status.conditions[", []string{"status.conditions[type=Ready]."}, "a condition"},
		{"spec.none.", nil, "a field that there is not"},
		{"spec[", nil, "a map has no entries"},
		{"[", nil, "no path"},
	} {
		got := CompletePath(tt.text, web)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: %s (-want +got):\n%s", tt.text, tt.reason, diff)
		}
		for _, path := range got {
			if path[len(path)-1] == '.' || path[len(path)-1] == '[' {
				path = path[:len(path)-1]
			}
			if parsed, err := ParsePath(path); err != nil {
				t.Errorf("%s: %v", path, err)
			} else if _, err := Owners(web, parsed); err != nil {
				t.Errorf("%s is offered: %v", path, err)
			}
		}
	}
	other := read("spec: {replicas: {}, paused: true}\n")
	if diff := cmp.Diff([]string{"spec.paused", "spec.replicas", "spec.selector", "spec.template."}, CompletePath("spec.", web, other, nil)); diff != "" {
		t.Errorf("of several objects (-want +got):\n%s", diff)
	}
}
