package plans

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/scenarios"
)

// line is a line of an audit log: a request of a user, received that many seconds after the beginning, to a pod called
// web in the namespace shop.
func line(seconds, user, verb, subresource, answer string) string {
	return `{"verb":"` + verb + `","user":{"username":"` + user + `"},"requestURI":"/api/v1/namespaces/shop/pods/web",` +
		`"objectRef":{"resource":"pods","namespace":"shop","name":"web","subresource":"` + subresource + `"},` +
		`"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:0` + seconds + `.5Z",` +
		`"responseObject":` + answer + `}`
}

func TestAudit(t *testing.T) {
	const account = "system:serviceaccount:kube-system:replicaset-controller"
	pod := func(version string) string {
		return `{"kind":"Pod","metadata":{"uid":"u","resourceVersion":"` + version + `"}}`
	}
	const deleting = `{"kind":"Pod",` +
		`"metadata":{"uid":"u","resourceVersion":"14","deletionTimestamp":"2026-01-01T00:00:05Z"}}`
	const status = `{"kind":"Status","metadata":{}}`
	path := filepath.Join(t.TempDir(), "audit.log")
	log := []string{
		line("0", "before", "create", "binding", status),
		line("3", "no-op", "patch", "", pod("11")),
		line("1", account, "create", "", pod("11")),
		line("2", "scheduler", "create", "binding", status),
		strings.Replace(line("4", "tried", "patch", "", pod("13")), `pods/web"`, `pods/web?dryRun=All"`, 1),
		line("4", "kwok", "patch", "status", pod("13")),
		line("4", "collector", "deletecollection", "", `{"kind":"PodList","metadata":{"resourceVersion":"14"}}`),
		line("5", account, "delete", "", deleting),
	}
	if err := os.WriteFile(path, []byte(strings.Join(log, "\n")+"\n{\"unfinished"), 0o600); err != nil {
		t.Fatal(err)
	}
	audit := NewAudit(path, scenarios.Names{"kwok": "kubelet", "scheduler": "scheduler"})
	if err := audit.read(); err != nil {
		t.Fatal(err)
	}
	web := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": "web", "uid": "u"},
	}}
	begin := time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC)
	for _, c := range []struct {
		reason string
		v      scenarios.Version
		want   string
	}{
		{"not one that changed nothing", scenarios.Version{After: web, ResourceVersion: 11}, "replicaset"},
		{"an answer without a version", scenarios.Version{Before: web, After: web, ResourceVersion: 12}, "scheduler"},
		{"not a dry run", scenarios.Version{Before: web, After: web, ResourceVersion: 13}, "kubelet"},
		{"not a list", scenarios.Version{Before: web, After: web, ResourceVersion: 14}, "replicaset"},
		{"what may have taken the last finalizer", scenarios.Version{Before: web, ResourceVersion: 15}, "replicaset"},
		{"nothing is known", scenarios.Version{Before: web, After: web, ResourceVersion: 16}, ""},
	} {
		c.v.Resource = schema.GroupResource{Resource: "pods"}
		if got, known := audit.writer(c.v, begin); got != c.want || known != (c.want != "") {
			t.Errorf("%s: %q, %t, want %q", c.reason, got, known, c.want)
		}
	}
}
