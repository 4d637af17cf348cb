package ownertree_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// released is a release as Helm keeps it, as the text of a Secret's or ConfigMap's field.
func released(t *testing.T, manifest string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"name": "web", "version": 3, "manifest": manifest, "info": map[string]any{"status": "deployed"}})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes())
}

// release is the object that keeps it.
func release(kind, version, status, packed string) string {
	if kind == "Secret" {
		packed = base64.StdEncoding.EncodeToString([]byte(packed))
	}
	return fmt.Sprintf("{apiVersion: v1, kind: %s, metadata: {name: sh.helm.release.v1.web.v%s, labels: {owner: helm, name: web, status: %s, version: %q}}, data: {release: %q}}",
		kind, version, status, version, packed)
}

const webChart = `---
# Source: web/templates/account.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
---
# Source: web/templates/nothing.yaml
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: web-sees
---
apiVersion: v1
kind: Secret
metadata:
  name: gone
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: dashboard
  namespace: monitoring
---
apiVersion: example.com/v1
kind: Lost
metadata:
  name: of-no-kind
`

// TestRelateHelm: a release leads to what it has installed, and that to the release, the revisions of the past left
// out.
func TestRelateHelm(t *testing.T) {
	s := startSandbox(t)
	const installed = "labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}"
	for _, namespace := range []string{"shop", "monitoring"} {
		s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	}
	s.create("shop", "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, "+installed+"}}")
	s.create("monitoring", "{apiVersion: v1, kind: ConfigMap, metadata: {name: dashboard, "+installed+"}}")
	s.create("", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: web-sees, "+installed+"}}")
	s.create("shop", "{apiVersion: v1, kind: ConfigMap, metadata: {name: by-hand, labels: {app.kubernetes.io/managed-by: Helm}}}")
	s.create("shop", release("Secret", "2", "superseded", released(t, webChart)))
	s.create("shop", release("Secret", "3", "deployed", released(t, webChart)))
	s.create("shop", release("Secret", "4", "failed", "no release at all"))
	s.create("monitoring", release("ConfigMap", "1", "deployed", released(t, webChart)))
	chart := func(release, namespace string) []string {
		return []string{
			release + " installs clusterrole.rbac.authorization.k8s.io/web-sees", release + " installs configmap/dashboard",
			release + " installs configmap/web" + map[bool]string{true: ", which is not there"}[namespace != "shop"],
			release + " installs lost.example.com/of-no-kind, which is not there", release + " installs secret/gone, which is not there",
		}
	}
	both := func(object string) []string {
		return []string{"secret/sh.helm.release.v1.web.v3 installs " + object, "secret/sh.helm.release.v1.web.v4 installs " + object}
	}
	monitoring := s.ref("configmap", "sh.helm.release.v1.web.v1")
	monitoring.Namespace = "monitoring"
	dashboard := s.ref("configmap", "dashboard")
	dashboard.Namespace = "monitoring"
	for _, tt := range []struct {
		reason string
		from   ownertree.Ref
		want   []string
	}{
		{"the release in force", s.ref("secret", "sh.helm.release.v1.web.v3"), chart("secret/sh.helm.release.v1.web.v3", "shop")},
		{"one of the past", s.ref("secret", "sh.helm.release.v1.web.v2"), nil},
		{"one that is kept in a ConfigMap", monitoring, chart("configmap/sh.helm.release.v1.web.v1", "monitoring")},
		{"what a release has installed", s.ref("configmap", "web"), both("configmap/web")},
		{"in another namespace", dashboard, both("configmap/dashboard")},
		{"in none", s.ref("clusterrole", "web-sees"), both("clusterrole.rbac.authorization.k8s.io/web-sees")},
		{"what only looks so", s.ref("configmap", "by-hand"), nil},
	} {
		_, _, relations := s.relate(ownertree.ScopeOf([]ownertree.Ref{tt.from}, false), tt.from)
		if diff := cmp.Diff(tt.want, relationLines(relations)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
	broken := s.ref("secret", "sh.helm.release.v1.web.v4")
	g, nodes := s.load(s.kinds(), ownertree.Scope{Nothing: true}, broken)
	_, missing, err := g.Relate(t.Context(), s.reader, nodes, ownertree.RelateOptions{})
	if err != nil || len(missing) != 1 || missing[0].Reason != "Unreadable" || !strings.Contains(missing[0].Message, "sh.helm.release.v1.web.v4") {
		t.Errorf("incomplete: %v, %v; want the release that cannot be read", missing, err)
	}
}

// TestRelateHelmReadsWhatItMust: of a namespace with many objects of a release, that is read, and they are not.
func TestRelateHelmReadsWhatItMust(t *testing.T) {
	s, w := startRecorded(t)
	s.create("", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	var manifest strings.Builder
	for i := range 20 {
		fmt.Fprintf(&manifest, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-%d}\n", i)
		s.create("shop", fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c-%d, labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}}}", i))
	}
	s.create("shop", release("Secret", "1", "deployed", released(t, manifest.String())))
	g := s.collect(ownertree.Scope{Namespaces: []string{"shop"}})
	w.asked()
	relations, missing, err := g.Relate(t.Context(), s.reader, g.Nodes(), ownertree.RelateOptions{})
	if err != nil || len(missing) > 0 || len(relations) != 20 {
		t.Fatalf("%d relations, incomplete: %v, %v; want 20", len(relations), missing, err)
	}
	for _, path := range w.asked() {
		if strings.Contains(path, "/configmaps/") {
			t.Errorf("%s is read, which the release names", path)
		}
	}
}
