package runlocal

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/guard"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// onCluster runs controllers on the API of a session that has none, in the place of a cluster.
func onCluster(t *testing.T, cluster *Session, c ClusterOptions, o Options, names ...string) (*Session, error) {
	t.Helper()
	o.Controllers = Names(names...)
	if c.Config == nil {
		c.Config = cluster.Config()
	}
	s, err := StartCluster(t.Context(), c, o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return s, nil
}

// requests is a sink of the requests that controllers make.
type requests struct {
	mu  sync.Mutex
	all []trace.Request
}

func (r *requests) Record(e *trace.Event) {
	if q, ok := e.Detail.(*trace.Request); ok && q.IsWrite() && q.Recorded == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = append(r.all, *q)
	}
}

// list spells the writes: "create replicasets 201 dry".
func (r *requests) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, q := range r.all {
		text := q.Verb + " " + q.Resource
		if q.Subresource != "" {
			text += "/" + q.Subresource
		}
		if q.DryRun {
			text += " dry"
		}
		if q.Failed() {
			text += " refused"
		}
		out = append(out, text)
	}
	return out
}

func TestClusterDryRun(t *testing.T) {
	for _, mode := range []guard.Mode{"", guard.Server, guard.Client} {
		t.Run("mode "+string(mode), func(t *testing.T) {
			cluster := start(t, Options{NoScheduling: true})
			ctx := within(t)
			if _, err := cluster.Apply(ctx, "default", manifests(t, deployment("web", 3))); err != nil {
				t.Fatal(err)
			}
			made := &requests{}
			s, err := onCluster(t, cluster, ClusterOptions{DryRun: mode}, Options{
				Recorder: trace.NewRecorder(clock.RealClock{}, made),
			}, "deployment", "replicaset")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.WaitSettled(ctx); err != nil {
				t.Fatal(err)
			}
			got := made.list()
			if !slices.Contains(got, "create replicasets dry") || slices.ContainsFunc(got,
				func(w string) bool { return !strings.HasSuffix(w, " dry") }) {
				t.Errorf("the writes were %q", got)
			}
			sets, err := kubernetes.NewForConfigOrDie(cluster.Config()).AppsV1().ReplicaSets("").List(ctx,
				metav1.ListOptions{})
			if err != nil || len(sets.Items) > 0 {
				t.Errorf("%d ReplicaSets were made (%v)", len(sets.Items), err)
			}
		})
	}
}

func TestClusterWrites(t *testing.T) {
	cluster := start(t, Options{Nodes: 1})
	ctx := within(t)
	applied, err := cluster.Apply(ctx, "default", manifests(t, deployment("web", 2)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := onCluster(t, cluster, ClusterOptions{Write: true}, Options{}, "deployment", "replicaset")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(ctx, applied); err != nil {
		t.Error(err)
	}
	if s.Server() != nil {
		t.Error("a session on a cluster has its own API server")
	}
}

// refusing is a transport that refuses to list or watch some resources.
type refusing struct {
	next http.RoundTripper
	code func(path string) int
}

func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	if code := r.code(req.URL.Path); code != 0 {
		return &http.Response{StatusCode: code, Status: http.StatusText(code), Body: http.NoBody, Header: http.Header{},
			Request: req}, nil
	}
	return r.next.RoundTrip(req)
}

// roundTripper is a transport that is a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func refuse(config *rest.Config, code func(path string) int) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return refusing{next, code} })
	return config
}

// TestHopelessCaches: a controller that may not read what it needs ends the start, with all that is missing.
func TestHopelessCaches(t *testing.T) {
	cluster := start(t, Options{NoScheduling: true})
	o := ClusterOptions{refusalGrace: patience}
	o.Config = refuse(cluster.Config(), func(path string) int {
		switch path {
		case "/api/v1/pods":
			return http.StatusForbidden
		case "/apis/apps/v1/replicasets":
			return http.StatusNotFound
		}
		return 0
	})
	_, err := onCluster(t, cluster, o, Options{}, "deployment", "replicaset", "serviceaccount")
	var hopeless *CacheError
	if !errors.As(err, &hopeless) {
		t.Fatalf("the error is %v", err)
	}
	type want struct {
		resource string
		readers  []string
	}
	var got []want
	for _, l := range hopeless.Listings {
		got = append(got, want{l.Resource.String(), l.Controllers})
	}
	both := []string{"deployment", "replicaset"}
	if diff := cmp.Diff([]want{{"pods", both}, {"replicasets.apps", both}}, got,
		cmp.AllowUnexported(want{})); diff != "" {
		t.Errorf("what cannot be listed (-want +got):\n%s", diff)
	}
}

