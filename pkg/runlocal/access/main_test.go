package access

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // the server logs its end
	goleak.VerifyTestMain(stopping{m})
}

// stopping stops the server after the tests, before goroutines are counted.
type stopping struct{ *testing.M }

func (m stopping) Run() int {
	code := m.M.Run()
	if server, err := startServer(); err == nil && server.Stop() != nil {
		code = max(code, 1)
	}
	return code
}

// startServer starts the server of all tests.
var startServer = sync.OnceValues(func() (*api.Server, error) { return api.Start(context.Background(), api.Options{}) })

// fixture is a server, and its administrator. Tests must remove the roles that they bind.
type fixture struct {
	server *api.Server
	admin  kubernetes.Interface
	kinds  *cluster.Kinds
}

func start(t *testing.T) *fixture {
	t.Helper()
	server, err := startServer()
	if err != nil {
		t.Fatal(err)
	}
	server.WaitReady(t.Context())
	f := &fixture{server: server, admin: kubernetes.NewForConfigOrDie(server.Config())}
	if f.kinds, err = cluster.Discover(t.Context(), server.Config()); err != nil {
		t.Fatal(err)
	}
	return f
}

// as is a client of a user.
func (f *fixture) as(user string) kubernetes.Interface {
	config := f.server.Config()
	config.Impersonate.UserName = user
	config.Impersonate.Groups = []string{"system:authenticated"}
	return kubernetes.NewForConfigOrDie(config)
}

// checker reviews as a user. bySingleReviews leaves out reviews of rules.
func (f *fixture) checker(user string, bySingleReviews bool, namespaces ...string) *Checker {
	client := f.as(user).AuthorizationV1()
	c := &Checker{Client: client, Rules: client, Kinds: f.kinds, Namespaces: namespaces}
	if bySingleReviews {
		c.Rules = nil
	}
	return c
}

// apply creates roles and bindings until the end of the test.
func (f *fixture) apply(t *testing.T, objects []runtime.Object) {
	t.Helper()
	rbac, options := f.admin.RbacV1(), metav1.CreateOptions{}
	ctx := context.WithoutCancel(t.Context())
	remove := func(remove func(context.Context, string, metav1.DeleteOptions) error, name string) {
		t.Cleanup(func() {
			if err := remove(ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	for _, o := range objects {
		var err error
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			_, err = rbac.ClusterRoles().Create(t.Context(), o, options)
			remove(rbac.ClusterRoles().Delete, o.Name)
		case *rbacv1.ClusterRoleBinding:
			_, err = rbac.ClusterRoleBindings().Create(t.Context(), o, options)
			remove(rbac.ClusterRoleBindings().Delete, o.Name)
		case *rbacv1.Role:
			_, err = rbac.Roles(o.Namespace).Create(t.Context(), o, options)
			remove(rbac.Roles(o.Namespace).Delete, o.Name)
		case *rbacv1.RoleBinding:
			_, err = rbac.RoleBindings(o.Namespace).Create(t.Context(), o, options)
			remove(rbac.RoleBindings(o.Namespace).Delete, o.Name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func user(name string) authenticationv1.UserInfo { return authenticationv1.UserInfo{Username: name} }

func selected(t *testing.T, names ...string) []controllers.Controller {
	t.Helper()
	of, err := controllers.Select(names)
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 2*time.Minute, true,
		func(context.Context) (bool, error) {
			return condition(), nil
		})
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// texts are the permissions, for comparing.
func texts(needs []Need) []string {
	var out []string
	for _, n := range needs {
		out = append(out, n.String())
	}
	return out
}
