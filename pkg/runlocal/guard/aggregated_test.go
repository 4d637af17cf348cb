package guard

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// registry answers in a server's place who answers for the group of widgets.
type registry struct {
	next   http.RoundTripper
	answer *atomic.Pointer[string] // nil is the server's own; empty refuses
}

func (r registry) RoundTrip(req *http.Request) (*http.Response, error) {
	answer := r.answer.Load()
	switch {
	case answer == nil || !strings.HasSuffix(req.URL.Path, "/apiservices/v1.example.com"):
		return r.next.RoundTrip(req)
	case *answer == "":
		return refusal(req, http.StatusForbidden, "apiservices are forbidden"), nil
	}
	return newResponse(req, http.StatusOK, runtime.ContentTypeJSON, []byte(*answer)), nil
}

// TestAggregatedAPIsAreNotTrusted: what another server promises of dry runs is used with Options.Aggregated only, and
// who answers for a group may change.
func TestAggregatedAPIsAreNotTrusted(t *testing.T) {
	g := newGuarded(t, Server)
	var answer atomic.Pointer[string]
	config := rest.CopyConfig(g.wired)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return registry{next, &answer} })
	jsonConfig := rest.CopyConfig(g.wired)
	jsonConfig.ContentType = runtime.ContentTypeJSON
	_, err := apiextensions.NewForConfigOrDie(jsonConfig).ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget",
				ListKind: "WidgetList", Singular: "widget"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const widgets = "/apis/example.com/v1/namespaces/default/widgets"
	body := []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}}`)
	// The guard reads the document of a group again after five seconds at the latest.
	deadline := time.Now().Add(2 * time.Minute)
	for {
		g.config = DryRun(config, Options{})
		if code, _ := g.do(t, http.MethodPost, widgets, asJSON, body); code == http.StatusCreated && !g.answered {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a dry run of a custom resource is not sent to the server")
		}
	}
	g.writes()

	const local = `{"spec":{"group":"example.com","version":"v1"}}`
	const other = `{"spec":{"group":"example.com","version":"v1","service":{"namespace":"default","name":"extension"}}}`
	g.config = DryRun(config, Options{})
	trusting := DryRun(config, Options{Aggregated: true})
	for _, row := range []struct {
		reason string
		answer string
		config *rest.Config
		sent   bool
	}{
		{"custom resources are kube-apiserver's own", local, g.config, true},
		{"another server has taken the group since", other, g.config, false},
		{"it is trusted", other, trusting, true},
		{"who answers may not be asked", "", g.config, false},
		{"an answer that makes no sense", `{"spec":7}`, g.config, false},
		{"custom resources again", local, g.config, true},
	} {
		answer.Store(&row.answer)
		g.config = row.config
		code, _ := g.do(t, http.MethodPost, widgets, asJSON, body)
		writes := g.writes()
		if code != http.StatusCreated || g.answered == row.sent || (len(writes) == 1) != row.sent {
			t.Errorf("%s: answered %d, here: %t; %d writes were sent, want sent: %t", row.reason, code, g.answered,
				len(writes), row.sent)
		}
	}
}
