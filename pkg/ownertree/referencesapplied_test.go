package ownertree

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// TestApplied: what a status lists as applied is named, but not what is healthy, or whose hook has succeeded.
func TestApplied(t *testing.T) {
	entry := func(fields ...string) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(fields); i += 2 {
			out[fields[i]] = fields[i+1]
		}
		return out
	}
	healthy := entry("kind", "Service", "namespace", "shop", "name", "web")
	healthy["health"] = entry("status", "Healthy")
	degraded := entry("group", "apps", "kind", "Deployment", "namespace", "shop", "name", "web")
	degraded["health"] = entry("status", "Degraded")
	r := &fieldReader{kinds: newKindIndex(nil)}
	status := map[string]any{
		"resources": []any{healthy, degraded, entry("kind", "ConfigMap", "namespace", "shop", "name", "web"), "no map"},
		"operationState": map[string]any{"syncResult": map[string]any{"resources": []any{
			entry("kind", "Job", "group", "batch", "namespace", "shop", "name", "migrate", "hookType", "PreSync", "hookPhase", "Failed"),
			entry("kind", "Job", "group", "batch", "namespace", "shop", "name", "notify", "hookType", "PostSync", "hookPhase", "Succeeded"),
		}}},
		"inventory": map[string]any{"entries": []any{
			entry("id", "shop_api_apps_StatefulSet"), entry("id", "shop_api__Service"),
			entry("id", "_system__x_rbac.authorization.k8s.io_ClusterRole"), entry("id", "short"), entry("id", "_"),
		}},
	}
	r.applied(untyped.Map{"status": status})
	var got []string
	for _, ref := range r.out {
		got = append(got, ref.to.String()+" "+ref.namespace+"/"+ref.name)
	}
	want := []string{
		"Deployment.apps shop/web", "Job.batch shop/migrate", "StatefulSet.apps shop/api", "Service shop/api",
		"ClusterRole.rbac.authorization.k8s.io /system:x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
	for _, elsewhere := range []map[string]any{
		{"kubeConfig": map[string]any{}}, {"destination": entry("server", "https://10.0.0.1")}, {"destination": entry("name", "edge")},
	} {
		r := &fieldReader{kinds: newKindIndex(nil)}
		if r.applied(untyped.Map{"spec": elsewhere, "status": status}); len(r.out) > 0 {
			t.Errorf("%v applies to another cluster, and not %v", elsewhere, r.out)
		}
	}
}

// TestMadeSecrets: an object of a kind that Secrets are made of makes one of its name, or of the one that it gives.
func TestMadeSecrets(t *testing.T) {
	for _, tt := range []struct {
		kind, secret string
		spec         map[string]any
		want         bool
	}{
		{"ExternalSecret", "db", map[string]any{}, true},
		{"ExternalSecret", "tls", map[string]any{"target": map[string]any{"name": "tls"}}, true},
		{"VaultStaticSecret", "tls", map[string]any{"destination": map[string]any{"name": "tls"}}, true},
		{"Certificate", "tls", map[string]any{"secretName": "tls"}, true},
		{"Certificate", "db", map[string]any{"secretName": "tls"}, false},
		{"PushSecret", "db", map[string]any{}, false},
		{"Database", "db", map[string]any{"passwordSecretRef": map[string]any{"name": "password"}}, false},
		{"Database", "password", map[string]any{"passwordSecretRef": map[string]any{"name": "password"}}, false},
		{"ExternalSecret", "db", map[string]any{"target": map[string]any{"name": "tls"}}, false},
		{"Secret", "db", map[string]any{}, false},
	} {
		s := &relationSource{named: newKindIndex(nil)}
		kind := &cluster.Kind{Namespaced: true}
		kind.Group, kind.Kind, kind.Resource = "example.com", tt.kind, "things"
		o := &customObject{fields: map[string]any{"spec": tt.spec}}
		o.Namespace, o.Name = "shop", "db"
		secret := &Node{Kind: &cluster.Kind{}, Namespace: "shop", Name: tt.secret}
		secret.Kind.Kind = "Secret"
		got := false
		for _, ref := range s.customReferring(kind).references(o) {
			got = got || ref.makes(secret)
		}
		if got != tt.want {
			t.Errorf("%s with %v makes Secret %s: %t, want %t", tt.kind, tt.spec, tt.secret, got, tt.want)
		}
	}
}

// TestNearKind: the kind that a word stands for may be of a group that the object's is a part of.
func TestNearKind(t *testing.T) {
	kindOf := func(group string) cluster.Kind {
		var k cluster.Kind
		k.Group, k.Kind = group, "ProviderConfig"
		return k
	}
	index := newKindIndex([]cluster.Kind{kindOf("aws.example.org"), kindOf("gcp.example.org")})
	for group, want := range map[string]string{"rds.aws.example.org": "aws.example.org", "gcp.example.org": "gcp.example.org"} {
		if got := index.near("providerConfig", group); got == nil || got.Group != want {
			t.Errorf("%s: %v, want one of %s", group, got, want)
		}
	}
	if got := index.near("providerConfig", "example.org"); got != nil {
		t.Errorf("none is near example.org, but %v", got)
	}
}
