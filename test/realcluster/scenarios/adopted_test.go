package scenarios

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// adopting is an observer of two scenarios that have made something elsewhere.
func adopting() *observer {
	o := &observer{spaces: map[string]*space{}}
	o.adopt("roles", place{schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}, "", "roles-a"})
	o.adopt("tokens", place{schema.GroupResource{Resource: "secrets"}, "kube-system", "token"})
	o.adopt("ends", place{namespaces, "", "ends-doomed"})
	return o
}

func TestHome(t *testing.T) {
	o := adopting()
	roles, secrets, volumes := schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
		schema.GroupResource{Resource: "secrets"}, schema.GroupResource{Resource: "persistentvolumes"}
	for _, tt := range []struct {
		resource                     schema.GroupResource
		metadata, spec, want, reason string
	}{
		{roles, `{"name": "roles-a"}`, `{}`, "roles", "the scenario has made it"},
		{roles, `{"name": "roles-b"}`, `{}`, "", "somebody else has"},
		{secrets, `{"name": "token", "namespace": "kube-system"}`, `{}`, "tokens", "the scenario has made it in another namespace"},
		{secrets, `{"name": "other", "namespace": "kube-system"}`, `{}`, "kube-system", "another one there"},
		{secrets, `{"name": "token", "namespace": "default"}`, `{}`, "default", "another one of that name"},
		{namespaces, `{"name": "ends-doomed"}`, `{}`, "ends", "a namespace that the scenario has made"},
		{secrets, `{"name": "any", "namespace": "ends-doomed"}`, `{}`, "ends", "whatever is in it"},
		{namespaces, `{"name": "ends"}`, `{}`, "", "the scenario's own namespace is not in itself"},
		{volumes, `{"name": "pvc-1"}`, `{"claimRef": {"namespace": "claims", "name": "c"}}`, "claims", "a volume counts with its claim"},
		{volumes, `{"name": "pvc-2"}`, `{"claimRef": {"namespace": "ends-doomed", "name": "c"}}`, "ends", "wherever that is"},
		{volumes, `{"name": "pvc-3"}`, `{}`, "", "a volume without a claim"},
	} {
		object := parsed(t, `{"apiVersion": "v1", "kind": "K", "metadata": `+tt.metadata+`, "spec": `+tt.spec+`}`)
		if got := o.adopted.home(tt.resource, object); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}

func TestAdoptedObjectsCome(t *testing.T) {
	o := adopting()
	volumes := schema.GroupResource{Resource: "persistentvolumes"}
	free := `{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v", "uid": "u"}, "spec": {}}`
	bound := `{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v", "uid": "u"}, "spec": {"claimRef": {"namespace": "claims"}}}`
	o.saw(volumes, parsed(t, free))
	o.saw(volumes, parsed(t, bound))
	if there, here := len(o.space("").objects), len(o.space("claims").objects); there != 0 || here != 1 {
		t.Errorf("a volume that is bound: %d are without a claim, %d of the claim's", there, here)
	}
	o.ticks = 7
	o.lost(volumes, parsed(t, bound))
	if s := o.space("claims"); len(s.objects) != 0 || len(s.gone) != 1 || s.changed != 7 {
		t.Errorf("a volume that is gone: %+v", s)
	}
}

func TestWritesElsewhere(t *testing.T) {
	o := adopting()
	secrets := schema.GroupResource{Resource: "secrets"}
	logged := map[string][]Write{
		"tokens":      {{Resource: secrets, Namespace: "tokens", Name: "own"}},
		"kube-system": {{Resource: secrets, Namespace: "kube-system", Name: "token"}, {Resource: secrets, Namespace: "kube-system", Name: "other"}},
		"ends-doomed": {{Resource: secrets, Namespace: "ends-doomed", Verb: "deletecollection"}},
		"":            {{Resource: namespaces, Name: "ends-doomed"}, {Resource: namespaces, Name: "other"}},
	}
	for _, tt := range []struct {
		scenario string
		want     []string // resource, namespace and name
		reason   string
	}{
		{"tokens", []string{"secrets kube-system token", "secrets tokens own"}, "its own, and those to what it has made"},
		{"ends", []string{"namespaces  ends-doomed", "secrets ends-doomed "}, "those to its namespace, and to all in it"},
		{"others", nil, "none"},
	} {
		p := &play{
			Side:     &Side{observer: o, writes: func(namespace string) ([]Write, error) { return slices.Clone(logged[namespace]), nil }},
			scenario: &Scenario{Name: tt.scenario},
		}
		writes, err := p.written()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range writes {
			got = append(got, w.Resource.String()+" "+w.Namespace+" "+w.Name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}
