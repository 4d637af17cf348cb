package trial_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api/apitest"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trial"
)

// patience bounds what a test waits for on a busy machine; nothing is timed by it.
const patience = 2 * time.Minute

var web = trial.Object{Kind: schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, Namespace: "default", Name: "web-1"}

// newCluster returns an API server without controllers and a client of it, with a ReplicaSet that wants two pods.
func newCluster(t *testing.T, pool *apitest.Pool) (*api.Server, kubernetes.Interface) {
	t.Helper()
	server := pool.Server(t, nil)
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}
	if _, err := client.AppsV1().ReplicaSets("default").Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return server, client
}

// webhook serves an admission webhook for pods that answers with review, and waits until the server calls it.
func webhook(t *testing.T, client kubernetes.Interface, review func(context.Context, *admissionv1.AdmissionResponse)) {
	t.Helper()
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var in admissionv1.AdmissionReview
		body, err := io.ReadAll(req.Body)
		if err == nil {
			err = json.Unmarshal(body, &in)
		}
		if err != nil || in.Request == nil {
			http.Error(w, "not a review", http.StatusBadRequest)
			return
		}
		in.Response = &admissionv1.AdmissionResponse{UID: in.Request.UID, Allowed: true}
		if !strings.HasPrefix(in.Request.Name, "probe") {
			review(req.Context(), in.Response)
		} else {
			in.Response.Allowed, in.Response.Result = false, &metav1.Status{Message: "called"}
		}
		in.Request = nil
		_ = json.NewEncoder(w).Encode(&in)
	}))
	t.Cleanup(hook.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "pods"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "pods.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone),
			ClientConfig:   admissionregistrationv1.WebhookClientConfig{URL: new(hook.URL), CABundle: ca},
			TimeoutSeconds: new(int32(30)),
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{"CREATE"},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	hooks := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := hooks.Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	probe := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "probe"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		_, err := client.CoreV1().Pods("default").Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal("the webhook is not called")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// isOfInterest leaves out what the server writes by itself.
func isOfInterest(gr schema.GroupResource) bool {
	switch gr.Group {
	case "apiregistration.k8s.io", "flowcontrol.apiserver.k8s.io":
		return false
	}
	return true
}

// try tries the ReplicaSet, and fails if that changes anything in the cluster.
func try(t *testing.T, server *api.Server, o trial.Options) (trial.Attempt, error) {
	t.Helper()
	if o.Config == nil {
		o.Config = server.Config()
	}
	o.Objects = []trial.Object{web, web, {Kind: schema.GroupKind{Kind: "ConfigMap"}, Namespace: "default", Name: "c"}}
	before := server.ResourceVersion()
	attempts, err := trial.Run(t.Context(), o)
	writes, writesErr := server.Writes(before, isOfInterest)
	if writesErr != nil || len(writes) > 0 {
		t.Errorf("something was written: %v, %v", writes, writesErr)
	}
	if err != nil {
		return trial.Attempt{}, err
	}
	if len(attempts) != 1 || attempts[0].Controller != "replicaset" || attempts[0].Key != "default/web-1" {
		t.Fatalf("attempts: %+v", attempts)
	}
	return attempts[0], nil
}

var servers = apitest.NewPool(api.Options{DefaultServiceAccounts: true})

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // the server logs much that no test is about
	goleak.VerifyTestMain(apitest.Main{M: m, Pools: []*apitest.Pool{servers}})
}

// TestAccepted: the pods that the controller would make, of which one is kept, and its status.
func TestAccepted(t *testing.T) {
	server, _ := newCluster(t, servers)
	got, err := try(t, server, trial.Options{})
	if err != nil || !got.Done || got.Error != "" || len(got.Writes) == 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	pods := 0
	for _, w := range got.Writes {
		if !w.Accepted() || w.Refused() {
			t.Errorf("%+v", w)
		}
		if w.Verb == "create" && w.Resource == "pods" {
			pods++
		}
	}
	if pods != 1 {
		t.Errorf("%d creations of pods: %+v", pods, got.Writes)
	}
}

