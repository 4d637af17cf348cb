package telemetry

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// serve serves o, completed, for the test.
func serve(t *testing.T, o Options) *httptest.Server {
	t.Helper()
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	if o.Stream == nil {
		o.Stream = NewStream()
	}
	if o.Session == nil {
		o.Session = func() Session {
			return fixed{Controllers: []tap.ControllerState{{Name: "deployment"}, {Name: "replicaset"}}}
		}
	}
	if o.Ready == nil {
		o.Ready = func() []Check { return nil }
	}
	server := httptest.NewServer(NewHandler(o))
	t.Cleanup(server.Close)
	t.Cleanup(server.Client().CloseIdleConnections)
	return server
}

// fixed is a Session that does not change.
type fixed tap.State

func (f fixed) State() tap.State { return tap.State(f) }

// get requests a path with the header Authorization, without it if it is empty.
func get(t *testing.T, server *httptest.Server, path, authorization string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestToken(t *testing.T) {
	guarded, open := serve(t, Options{Token: "s3cret"}), serve(t, Options{})
	for _, tt := range []struct {
		server              *httptest.Server
		path, authorization string
		want                int
		reason              string
	}{
		{guarded, "/healthz", "", http.StatusOK, "kubelets have no token"},
		{guarded, "/livez", "", http.StatusOK, "by its other name"},
		{guarded, "/readyz", "", http.StatusOK, "nor for readiness"},
		{guarded, "/metrics", "", http.StatusUnauthorized, "figures are not for everybody"},
		{guarded, "/trace", "", http.StatusUnauthorized, "the trace has names and fields of objects"},
		{guarded, "/debug/pprof/", "", http.StatusUnauthorized, "profiles tell the command line"},
		{guarded, "/debug/pprof/heap", "Bearer wrong", http.StatusUnauthorized, "another token"},
		{guarded, "/", "", http.StatusUnauthorized, "not even what there is"},
		{guarded, "/nothing", "", http.StatusUnauthorized, "nor what there is not"},
		{guarded, "/metrics", "Bearer s3cret ", http.StatusOK, "blanks at the end are none of the token"},
		{guarded, "/metrics", "bearer s3cret", http.StatusOK, "schemes have no case (RFC 9110)"},
		{guarded, "/metrics", "Basic s3cret", http.StatusUnauthorized, "another scheme"},
		{guarded, "/metrics", "s3cret", http.StatusUnauthorized, "no scheme"},
		{guarded, "/debug/pprof/goroutine?debug=1", "Bearer s3cret", http.StatusOK, "profiles with the token"},
		{guarded, "/debug/pprof/cmdline", "Bearer s3cret", http.StatusOK, "the command line with the token"},
		{guarded, "/", "Bearer s3cret", http.StatusOK, "the list of what there is"},
		{guarded, "/nothing", "Bearer s3cret", http.StatusNotFound, "what there is not"},
		{open, "/metrics", "", http.StatusOK, "no token is needed if there is none"},
	} {
		if got, body := get(t, tt.server, tt.path, tt.authorization); got != tt.want {
			t.Errorf("%s with %q: %d %s, want %d: %s", tt.path, tt.authorization, got, body, tt.want, tt.reason)
		}
	}
}

func TestReadiness(t *testing.T) {
	for _, tt := range []struct {
		reason, path string
		checks       []Check
		code         int
		want         string
	}{
		{"all is well, without verbose", "/readyz", []Check{{Name: "replicaset"}}, http.StatusOK, "ok\n"},
		{"all of it", "/readyz?verbose", []Check{{Name: "api"}, {Name: "replicaset"}}, http.StatusOK,
			"[+]api ok\n[+]replicaset ok\nreadyz check passed\n"},
		{"what is not ready is listed without verbose", "/readyz", []Check{{Name: "api"}, {"replicaset", "waiting for pods"}},
			http.StatusServiceUnavailable, "[+]api ok\n[-]replicaset not ready: waiting for pods\nreadyz check failed\n"},
		{"nothing to be ready", "/readyz?verbose=1", nil, http.StatusOK, "readyz check passed\n"},
	} {
		code, body := get(t, serve(t, Options{Ready: func() []Check { return tt.checks }}), tt.path, "")
		if code != tt.code || body != tt.want {
			t.Errorf("%s: %d %q, want %d %q", tt.reason, code, body, tt.code, tt.want)
		}
	}
}

// TestMetricsOfAll: ours, client-go's by the names that dashboards know, and the process's.
func TestMetricsOfAll(t *testing.T) {
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "telemetry-test"})
	defer queue.ShutDown()
	queue.Add("a")
	m := NewMetrics()
	record(m, "replicaset", &trace.End{Outcome: trace.Done})
	_, body := get(t, serve(t, Options{Metrics: m}), "/metrics", "")
	for _, want := range []string{
		`workqueue_depth\{name="telemetry-test"\} [1-9]\d*`,
		`workqueue_adds_total\{name="telemetry-test"\} [1-9]\d*`,
		`kubectl_reconcile_reconciles_total\{controller="replicaset",outcome="done"\} 1`,
		`kubectl_reconcile_reconcile_duration_seconds_count\{controller="replicaset"\} 1`,
		`kubectl_reconcile_trace_readers_dropped_total 0`,
		`go_goroutines \d+`,
		`process_resident_memory_bytes [\d.e+]+`,
	} {
		if !regexp.MustCompile("(?m)^" + want + "$").MatchString(body) {
			t.Errorf("no line %s", want)
		}
	}
	if strings.Contains(body, "secret-name") {
		t.Error("a key or a name is a label")
	}
}
