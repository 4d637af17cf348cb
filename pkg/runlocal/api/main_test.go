package api

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The writer of audit logs has a goroutine that never ends: upstream's own leak.
	goleak.VerifyTestMain(stopping{m}, goleak.IgnoreTopFunction("gopkg.in/natefinch/lumberjack%2ev2.(*Logger).millRun"))
}

// stopping stops the shared servers after the tests, before goroutines are counted.
type stopping struct{ *testing.M }

func (m stopping) Run() int {
	code := m.M.Run()
	for _, s := range []*sharedServer{&plain, &listening, &measured} {
		if err := s.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "Stop:", err)
			code = max(code, 1)
		}
	}
	return code
}

// sharedServer is a server for all tests that leave it as it is but for objects in a namespace, and cluster-scoped objects
// that are named like the namespace. It is started by the first of them.
type sharedServer struct {
	options Options
	once    sync.Once
	server  *Server
	err     error
}

// The shared servers. Tests of other options, of starting and stopping, and of cluster-scoped state have their own: see start.
var (
	plain     sharedServer
	listening = sharedServer{options: Options{Listen: "127.0.0.1:0"}}
	measured  = sharedServer{options: Options{Metrics: &fixedMetrics{}}}
)

// fixture returns the administrator's clients of the server, and a namespace of the test with its default ServiceAccount.
func (s *sharedServer) fixture(t testing.TB) *fixture {
	t.Helper()
	s.once.Do(func() { s.server, s.err = Start(context.WithoutCancel(t.Context()), s.options) })
	if s.err != nil {
		t.Fatalf("Start: %v", s.err)
	}
	f := clients(t, s.server, s.server.Config())
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	namespace, err := f.CoreV1().Namespaces().Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.namespace = namespace.Name
	if err := createDefaultAccount(t.Context(), f, f.namespace); err != nil {
		t.Fatal(err)
	}
	return f
}

func (s *sharedServer) stop() error {
	if s.server == nil {
		return nil
	}
	return s.server.Stop()
}

// fixture is a running server with clients for one identity, and the namespace to work in.
type fixture struct {
	*Server
	kubernetes.Interface
	dynamic   *dynamic.DynamicClient
	namespace string
}

// start runs a server for the test alone, with clients for its administrator. The namespace is default.
func start(t testing.TB, o Options) *fixture {
	t.Helper()
	server, err := Start(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	return clients(t, server, server.Config())
}

// clients are clients by config, which may be for another identity or another transport than the administrator's.
func clients(t testing.TB, server *Server, config *rest.Config) *fixture {
	t.Helper()
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{Server: server, Interface: typed, dynamic: untyped, namespace: metav1.NamespaceDefault}
}

// eventually waits until condition holds; what describes it.
func eventually(t testing.TB, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 2*time.Minute, true,
		condition); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

func podTemplate(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1"}}},
	}
}

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: podTemplate(name),
		},
	}
}

func pod(name string) *corev1.Pod {
	template := podTemplate(name)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: template.Labels}, Spec: template.Spec}
}

func (f *fixture) createPod(t testing.TB, p *corev1.Pod) *corev1.Pod {
	t.Helper()
	created, err := f.CoreV1().Pods(f.namespace).Create(t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating pod %q: %v", p.Name, err)
	}
	return created
}
