package runlocal

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// watches is a transport that ends all watches when it is told to, after which the next one of every resource goes
// wrong.
type watches struct {
	next  http.RoundTripper
	fault func(*http.Request) *http.Response

	mu    sync.Mutex
	wrong map[string]bool // by path; nil until it is told to
	end   context.Context
	cut   context.CancelFunc
}

func (w *watches) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Query().Get("watch") == "" {
		return w.next.RoundTrip(req)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	path := req.URL.Path
	if w.wrong != nil && !w.wrong[path] {
		w.wrong[path] = true
		return w.fault(req), nil
	}
	ctx, cancel := context.WithCancel(req.Context())
	context.AfterFunc(w.end, cancel)
	return w.next.RoundTrip(req.WithContext(ctx))
}

// goWrong ends what is open.
func (w *watches) goWrong(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut()
	w.wrong, w.end = map[string]bool{}, ctx
}

// went counts the resources of which a watch went wrong.
func (w *watches) went() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.wrong)
}

func answered(req *http.Request, code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/2.0", ProtoMajor: 2, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// TestWatchesThatGoWrong: whatever a server or a proxy does to the watches of a session, it continues with what has
// changed since.
func TestWatchesThatGoWrong(t *testing.T) {
	const expired = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","message":"too old resource version","code":410}`
	for reason, fault := range map[string]func(*http.Request) *http.Response{
		"a proxy ends them": func(r *http.Request) *http.Response { return answered(r, http.StatusOK, "") },
		"in the middle of one": func(r *http.Request) *http.Response {
			return answered(r, http.StatusOK,
				`{"type":"ADDED","obj`)
		},
		"the version has expired": func(r *http.Request) *http.Response { return answered(r, http.StatusGone, expired) },
		"and so it is later on": func(r *http.Request) *http.Response {
			return answered(r, http.StatusOK, `{"type":"ERROR","object":`+expired+"}\n")
		},
		"the server is busy": func(r *http.Request) *http.Response {
			busy := answered(r, http.StatusTooManyRequests,
				`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`)
			busy.Header.Set("Retry-After", "1")
			return busy
		},
		"it is at its end": func(r *http.Request) *http.Response {
			return answered(r,
				http.StatusInternalServerError, "oh no")
		},
		"what comes is no message": func(r *http.Request) *http.Response {
			return answered(r, http.StatusOK,
				"<html>log in</html>")
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel() // they wait for back-offs most of the time
			cluster := start(t, Options{Nodes: 1})
			w := &watches{fault: fault}
			w.end, w.cut = context.WithCancel(t.Context())
			config := cluster.Config()
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { w.next = next; return w })
			if _, err := onCluster(t, cluster, ClusterOptions{Config: config, Write: true}, Options{}, "deployment",
				"replicaset"); err != nil {
				t.Fatal(err)
			}
			w.goWrong(t.Context())
			if _, err := cluster.Apply(within(t), "default", manifests(t, deployment("web", 2))); err != nil {
				t.Fatal(err)
			}
			awaitReady(t, cluster, "web", 2)
			if n := w.went(); n < 3 {
				t.Errorf("watches of %d resources went wrong, want those of Deployments, ReplicaSets and pods", n)
			}
		})
	}
}

// awaitReady waits until so many pods of the Deployment are ready, whichever controller makes them.
func awaitReady(t *testing.T, s *Session, name string, replicas int32) {
	t.Helper()
	deployments := kubernetes.NewForConfigOrDie(s.Config()).AppsV1().Deployments("default")
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			d, err := deployments.Get(ctx, name, metav1.GetOptions{})
			return err == nil && d.Status.ReadyReplicas == replicas, err
		})
	if err != nil {
		t.Errorf("%d replicas of %q did not become ready: %v", replicas, name, err)
	}
}
