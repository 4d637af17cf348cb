package realcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// deployment has two pods, for nodes to run and controllers to make.
func deployment() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	replicas := int32(2)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}
}

func TestClusterWorks(t *testing.T) {
	t.Parallel()
	cluster, err := Start(t.Context(), Options{
		Controllers: []string{"deployment-controller", "replicaset-controller", "garbage-collector-controller"},
		Scheduler:   true, Nodes: 2, Log: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(cluster.Config())
	version, err := client.Discovery().ServerVersion()
	if err != nil || !strings.HasPrefix(version.GitVersion, "v1.") {
		t.Errorf("the server says it is %v (%v)", version, err)
	}
	becomesReady(t, client)
	if agents := writers(t, cluster); !agents["system:serviceaccount:kube-system:deployment-controller"] ||
		!agents["system:serviceaccount:kube-system:replicaset-controller"] {
		t.Errorf("the audit log names no writes by the controllers, but by %v", agents)
	}
	made := left{cluster.Dir(), cluster.Processes(), cluster.address()}
	if err := cluster.Stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	gone(t, made)
}

func TestSandboxWorks(t *testing.T) {
	t.Parallel()
	sandbox, err := StartSandbox(t.Context(), SandboxOptions{Args: []string{"--controller", "deployment,replicaset", "--nodes", "1"}})
	if err != nil {
		t.Fatal(err)
	}
	config, err := sandbox.Config()
	if err != nil {
		t.Fatal(err)
	}
	becomesReady(t, kubernetes.NewForConfigOrDie(config))
	made := left{Dir: sandbox.Dir(), Processes: sandbox.Processes()}
	if err := sandbox.Interrupt(); err != nil {
		t.Fatal(err)
	}
	trace, err := os.ReadFile(sandbox.Trace())
	if err != nil || !bytes.Contains(trace, []byte(`"resource":"pods"`)) || !bytes.HasSuffix(trace, []byte("\n")) {
		t.Errorf("after the end the trace is not complete (%v)", err)
	}
	if err := sandbox.Stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	gone(t, made)
}

// becomesReady makes a Deployment and waits until its pods are ready.
func becomesReady(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	deployments := client.AppsV1().Deployments(metav1.NamespaceDefault)
	if _, err := deployments.Create(t.Context(), deployment(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Deployment to be ready", func() bool {
		d, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == 2
	})
}

// writers are the users whom the audit log names.
func writers(t *testing.T, cluster *Cluster) map[string]bool {
	t.Helper()
	log, err := os.ReadFile(cluster.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	users := map[string]bool{}
	for line := range bytes.Lines(log) {
		var event struct{ User struct{ Username string } }
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("line %q of the audit log: %v", line, err)
		}
		users[event.User.Username] = true
	}
	return users
}

func TestProgramThatEndsIsNamed(t *testing.T) {
	h, err := newHome("home")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.start("liar", nil, "sh", "-c", "echo I am ready; exit 3"); err != nil {
		t.Fatal(err)
	}
	never := func(context.Context) (bool, error) { return false, errors.New("not there") }
	err = h.await(t.Context(), "the liar", never)
	if err == nil || !strings.Contains(err.Error(), "liar has ended (exit status 3)") || !strings.Contains(err.Error(), "I am ready") {
		t.Errorf("the error does not name the program, its end and its words: %v", err)
	}
	for range 2 {
		if err := h.close(); err == nil {
			t.Error("closing says nothing of the program that had ended")
		}
	}
	if _, err := os.Stat(h.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	h, err := newHome("home")
	if err != nil {
		t.Fatal(err)
	}
	defer h.close() //nolint:errcheck // nothing runs
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = h.await(ctx, "what never comes", func(context.Context) (bool, error) { return false, errors.New("not there") })
	if err == nil || err.Error() != "waiting for what never comes: not there" {
		t.Errorf("got %v, which does not say what was waited for and why it did not come", err)
	}
}
