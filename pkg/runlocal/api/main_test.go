package api

import (
	"context"
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a running server with clients for one identity.
type fixture struct {
	*Server
	kubernetes.Interface
	dynamic *dynamic.DynamicClient
}

// start runs a server for the length of the test, with clients for its administrator.
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
	return &fixture{Server: server, Interface: typed, dynamic: untyped}
}

// eventually waits until condition holds; what describes it.
func eventually(t testing.TB, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 2*time.Minute, true, condition); err != nil {
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
	created, err := f.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating pod %q: %v", p.Name, err)
	}
	return created
}