// TestUndecodableObject: an object that cannot be decoded ends the start, and is named.
func TestUndecodableObject(t *testing.T) {
	cluster := start(t, Options{NoScheduling: true})
	o := ClusterOptions{refusalGrace: patience}
	o.Config = cluster.Config()
	const list = `{"kind":"ReplicaSetList","apiVersion":"apps/v1","metadata":{"resourceVersion":"1"},"items":[
		{"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"namespace":"a","name":"good"}},
		{"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"namespace":"a","name":"bad"},"spec":{"replicas":"two"}}]}`
	o.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.URL.Path != "/apis/apps/v1/replicasets" {
				return next.RoundTrip(req)
			}
			if req.URL.Query().Get("watch") != "" {
				return answered(req, http.StatusUnprocessableEntity, `{"kind":"Status","status":"Failure","code":422}`), nil
			}
			return answered(req, http.StatusOK, list), nil
		})
	})
	_, err := onCluster(t, cluster, o, Options{}, "replicaset")
	var undecodable *UndecodableError
	if !errors.As(err, &undecodable) || undecodable.Object != "a/bad" {
		t.Fatalf("the error is %v", err)
	}
}

// TestSlowCaches: a start that waits says for what, and continues when the answer arrives.
func TestSlowCaches(t *testing.T) {
	cluster := start(t, Options{NoScheduling: true})
	var mu sync.Mutex
	waiting := make(chan []Listing, 1)
	silent := true
	config := refuse(cluster.Config(), func(path string) int {
		mu.Lock()
		defer mu.Unlock()
		if path == "/apis/apps/v1/replicasets" && silent {
			return http.StatusInternalServerError
		}
		return 0
	})
	var filled, all int
	filling := func(n, of int) { filled, all = n, of } // the session calls it no more once it has started
	_, err := onCluster(t, cluster, ClusterOptions{Config: config, Filling: filling, Waiting: func(l []Listing) {
		mu.Lock()
		defer mu.Unlock()
		silent = false
		waiting <- l
	}}, Options{}, "deployment", "replicaset")
	if err != nil {
		t.Fatal(err)
	}
	if l := <-waiting; len(l) != 1 || l[0].Resource.Resource != "replicasets" || l[0].Listed ||
		len(l[0].Controllers) != 2 {
		t.Errorf("it waited for %+v", l)
	}
	if filled < 2 || filled > 3 || all != 3 {
		t.Errorf("while it waited, %d of %d resources were listed", filled, all)
	}
}

// TestTroubleLater: a permission that is taken away while the controllers run is reported once, and so is its return.
func TestTroubleLater(t *testing.T) {
	cluster := start(t, Options{NoScheduling: true})
	var mu sync.Mutex
	forbidden := false
	ctx, cut := context.WithCancel(t.Context())
	config := cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return refusing{cutting{next, func() context.Context { mu.Lock(); defer mu.Unlock(); return ctx }},
			func(path string) int {
				mu.Lock()
				defer mu.Unlock()
				if forbidden && strings.HasSuffix(path, "/pods") {
					return http.StatusForbidden
				}
				return 0
			}}
	})
	reported := make(chan []Listing, 10)
	session, err := onCluster(t, cluster, ClusterOptions{Config: config, Trouble: func(l []Listing) { reported <- l }}, Options{},
		"replicaset")
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	forbidden = true
	cut()
	ctx = t.Context()
	mu.Unlock()
	for _, want := range []bool{true, false} {
		select {
		case l := <-reported:
			if len(l) != 1 || l[0].Resource.Resource != "pods" || (l[0].Err != nil) != want || !l[0].Listed {
				t.Errorf("reported %+v, want an error: %t", l, want)
			}
			if lost := session.Unreadable(); want && len(lost) != len(l) || !want && lost != nil {
				t.Errorf("cannot be read: %+v, want any: %t", lost, want)
			}
		case <-time.After(patience):
			t.Fatalf("nothing was reported, want an error: %t", want)
		}
		mu.Lock()
		forbidden = false
		mu.Unlock()
	}
}

// cutting is a transport whose watches end with a context.
type cutting struct {
	next http.RoundTripper
	ctx  func() context.Context
}

func (c cutting) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Query().Get("watch") == "" {
		return c.next.RoundTrip(req)
	}
	ctx, cancel := context.WithCancel(req.Context())
	context.AfterFunc(c.ctx(), cancel)
	return c.next.RoundTrip(req.WithContext(ctx))
}
