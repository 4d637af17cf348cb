package recorder

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// described returns the selections as RESOURCE@NAMESPACE?LABELS?FIELDS.
func described(selections []Selection) map[string]bool {
	out := map[string]bool{}
	for i := range selections {
		s := &selections[i]
		out[s.Kind.GroupResource().String()+"@"+s.Namespace+"?"+s.Labels+"?"+s.Fields] = true
	}
	return out
}

func TestChoose(t *testing.T) {
	config := servers.Server(t, nil).Config()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	createDefinition(t, client)
	var kinds *cluster.Kinds
	waitUntil(t, "the new kind", func() bool {
		if kinds, err = cluster.Discover(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		_, err := kinds.Resolve("widgets.example.com")
		return err == nil
	})
	for _, row := range []struct {
		reason   string
		choice   Choice
		has, not []string
		pods     int // selections of them
	}{
		{"of all namespaces", Choice{}, []string{
			"pods@??", "deployments.apps@??", "secrets@??", "events@??", "nodes@??", "namespaces@??", "widgets.example.com@??",
			"customresourcedefinitions.apiextensions.k8s.io@??", "resourceclaims.resource.k8s.io@??",
		}, []string{"leases.coordination.k8s.io@??", "events.events.k8s.io@??", "roles.rbac.authorization.k8s.io@??"}, 1},
		{"all kinds", Choice{All: true}, []string{"leases.coordination.k8s.io@??", "roles.rbac.authorization.k8s.io@??", "events@??"},
			[]string{"events.events.k8s.io@??", "tokenreviews.authentication.k8s.io@??"}, 1},
		{"more kinds", Choice{Also: []schema.GroupResource{{Group: "coordination.k8s.io", Resource: "leases"}, {Group: "*", Resource: "*"}}},
			[]string{"leases.coordination.k8s.io@??", "pods@??"}, []string{"roles.rbac.authorization.k8s.io@??"}, 1},
		{"two namespaces, by labels and fields", Choice{Namespaces: []string{"a", "b"}, Labels: "l=1", Fields: "f=2"}, []string{
			"pods@a?l=1?f=2", "pods@b?l=1?f=2", "widgets.example.com@a?l=1?f=2", "events@a??", "nodes@??",
			"namespaces@??metadata.name=a", "namespaces@??metadata.name=b",
		}, []string{"pods@??", "namespaces@??", "nodes@??f=2", "events@??"}, 2},
	} {
		got := described(Choose(kinds, row.choice))
		for _, want := range row.has {
			if !got[want] {
				t.Errorf("%s: %s is missing", row.reason, want)
			}
		}
		for _, not := range row.not {
			if got[not] {
				t.Errorf("%s: %s is too much", row.reason, not)
			}
		}
		pods := 0
		for name := range got {
			if strings.HasPrefix(name, "pods@") {
				pods++
			}
		}
		if pods != row.pods {
			t.Errorf("%s: pods are selected %d times", row.reason, pods)
		}
	}
	for resource := range workloadResources() {
		if _, err := kinds.Resolve(resource.String()); err != nil {
			t.Errorf("a name is misspelt: %v", err)
		}
	}
	widget, err := kinds.Resolve("widgets.example.com")
	if err != nil {
		t.Fatal(err)
	}
	definition, ok := DefinitionOf(kinds, &widget)
	want := map[string]bool{"customresourcedefinitions.apiextensions.k8s.io@??" + metav1.ObjectNameField + "=widgets.example.com": true}
	if diff := cmp.Diff(want, described([]Selection{definition})); !ok || diff != "" {
		t.Error(diff)
	}
	pod, err := kinds.Resolve("pods")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := DefinitionOf(kinds, &pod); ok {
		t.Error("pods have a definition")
	}
}
