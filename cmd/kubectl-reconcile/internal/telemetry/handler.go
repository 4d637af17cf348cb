package telemetry

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"

	// registers client-go's metrics where kube-controller-manager does
	_ "k8s.io/component-base/metrics/prometheus/clientgo"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
)

// Options configure NewHandler. All but Token must be set.
type Options struct {
	// Metrics and Stream are sinks of the session's recorder.
	Metrics *Metrics
	Stream  *Stream
	// Session returns the running session, nil before there is one. It is called for each scrape, concurrently.
	Session func() Session
	// Ready returns the checks of /readyz in the order in which they are shown; their names are unique. It is called
	// for each request, concurrently.
	Ready func() []Check
	// Findings returns what repeats without progress. It is called for each scrape, concurrently.
	Findings func() []findings.Finding
	// Token is the bearer token that requests must have, except those for health and readiness. Empty means none.
	Token string
}

// index is the page at the root.
const index = `/healthz        the process lives
/readyz         every controller sees what it acts on; ?verbose lists each
/metrics        for Prometheus: of the controllers, of client-go, of the Go runtime
/trace          what happens, as it happens: one JSON object a line; ?controller=NAME,NAME for some
/debug/pprof/   profiles
`

// NewHandler returns a handler of /healthz, /livez, /readyz, /metrics, /trace and /debug/pprof. /metrics also has what
// Kubernetes' libraries have registered in this process.
func NewHandler(o Options) http.Handler {
	closed := http.NewServeMux()
	closed.Handle("GET /metrics", metrics(o))
	closed.Handle("GET /trace", serveTrace(o))
	closed.HandleFunc("/debug/pprof/", pprof.Index)
	closed.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	closed.HandleFunc("/debug/pprof/profile", pprof.Profile)
	closed.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	closed.HandleFunc("/debug/pprof/trace", pprof.Trace)
	closed.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, index) })
	open := http.NewServeMux()
	open.HandleFunc("GET /healthz", healthz)
	open.HandleFunc("GET /livez", healthz)
	open.HandleFunc("GET /readyz", readyz(o.Ready))
	open.Handle("/", withToken(o.Token, closed))
	return open
}

// metrics serves this package's metrics, and those in the registry of Kubernetes' libraries.
func metrics(o Options) http.Handler {
	own := prometheus.NewRegistry()
	own.MustRegister(o.Metrics, o.Stream.dropped, newStateCollector(o.Session, o.Ready),
		newFindingsCollector(o.Findings))
	return promhttp.HandlerFor(prometheus.Gatherers{legacyregistry.DefaultGatherer, own}, promhttp.HandlerOpts{
		// One metric of a library that cannot be gathered must not hide all others.
		ErrorHandling: promhttp.ContinueOnError,
	})
}

// withToken serves requests that have the token by next, and answers 401 to others. An empty token lets all pass.
func withToken(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(shown)))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeText(w, http.StatusUnauthorized, "a bearer token is needed: the file with it was named at the start\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Check is a check of /readyz.
type Check struct {
	// Name is what is checked, such as a controller.
	Name string
	// Problem is why it is not ready, in a few words; empty if it is ready.
	Problem string
}

// healthz answers "ok": the process is alive if it answers.
func healthz(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") }

// readyz answers as kube-apiserver's /readyz does: "ok", or a line for each check with ?verbose or if one fails.
func readyz(ready func() []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		checks := ready()
		status, end := http.StatusOK, "readyz check passed\n"
		var lines strings.Builder
		for _, c := range checks {
			if c.Problem == "" {
				fmt.Fprintf(&lines, "[+]%s ok\n", c.Name)
				continue
			}
			status, end = http.StatusServiceUnavailable, "readyz check failed\n"
			fmt.Fprintf(&lines, "[-]%s not ready: %s\n", c.Name, c.Problem)
		}
		if _, verbose := r.URL.Query()["verbose"]; status == http.StatusOK && !verbose {
			writeText(w, status, "ok\n")
			return
		}
		writeText(w, status, lines.String()+end)
	}
}

// writeText answers with plain text. The error of a client that has disconnected is ignored.
func writeText(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache, no-store, must-revalidate")
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, body)
}
