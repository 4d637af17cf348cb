package access

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

func TestRoles(t *testing.T) {
	needs := func(permissions ...Permission) []Need {
		var out []Need
		for _, r := range permissions {
			out = append(out, Need{Permission: r})
		}
		return out
	}
	for _, row := range []struct {
		reason, user string
		missing      []Need
		want         string
	}{
		{reason: "nothing is missing", user: "jane"},
		{
			"rules are put together, by kinds of the same verbs", "jane",
			needs(
				Permission{Resource: "pods", Verb: "list"}, Permission{Resource: "pods",
					Verb: "create"}, Permission{Resource: "nodes", Verb: "list"},
				Permission{Resource: "services", Verb: "list"}, Permission{Group: "apps",
					Resource: "deployments/status", Verb: "update"},
				Permission{Resource: "configmaps", Name: "cluster-info", Verb: "update"},
			),
			`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: kubectl-reconcile-00000000
rules:
- apiGroups:
  - ""
  resourceNames:
  - cluster-info
  resources:
  - configmaps
  verbs:
  - update
- apiGroups:
  - ""
  resources:
  - nodes
  - services
  verbs:
  - list
- apiGroups:
  - ""
  resources:
  - pods
  verbs:
  - create
  - list
- apiGroups:
  - apps
  resources:
  - deployments/status
  verbs:
  - update
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: kubectl-reconcile-00000000
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: kubectl-reconcile-00000000
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: User
  name: jane
---
`,
		},
		{
			"a service account is bound by its own name", "system:serviceaccount:ops:runner",
			needs(Permission{Namespace: "shop", Resource: "pods", Verb: "list"}),
			`apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: kubectl-reconcile-00000000
  namespace: shop
rules:
- apiGroups:
  - ""
  resources:
  - pods
  verbs:
  - list
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: kubectl-reconcile-00000000
  namespace: shop
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: kubectl-reconcile-00000000
subjects:
- kind: ServiceAccount
  name: runner
  namespace: ops
---
`,
		},
	} {
		got := ""
		for _, o := range Roles(row.missing, user(row.user)) {
			text, err := yaml.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			got += string(text) + "---\n"
		}
		if diff := cmp.Diff(row.want, masked(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// masked hides the hash of names.
func masked(text string) string { return hash.ReplaceAllString(text, "kubectl-reconcile-00000000") }

var hash = regexp.MustCompile(`kubectl-reconcile-[0-9a-f]{8}`)

func TestNamesTellRules(t *testing.T) {
	rules := func(verb string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{"pods"}}}
	}
	if rulesHash(rules("get")) == rulesHash(rules("list")) {
		t.Error("applying the roles of one run would take away those of another")
	}
	if first, second := rulesHash(rules("get")), rulesHash(rules("get")); first != second {
		t.Error("the same roles have two names")
	}
}
