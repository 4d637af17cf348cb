package guard

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // the server logs much that no test is about
	goleak.VerifyTestMain(stopping{m})
}

// stopping stops the shared server after the tests, before goroutines are counted.
type stopping struct{ *testing.M }

func (m stopping) Run() int {
	code := m.M.Run()
	if server, err := startShared(); err == nil && server.Stop() != nil {
		code = max(code, 1)
	}
	return code
}

// deadline is for conditions that hold within milliseconds: only a test that fails waits for it.
const deadline = 2 * time.Minute

// startShared starts the server for all tests that write nothing, or only ConfigMaps in the namespaces a, b and c.
var startShared = sync.OnceValues(func() (*api.Server, error) {
	return api.Start(context.Background(), api.Options{DefaultServiceAccounts: true})
})

func sharedServer(t testing.TB) *api.Server {
	t.Helper()
	server, err := startShared()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// sent is a request that reached the server.
type sent struct {
	method, uri, contentType string
	body                     []byte
}

// changes reports whether the request may change something, which a GET does not.
func (s sent) changes() bool { return s.method != http.MethodGet && s.method != http.MethodHead }

// wire is a transport that records what is sent by it.
type wire struct {
	next http.RoundTripper
	mu   *sync.Mutex
	sent *[]sent
}

func (w wire) RoundTrip(req *http.Request) (*http.Response, error) {
	s := sent{method: req.Method, uri: req.URL.RequestURI(), contentType: req.Header.Get("Content-Type")}
	if req.Body != nil {
		s.body, _ = io.ReadAll(req.Body)
		_ = req.Body.Close()
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(s.body))
	}
	w.mu.Lock()
	*w.sent = append(*w.sent, s)
	w.mu.Unlock()
	return w.next.RoundTrip(req)
}

// guarded is an API server, and a client's side of it behind a guard.
type guarded struct {
	admin  kubernetes.Interface // past the guard
	wired  *rest.Config         // in front of it
	config *rest.Config         // behind it
	mu     sync.Mutex
	sent   []sent
	told   []Notice

	answered bool // the last answer of do was the guard's
}

// newGuarded returns the clients of a server whose cluster-scoped objects the test may change.
func newGuarded(t testing.TB, mode Mode) *guarded {
	t.Helper()
	server, err := api.Start(t.Context(), api.Options{DefaultServiceAccounts: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return guardedOf(server, mode)
}

// guardedOf returns clients of server.
func guardedOf(server *api.Server, mode Mode) *guarded {
	g := &guarded{admin: kubernetes.NewForConfigOrDie(server.Config())}
	wired := server.Config()
	wired.QPS = -1
	wired.Wrap(func(next http.RoundTripper) http.RoundTripper { return wire{next, &g.mu, &g.sent} })
	g.wired = wired
	g.config = DryRun(wired, Options{Mode: mode, Notice: func(n Notice) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.told = append(g.told, n)
	}})
	return g
}

// writes are those of the requests that reached the server that may change something, since the last call.
func (g *guarded) writes() []sent {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := slices.DeleteFunc(slices.Clone(g.sent), func(s sent) bool { return !s.changes() })
	g.sent = nil
	return out
}

func (g *guarded) notices() []Notice {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.told)
}

// do sends a request as a client does, and returns its answer.
func (g *guarded) do(t testing.TB, method, uri, contentType string, body []byte) (code int, answer string) {
	t.Helper()
	client, err := rest.HTTPClientFor(g.config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(g.config.Host, "/")+uri,
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, uri, err)
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	g.answered = Answered(resp)
	return resp.StatusCode, string(read)
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1"}}},
	}
}

// versions are the resourceVersions of all that tests here may have changed.
func (g *guarded) versions(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	note := func(kind string, m metav1.Object) {
		out[kind+" "+m.GetNamespace()+"/"+m.GetName()] = m.GetResourceVersion()
	}
	ctx, core := t.Context(), g.admin.CoreV1()
	pods, err1 := core.Pods("").List(ctx, metav1.ListOptions{})
	maps, err2 := core.ConfigMaps("default").List(ctx, metav1.ListOptions{})
	spaces, err3 := core.Namespaces().List(ctx, metav1.ListOptions{})
	events, err4 := core.Events("").List(ctx, metav1.ListOptions{})
	leases, err5 := g.admin.CoordinationV1().Leases("").List(ctx, metav1.ListOptions{})
	deployments, err6 := g.admin.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	requests, err7 := g.admin.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
	for _, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range pods.Items {
		note("pod", &pods.Items[i])
	}
	for i := range maps.Items {
		note("configmap", &maps.Items[i])
	}
	for i := range spaces.Items {
		note("namespace", &spaces.Items[i])
	}
	for i := range events.Items {
		note("event", &events.Items[i])
	}
	for i := range leases.Items {
		note("lease", &leases.Items[i])
	}
	for i := range deployments.Items {
		note("deployment", &deployments.Items[i])
	}
	for i := range requests.Items {
		note("csr", &requests.Items[i])
	}
	return out
}