// TestRefusedByWebhook: a webhook that refuses the pods, and of which no Event tells.
func TestRefusedByWebhook(t *testing.T) {
	server, client := newCluster(t, servers)
	webhook(t, client, func(_ context.Context, r *admissionv1.AdmissionResponse) {
		r.Allowed, r.Result = false, &metav1.Status{Message: "no pods on Mondays"}
	})
	got, err := try(t, server, trial.Options{})
	if err != nil || !got.Done || len(got.Writes) == 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	w := got.Writes[0]
	want := `admission webhook "pods.example.com" denied the request: no pods on Mondays`
	if !w.Refused() || w.Resource != "pods" || w.Name != "web-1-*" || !strings.Contains(w.Message, want) {
		t.Errorf("%+v", w)
	}
}

// TestTimeout: a webhook that does not answer keeps nobody waiting longer than the timeout.
func TestTimeout(t *testing.T) {
	server, client := newCluster(t, servers)
	called, over := make(chan struct{}, 8), make(chan struct{})
	webhook(t, client, func(ctx context.Context, _ *admissionv1.AdmissionResponse) {
		called <- struct{}{}
		select {
		case <-ctx.Done():
		case <-over:
		}
	})
	t.Cleanup(func() { close(over) })
	got, err := try(t, server, trial.Options{Timeout: 3 * time.Second})
	if err != nil || got.Done && got.Error == "" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, w := range got.Writes {
		if w.Refused() {
			t.Errorf("what was not answered is refused: %+v", w)
		}
	}
	if len(called) == 0 {
		t.Error("the webhook was not called")
	}
}

// TestPermissions: what the user may not do is not refused to the controller; what it may not read is an error.
func TestPermissions(t *testing.T) {
	server, client := newCluster(t, servers)
	as := func(user string) *rest.Config {
		config := server.Config()
		config.Impersonate.UserName = user
		return config
	}
	_, err := try(t, server, trial.Options{Config: as("nobody")})
	if unlisted := (*runlocal.CacheError)(nil); !errors.As(err, &unlisted) {
		t.Errorf("who may read nothing: %v", err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "reader"}},
	}
	if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil { // the authorizer takes a moment to see the role
		got, err := try(t, server, trial.Options{Config: as("reader")})
		if err != nil {
			continue
		}
		if len(got.Writes) == 0 || !got.Writes[0].NotPermitted || got.Writes[0].Refused() || got.Writes[0].Accepted() {
			t.Errorf("who may only read: %+v", got)
		}
		return
	}
	t.Error("the reader may not read")
}

// TestMissingObject: an object that does not exist is not reconciled, and is not waited for.
func TestMissingObject(t *testing.T) {
	server, _ := newCluster(t, servers)
	gone := web
	gone.Name = "gone"
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, objects := range [][]trial.Object{{gone}, {gone, web}} {
		attempts, err := trial.Run(ctx, trial.Options{
			Config: server.Config(), Objects: objects, Timeout: 2 * patience,
		})
		if err != nil || len(attempts) != len(objects) || attempts[0].Done || len(attempts[0].Writes) > 0 {
			t.Fatalf("%+v, %v", attempts, err)
		}
		if rest := attempts[1:]; len(rest) > 0 && (!rest[0].Done || len(rest[0].Writes) == 0) {
			t.Errorf("the one that exists: %+v", rest)
		}
	}
}

// TestNoTimeToStart: that the controllers could not be started in time is an error.
func TestNoTimeToStart(t *testing.T) {
	server, _ := newCluster(t, servers)
	if got, err := try(t, server, trial.Options{Timeout: time.Nanosecond}); err == nil {
		t.Errorf("%+v", got)
	}
}

// TestNothingToTry: without an object that can be tried nothing is started.
func TestNothingToTry(t *testing.T) {
	got, err := trial.Run(t.Context(), trial.Options{Objects: []trial.Object{{Kind: schema.GroupKind{Kind: "ConfigMap"}}}})
	if got != nil || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if trial.CanTry(schema.GroupKind{Kind: "ConfigMap"}) || !trial.CanTry(web.Kind) {
		t.Error("CanTry")
	}
}
