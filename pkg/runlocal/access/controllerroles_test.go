package access

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// TestEveryControllerHasRules fails when upstream renames a role, or when a controller comes without one.
func TestEveryControllerHasRules(t *testing.T) {
	ran := 0
	for _, c := range controllers.All() {
		if !c.Runs() {
			continue
		}
		ran++
		if len(rulesOf(c.Credentials())) == 0 {
			t.Errorf("%s: upstream has no role %s%s", c.Name, rolePrefix, c.Credentials())
		}
	}
	if ran == 0 {
		t.Error("no controller runs")
	}
}

func TestNeeds(t *testing.T) {
	needs := Needs(selected(t, "deployment", "replicaset"))
	for _, row := range []struct {
		reason     string
		permission Permission
		want       *Need
	}{
		{"both read pods", Permission{Resource: "pods", Verb: "list"}, &Need{Controllers: []string{"deployment", "replicaset"}}},
		{"one makes pods", Permission{Resource: "pods", Verb: "create"}, &Need{Controllers: []string{"replicaset"}}},
		{"a subresource", Permission{Group: "apps", Resource: "deployments/status", Verb: "update"}, &Need{Controllers: []string{"deployment"}}},
		{
			"Events may be missing", Permission{Resource: "events", Verb: "create"},
			&Need{Controllers: []string{"deployment", "replicaset"}, Optional: true},
		},
		{"a group that is not served any more", Permission{Group: "extensions", Resource: "deployments", Verb: "get"}, nil},
		{"no controller needs it", Permission{Resource: "secrets", Verb: "get"}, nil},
	} {
		i := slices.IndexFunc(needs, func(n Need) bool { return n.Permission == row.permission })
		if i < 0 || row.want == nil {
			if i >= 0 || row.want != nil {
				t.Errorf("%s: %s is at %d of the needs, want %+v", row.reason, row.permission, i, row.want)
			}
			continue
		}
		row.want.Permission = row.permission
		if diff := cmp.Diff(*row.want, needs[i]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
	if !slices.IsSortedFunc(needs, func(a, b Need) int { return a.Compare(b.Permission) }) {
		t.Error("the needs are not sorted")
	}
}

func TestRightText(t *testing.T) {
	for _, row := range []struct {
		reason     string
		permission Permission
		want       string
	}{
		{"the core group has no name", Permission{Resource: "pods", Verb: "list"}, "list pods"},
		{"as kubectl writes a resource", Permission{Group: "apps", Resource: "deployments/status", Verb: "update"}, "update deployments.apps/status"},
		{"of one object in one namespace", Permission{"kube-public", "", "configmaps", "cluster-info", "update"}, "update configmaps cluster-info in kube-public"},
	} {
		if got := row.permission.String(); got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}
