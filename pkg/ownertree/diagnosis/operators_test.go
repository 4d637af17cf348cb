package diagnosis

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// TestOperatorOf: the Deployment that runs a controller is called like who writes the status, or like the kind, if only
// one is.
func TestOperatorOf(t *testing.T) {
	for _, tt := range []struct {
		kind, manager string
		deployments   []string
		want          string
	}{
		{"PostgresCluster", "pg-operator", []string{"web", "pg-operator"}, "pg-operator"},
		{"TidbCluster", "manager", []string{"tidb-controller-manager", "tidb"}, "tidb-controller-manager"},
		{"Report", "", []string{"report-operator", "reporting-operator"}, "report-operator"},
		{"Report", "", []string{"report-operator", "report-controller"}, ""},
		{"Report", "", []string{"report"}, ""},
		{"App", "", []string{"app-operator"}, ""},
		{"App", "operator", []string{"team-a/operator", "team-b/operator"}, "operator"},
		{"App", "operator", []string{"team-a/operator", "team-c/operator"}, ""},
		{"", "", []string{"app-operator"}, ""},
	} {
		n := &ownertree.Node{Kind: &cluster.Kind{}, Namespace: "team-b"}
		n.Kind.Kind = tt.kind
		var all []*metav1.PartialObjectMetadata
		for _, name := range tt.deployments {
			namespace, name, found := strings.Cut(name, "/")
			if !found {
				namespace, name = "", namespace
			}
			all = append(all, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		}
		got := ""
		if d := operatorOf(n, []string{tt.manager}, all); d != nil {
			got = d.Name
		}
		if got != tt.want {
			t.Errorf("%s, written by %q, of %q: %q, want %q", tt.kind, tt.manager, tt.deployments, got, tt.want)
		}
	}
}

// TestNotFound: what is reported not to exist is read from the API's own error, wherever it stands in a message.
func TestNotFound(t *testing.T) {
	for message, want := range map[string][2]string{
		`connect failed: ProviderConfig.aws.upbound.io "default" not found`:             {"ProviderConfig.aws.upbound.io", "default"},
		`secrets "vault-token" not found`:                                               {"secrets", "vault-token"},
		`image "nginx:9" was not found`:                                                 {},
		`Referenced "Issuer" not found: issuer.cert-manager.io "internal-ca" not found`: {"issuer.cert-manager.io", "internal-ca"},
	} {
		var got [2]string
		for _, m := range notFound.FindAllStringSubmatch(message, -1) { // the first may be in other words
			got = [2]string{m[1], m[2]}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}
