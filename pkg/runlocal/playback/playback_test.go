package playback

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// cluster is an API to record.
func cluster(t testing.TB) (*api.Server, *rest.Config, kubernetes.Interface) {
	t.Helper()
	server, err := api.Start(context.WithoutCancel(t.Context()), api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server, server.Config(), clientOf(t, server.Config())
}

func clientOf(t testing.TB, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// serve starts a playback that ends with the test.
func serve(t testing.TB, recording replay.Recording, o Options) *Server {
	t.Helper()
	s, err := Start(context.WithoutCancel(t.Context()), recording, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1"}}},
			},
		},
	}
}

func TestServesTheStateAtAMoment(t *testing.T) {
	_, config, client := cluster(t)
	deployments := client.AppsV1().Deployments("default")
	p := newTape(t, config)
	stream := p.list(stream("apps", "v1", "Deployment", "deployments"))
	if _, err := deployments.Create(t.Context(), deployment("web"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.next(stream)
	if _, err := deployments.Patch(t.Context(), "web", "application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"tier":"front"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	moment := number(p.next(stream))
	want, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := deployments.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.next(stream)

	s := serve(t, &p.Memory, Options{At: moment})
	got, err := clientOf(t, s.Config()).AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.UID != want.UID || got.ResourceVersion != want.ResourceVersion || got.Labels["tier"] != "front" {
		t.Errorf("got %v, want %v", got.ObjectMeta, want.ObjectMeta)
	}
	if unserved := s.NotServed(); len(unserved) > 0 {
		t.Errorf("not served: %v", unserved)
	}
}

func BenchmarkStart(b *testing.B) {
	_, config, _ := cluster(b)
	p := newTape(b, config)
	p.list(stream("apps", "v1", "Deployment", "deployments"))
	for b.Loop() {
		s, err := Start(b.Context(), &p.Memory, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Stop(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
