package seed

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// gadgets is a kind that clients prefer in another version than it is stored in.
const gadgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: example.com/v1
kind: Gadget
metadata: {name: g, namespace: shop}`

func TestStoredVersion(t *testing.T) {
	config := servers.Server(t, nil).Config()
	create(t, config, shop+"\n---\n"+gadgets)
	resource := schema.GroupResource{Group: "example.com", Resource: "gadgets"}
	for _, o := range []Options{{Namespaces: []string{"shop"}}, {AllNamespaces: true}} {
		c := mustRead(t, config, o)
		gadget, ok := c.Find(resource, "shop", "g")
		if !ok {
			t.Fatal("the custom resource was not read")
		}
		if gadget.Kind.Version != "v1alpha1" || !strings.Contains(string(gadget.JSON), `"example.com/v1alpha1"`) {
			t.Errorf("it was read as %s", gadget.JSON)
		}
		definition, _ := c.Find(definitions, "", resource.String())
		if !strings.Contains(string(definition.JSON), `"name":"v1"`) {
			t.Errorf("a definition that needs no webhook lost a version: %s", definition.JSON)
		}
	}
}

// TestDefinitionsByName copies the definition of a kind that has no objects.
func TestDefinitionsByName(t *testing.T) {
	config := servers.Server(t, nil).Config()
	create(t, config, shop)
	unused := schema.GroupKind{Group: "example.com", Kind: "Unused"}
	c := mustRead(t, config, Options{Namespaces: []string{"shop"}, Definitions: []schema.GroupKind{unused}})
	if _, ok := c.Find(definitions, "", "unused.example.com"); !ok {
		t.Error("the definition that was asked for is not there")
	}
}

func TestWithSingleVersion(t *testing.T) {
	for _, tt := range []struct{ reason, definition, version, want string }{
		{"others are removed, and what is left is served and stored",
			`{"spec":{"versions":[{"name":"a","storage":true},{"name":"b"}]},"status":{"storedVersions":["a"]}}`, "b",
			`{"spec":{"conversion":{"strategy":"None"},"versions":[{"name":"b","served":true,"storage":true}]},` +
				`"status":{"storedVersions":["b"]}}`},
		{"a version that is not there", `{"spec":{"versions":[{"name":"a"}]}}`, "b", ""},
		{"no versions", `{"spec":{}}`, "b", ""},
		{"no object", `[]`, "b", ""},
	} {
		got, err := withSingleVersion(json.RawMessage(tt.definition), tt.version)
		if string(got) != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%s: %s, %v, want %s", tt.reason, got, err, tt.want)
		}
	}
}
