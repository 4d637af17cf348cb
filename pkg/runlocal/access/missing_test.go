package access

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func rule(verbs, group, resources string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: strings.Split(verbs, ","), APIGroups: []string{group},
		Resources: strings.Split(resources, ",")}
}

// grant binds rules to a user, in a namespace or everywhere, and waits until the server knows: it sees roles by a
// watch.
func (f *fixture) grant(t *testing.T, name, namespace string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	f.apply(t, roleAndBinding(namespace, name, rules, subject(user(name))))
	checker, probe := f.checker(name, true), needs{}
	for r := range permissionsOf(namespace, rules[0]) {
		probe.add(r, false)
	}
	eventually(t, name+" has permissions", func() bool {
		missing, err := checker.denied(t.Context(), probe)
		return err == nil && len(missing) == 0
	})
}

// TestMissing reviews the same in both ways: by the rules of a user, and permission by permission.
func TestMissing(t *testing.T) {
	f := start(t)
	workloads := []rbacv1.PolicyRule{rule("*", "apps", "*"), rule("get,list,watch", "", "pods,nodes,namespaces"),
		rule("create,update,patch", "", "events")}
	f.grant(t, "reader", "", rule("get,list,watch", "*", "*"))
	f.grant(t, "local", "default", append(workloads, rule("create,delete,patch", "", "pods"))...)
	f.grant(t, "almost", "", append(workloads, rule("create,delete", "", "pods"))...)
	f.grant(t, "all", "", rule("*", "*", "*"))
	for _, row := range []struct {
		reason      string
		user        string
		controllers string
		namespaces  []string
		want        []string
	}{
		{"who may do everything lacks nothing, of any kind either", "all", "replicaset,garbagecollector", nil, nil},
		{"all but one", "almost", "replicaset", nil, []string{"create events.events.k8s.io", "patch events.events.k8s.io", "update events.events.k8s.io", "patch pods"}},
		{"what is granted in a namespace is not granted everywhere", "local", "deployment", nil, []string{"list pods"}},
		{"in that namespace it is", "local", "replicaset", []string{"default"}, []string{"create events.events.k8s.io in default"}},
		{"in another it is not: each is reviewed", "local", "replicaset", []string{"default", "kube-system"}, []string{"create pods in kube-system"}},
		{"a reader may not write, and reads all kinds", "reader", "garbagecollector", nil, []string{"delete deployments.apps"}},
		{"who has nothing lacks all of it", "newcomer", "replicaset", nil, []string{"list pods", "watch replicasets.apps", "update replicasets.apps/status"}},
	} {
		needs := Needs(selected(t, strings.Split(row.controllers, ",")...))
		var answers [2][]string
		for i, bySingleReviews := range []bool{false, true} {
			missing, err := f.checker(row.user, bySingleReviews, row.namespaces...).Missing(t.Context(), needs)
			if err != nil {
				t.Fatal(err)
			}
			answers[i] = texts(missing)
		}
		if diff := cmp.Diff(answers[1], answers[0]); diff != "" {
			t.Errorf("%s: the rules differ from the single reviews (-single +rules):\n%s", row.reason, diff)
		}
		for _, want := range row.want {
			if !slices.Contains(answers[0], want) {
				t.Errorf("%s: %q is not missing, but %q", row.reason, want, answers[0])
			}
		}
		if row.want == nil && len(answers[0]) > 0 {
			t.Errorf("%s: missing %q", row.reason, answers[0])
		}
	}
}

func TestNothingElseIsMissing(t *testing.T) {
	f := start(t)
	f.grant(t, "local", "default", rule("*", "apps", "*"), rule("*", "", "pods"))
	f.grant(t, "reader", "", rule("get,list,watch", "*", "*"))
	for _, row := range []struct {
		reason, user string
		namespaces   []string
		needed       func(Need) bool
	}{
		{"only Events", "local", []string{"default"}, func(n Need) bool { return n.Optional && n.Namespace == "default" }},
		{"only writes", "reader", nil, func(n Need) bool { return !n.IsRead() && n.Namespace == "" }},
	} {
		missing, err := f.checker(row.user, false, row.namespaces...).Missing(t.Context(),
			Needs(selected(t, "replicaset")))
		if err != nil || len(missing) == 0 {
			t.Fatalf("%s: %v, missing %q", row.reason, err, texts(missing))
		}
		for _, n := range missing {
			if !row.needed(n) {
				t.Errorf("%s: %s is missing too", row.reason, n.Permission)
			}
		}
	}
}

// TestApplyingMends: after what Roles says was applied, nothing is missing.
func TestApplyingMends(t *testing.T) {
	f := start(t)
	for _, row := range []struct {
		reason, user string
		namespaces   []string
		controllers  []string
	}{
		{"everywhere", "jane", nil, []string{"deployment", "replicaset"}},
		{"in two namespaces", "joe", []string{"default", "kube-public"}, []string{"deployment", "replicaset"}},
		{"kinds of every sort", "jill", nil, []string{"garbagecollector"}},
		{"a service account", "system:serviceaccount:default:runner", nil, []string{"replicaset"}},
	} {
		needs, checker := Needs(selected(t, row.controllers...)), f.checker(row.user, false, row.namespaces...)
		missing, err := checker.Missing(t.Context(), needs)
		if err != nil || len(missing) == 0 {
			t.Fatalf("%s: %v, missing %q before", row.reason, err, texts(missing))
		}
		f.apply(t, Roles(missing, user(row.user)))
		eventually(t, "nothing is missing "+row.reason, func() bool {
			left, err := checker.Missing(t.Context(), needs)
			return err == nil && len(left) == 0
		})
	}
}

// tripper answers requests by a function.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestQuestions counts requests: rules save nearly all.
func TestQuestions(t *testing.T) {
	f := start(t)
	var requests atomic.Int64
	config := f.server.Config()
	config.Impersonate.UserName = "jane"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			requests.Add(1)
			return next.RoundTrip(r)
		})
	})
	client := kubernetes.NewForConfigOrDie(config).AuthorizationV1()
	c := &Checker{Client: client, Rules: client, Kinds: f.kinds}
	if _, err := c.Missing(t.Context(), Needs(selected(t, "*"))); err != nil {
		t.Fatal(err)
	}
	if n := requests.Load(); n > 5 {
		t.Errorf("%d requests for what two answers tell", n)
	}
}

func TestAskingFails(t *testing.T) {
	f := start(t)
	broken := errors.New("no route to host")
	config := f.server.Config()
	config.Wrap(func(http.RoundTripper) http.RoundTripper {
		return tripper(func(*http.Request) (*http.Response, error) { return nil, broken })
	})
	client := kubernetes.NewForConfigOrDie(config).AuthorizationV1()
	c := &Checker{Client: client, Rules: client, Kinds: f.kinds}
	if _, err := c.Missing(t.Context(), Needs(selected(t, "replicaset"))); !errors.Is(err, broken) {
		t.Errorf("got %v, want that nothing is known", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.checker("jane", false).Missing(ctx, Needs(selected(t, "replicaset"))); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v after an interrupt", err)
	}
}

// TestNoNamespaceCannotBe: what a user may do there must be what they may do in all namespaces.
func TestNoNamespaceCannotBe(t *testing.T) {
	f := start(t)
	_, err := f.admin.RbacV1().RoleBindings(impossibleNamespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName,
			Kind: "ClusterRole", Name: "admin"},
	}, metav1.CreateOptions{})
	if err == nil {
		t.Errorf("a role was bound in %q", impossibleNamespace)
	}
}
