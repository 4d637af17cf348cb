package fields

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// owned is a Deployment as an applier, a person and controllers leave it.
const owned = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web, tier: front}
  annotations: {example.com/team: shop}
  finalizers: [example.com/backup]
  managedFields:
  - manager: argocd
    operation: Apply
    time: "2026-01-01T10:00:00Z"
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata:
        f:labels: {f:app: {}}
        f:finalizers: {'v:"example.com/backup"': {}}
      f:spec:
        f:selector: {}
        f:template:
          f:spec:
            f:containers:
              k:{"name":"web"}:
                .: {}
                f:name: {}
                f:image: {}
                f:args: {}
                f:ports:
                  k:{"containerPort":80,"protocol":"TCP"}: {.: {}, f:containerPort: {}, f:protocol: {}}
  - manager: kubectl-edit
    operation: Update
    time: "2026-01-01T12:00:00Z"
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata:
        f:annotations: {.: {}, f:example.com/team: {}}
        f:labels: {f:tier: {}}
  - manager: kube-controller-manager
    operation: Update
    subresource: scale
    time: "2026-01-01T11:00:00Z"
    fieldsType: FieldsV1
    fieldsV1: {f:spec: {f:replicas: {}}}
  - manager: flux
    operation: Apply
    fieldsType: FieldsV1
    fieldsV1: {f:spec: {f:replicas: {}}}
  - manager: broken
    operation: Update
    fieldsV1: {f:spec: 3, nonsense: {}, 'k:{': {}, 'v:': {}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    spec:
      schedulerName: default-scheduler
      containers:
      - {name: log, image: log:1}
      - {name: web, image: "nginx:1", args: [a, b], ports: [{containerPort: 80, protocol: TCP}]}
`

func TestOwners(t *testing.T) {
	for _, row := range []struct{ path, reason, value, owners string }{
		{"spec.replicas", "two own it, the last writer first",
			"3", "kube-controller-manager/scale Field [spec.replicas]; flux Field [spec.replicas]"},
		{"{.spec.replicas}", "as JSONPath writes it",
			"3", "kube-controller-manager/scale Field [spec.replicas]; flux Field [spec.replicas]"},
		{"spec.template.spec.containers[name=web].image", "an entry by its key",
			"nginx:1", "argocd Field [spec.template.spec.containers[name=web].image]"},
		{"spec.template.spec.containers[web].image", "an entry by its name alone",
			"nginx:1", "argocd Field [spec.template.spec.containers[web].image]"},
		{"spec.template.spec.containers[1].image", "an entry by its index, though the list has keys",
			"nginx:1", "argocd Field [spec.template.spec.containers[1].image]"},
		{"spec.template.spec.containers[0].image", "no manager owns the other entry", "log:1", ""},
		{"spec.template.spec.containers[name=web].ports[containerPort=80].protocol", "one of two keys is enough",
			"TCP", "argocd Field [spec.template.spec.containers[name=web].ports[containerPort=80].protocol]"},
		{"spec.template.spec.containers[name=web].args[0]", "the list is owned as a whole",
			"a", "argocd Containing [spec.template.spec.containers[name=web].args]"},
		{"spec.selector.matchLabels.app", "a map that is owned as a whole", "web", "argocd Containing [spec.selector]"},
		{"metadata.labels", "each owns a part", `{"app":"web","tier":"front"}`,
			"kubectl-edit Part [metadata.labels.tier]; argocd Part [metadata.labels.app]"},
		{"metadata.annotations[example.com/team]", "a name with dots",
			"shop", "kubectl-edit Field [metadata.annotations[example.com/team]]"},
		{`metadata.annotations["example.com/team"]`, "in quotes",
			"shop", "kubectl-edit Field [metadata.annotations[example.com/team]]"},
		{"metadata.annotations", "the map and what is in it", `{"example.com/team":"shop"}`,
			"kubectl-edit Part [metadata.annotations metadata.annotations[example.com/team]]"},
		{"metadata.finalizers[=example.com/backup]", "an entry by its value",
			"example.com/backup", "argocd Field [metadata.finalizers[=example.com/backup]]"},
		{"metadata.finalizers[0]", "an entry of a set by its index",
			"example.com/backup", "argocd Field [metadata.finalizers[0]]"},
		{"spec.template.spec.schedulerName", "a default", "default-scheduler", ""},
	} {
		t.Run(row.path, func(t *testing.T) {
			obj := fromYAML(t, owned)
			before := obj.DeepCopy()
			path, err := ParsePath(row.path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Owners(obj, path)
			if err != nil {
				t.Fatal(err)
			}
			if text := valueText(got.Value); text != row.value {
				t.Errorf("%s: value %s, want %s", row.reason, text, row.value)
			}
			if text := ownersText(got.Owners); text != row.owners {
				t.Errorf("%s: owners\n%s\nwant\n%s", row.reason, text, row.owners)
			}
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
		})
	}
}

func ownersText(owners []FieldOwner) string {
	out := ""
	for _, o := range owners {
		if out != "" {
			out += "; "
		}
		out += o.Manager
		if o.Subresource != "" {
			out += "/" + o.Subresource
		}
		out += " " + string(o.Owns) + " ["
		for i, f := range o.Fields {
			if i > 0 {
				out += " "
			}
			out += f
		}
		out += "]"
	}
	return out
}

func TestPathErrors(t *testing.T) {
	obj := fromYAML(t, owned)
	for _, row := range []struct{ path, reason, want string }{
		{"spec.replica", "a misspelt field", "spec has no replica; replicas, selector, template"},
		{"spek", "at the top", "the object has no spek; apiVersion, kind, metadata, spec"},
		{"spec.replicas.x", "below a number", "spec.replicas has no x; "},
		{"spec.template.spec.containers[name=db].image", "an entry that is not there",
			"spec.template.spec.containers has no [name=db]; [name=log], [name=web]"},
		{"spec.template.spec.containers[7]", "an index that is not there",
			"spec.template.spec.containers has no [7]; [name=log], [name=web]"},
	} {
		path, err := ParsePath(row.path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Owners(obj, path)
		missing := (*PathError)(nil)
		if !errors.As(err, &missing) {
			t.Errorf("%s: %v", row.reason, err)
			continue
		}
		text := missing.Error() + "; "
		for i, name := range missing.There {
			if i > 0 {
				text += ", "
			}
			text += name
		}
		if text != row.want {
			t.Errorf("%s:\n%s\nwant\n%s", row.reason, text, row.want)
		}
	}
	for _, bad := range []string{"", ".", "a..b", "a[", "a[]", "a]", "a[b]c", "[=", "a[b=c,d]", "a[=x"} {
		if path, err := ParsePath(bad); err == nil {
			t.Errorf("%q is parsed as %q", bad, path)
		}
	}
}

// TestFieldsByManager: every field of a manager is found, and nothing of what cannot be read.
func TestFieldsByManager(t *testing.T) {
	got := ByManager(fromYAML(t, owned))
	if len(got) != 5 {
		t.Fatalf("%d managers", len(got))
	}
	const container = "spec.template.spec.containers[name=web]"
	want := []string{
		"metadata.finalizers[=example.com/backup]", "metadata.labels.app", "spec.selector", container,
		container + ".args", container + ".image", container + ".name",
		container + ".ports[containerPort=80,protocol=TCP]",
		container + ".ports[containerPort=80,protocol=TCP].containerPort",
		container + ".ports[containerPort=80,protocol=TCP].protocol",
	}
	if diff := cmp.Diff(want, got[0].Fields); diff != "" {
		t.Errorf("argocd (-want +got):\n%s", diff)
	}
	if len(got[4].Fields) > 0 {
		t.Errorf("of fields that cannot be read: %q", got[4].Fields)
	}
	byArgo := func(w Writer) bool { return w.Manager == got[0].Manager }
	if only := OfManagers(fromYAML(t, owned), byArgo); len(only) != 1 || only[0].Manager != got[0].Manager {
		t.Errorf("of %s only: %v", got[0].Manager, only)
	}
	if ByManager((*unstructured.Unstructured)(nil)) != nil || ByManager(nil) != nil {
		t.Error("nil has managers")
	}
}

// FuzzOwners: whatever managedFields contain, nothing panics, every path that is listed is parsed again, and there
// are as many members as the library of the API server finds in what it accepts.
func FuzzOwners(f *testing.F) {
	text, err := json.Marshal(fromYAML(f, owned).Object)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text), "spec.replicas")
	f.Add(`{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{"k:{\"b\":1}":{},"v:1":{},"i:0":{}}}}]},"a":[{"b":1}]}`, "a[0].b")
	f.Add(`{"metadata":{"managedFields":[{"fieldsV1":{".":{},"f:":{},"k:":{},"x":{}}}]}}`, "a[b=c,d=e][=1]")
	f.Fuzz(func(t *testing.T, text, path string) {
		var object map[string]any
		if utiljson.Unmarshal([]byte(text), &object) != nil {
			t.Skip("no JSON object")
		}
		obj := &unstructured.Unstructured{Object: object}
		if parsed, err := ParsePath(path); err == nil {
			again, err := ParsePath(parsed.String())
			if err == nil && again.String() != parsed.String() {
				t.Errorf("%q is %q, and that is %q", path, parsed, again)
			}
			if _, err := Owners(obj, parsed); err != nil && !errors.As(err, new(*PathError)) {
				t.Errorf("%T", err)
			}
		}
		Writers(obj)
		LastStatusWriter(obj)
		SpecWriters(obj)
		LastSpecWrite(obj)
		owning := slices.DeleteFunc(managers(obj), func(m manager) bool { return m.fields == nil })
		for i, m := range owning {
			raw, err := json.Marshal(m.fields)
			if err != nil {
				t.Fatal(err)
			}
			fields := ByManager(obj)[i].Fields
			if !slices.IsSorted(fields) {
				t.Errorf("not sorted: %q", fields)
			}
			set := &fieldpath.Set{}
			if set.FromJSON(bytes.NewReader(raw)) == nil && set.Size() < len(fields) {
				t.Errorf("%d members, but %d are listed: %q of %s", set.Size(), len(fields), fields, raw)
			}
		}
	})
}

// TestOwned: what belongs to no manager is left out, also of lists, and atomic fields are whole.
func TestOwned(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{
			"name": "one", "finalizers": []any{"mine", "added"}, "labels": map[string]any{"a": "b", "added": "c"},
			"managedFields": []any{map[string]any{
				"manager": "m", "operation": "Update", "fieldsV1": map[string]any{
					"f:metadata": map[string]any{
						"f:finalizers": map[string]any{".": map[string]any{}, `v:"mine"`: map[string]any{}},
						"f:labels":     map[string]any{"f:a": map[string]any{}},
					},
					"f:spec": map[string]any{
						"f:args": map[string]any{},
						"f:ports": map[string]any{
							`k:{"port":80}`: map[string]any{".": map[string]any{}, "f:port": map[string]any{}},
						},
					},
				},
			}},
		},
		"spec": map[string]any{
			"args":  []any{"x", map[string]any{"y": "z"}},
			"ports": []any{map[string]any{"port": int64(81)}, map[string]any{"port": int64(80), "added": true}},
			"added": "field",
		},
	}}
	want := map[string]any{
		"metadata": map[string]any{"finalizers": []any{"mine"}, "labels": map[string]any{"a": "b"}},
		"spec": map[string]any{
			"args": []any{"x", map[string]any{"y": "z"}}, "ports": []any{map[string]any{"port": int64(80)}},
		},
	}
	if diff := cmp.Diff(want, Owned(obj)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	obj.SetManagedFields(nil)
	if got := Owned(obj); got != nil {
		t.Errorf("without managedFields it is %v, want nil", got)
	}
}

// TestMadeMap: a manager that has made a map whose only key another one owns by now does not own that key.
func TestMadeMap(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"data": map[string]any{"a": "2"},
		"metadata": map[string]any{"managedFields": []any{
			map[string]any{"manager": "kubectl-create", "operation": "Update", "fieldsV1": map[string]any{"f:data": map[string]any{}}},
			map[string]any{"manager": "bob", "operation": "Update", "fieldsV1": map[string]any{"f:data": map[string]any{"f:a": map[string]any{}}}},
		}},
	}}
	path, err := ParsePath("data.a")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Owners(obj, path)
	if err != nil || len(got.Owners) != 1 || got.Owners[0].Manager != "bob" {
		t.Errorf("owned by %+v, %v; want bob", got.Owners, err)
	}
}

// TestConflictsWith: an apply conflicts with all owners but its own manager's applies, whatever else that has written.
func TestConflictsWith(t *testing.T) {
	owner := func(manager, operation, subresource string) FieldOwner {
		return FieldOwner{Writer: Writer{Manager: manager, Operation: operation, Subresource: subresource}}
	}
	own, edited, scaled, other := owner("kubectl", "Apply", ""), owner("kubectl", "Update", ""), owner("kcm", "Update", "scale"), owner("flux", "Apply", "")
	for _, row := range []struct {
		reason, path string
		want         []FieldOwner
	}{
		{"a field of the spec", "spec.replicas", []FieldOwner{edited, scaled, other}},
		{"a status, which an apply does not set", "status.replicas", nil},
		{"all of it", "status", nil},
	} {
		v := Value{Path: row.path, Owners: []FieldOwner{own, edited, scaled, other}}
		if diff := cmp.Diff(row.want, v.ConflictsWith("kubectl")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}
