package tap

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// TestHandler: what is recorded of requests of clients outside, and that these get answers unchanged.
func TestHandler(t *testing.T) {
	const (
		pod    = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","uid":"u1","resourceVersion":"7"}}`
		denied = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods \"b\" is forbidden","reason":"Forbidden","details":{"name":"b","kind":"pods"},"code":403}`
		pods   = "/api/v1/namespaces/shop/pods"
	)
	for _, row := range []struct {
		reason, method, path, agent string
		code                        int
		body                        string
		want                        string // program verb namespace/name code reason resourceVersion; empty if nothing is recorded
	}{
		{"created", "POST", pods, "manager/v1 (linux)", 201, pod, "manager create shop/a 201  7"},
		{"refused: the name is in the answer", "POST", pods, "manager/v1", 403, denied, "manager create shop/b 403 Forbidden "},
		{"no user agent", "DELETE", pods + "/a", "", 404, "gone", "unknown delete shop/a 404  "},
		{"no header", "GET", pods, "kubectl", 0, `{"kind":"PodList"}`, "kubectl list shop/ 200  "},
		{"a watch", "GET", pods + "?watch=1", "kubectl", 200, "{}", "kubectl watch shop/ 200  "},
		{"discovery", "GET", "/apis", "kubectl", 200, "{}", ""},
		{"an answer that is no object", "PUT", pods + "/a", "x", 200, "{", "x update shop/a 200  "},
	} {
		t.Run(row.reason, func(t *testing.T) {
			history := &trace.History{}
			tap := New(Options{Recorder: trace.NewRecorder(clock.RealClock{}, history)})
			handler := tap.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if row.code != 0 {
					w.WriteHeader(row.code)
				}
				_, _ = w.Write([]byte(row.body))
			}))
			req := httptest.NewRequest(row.method, row.path, nil)
			req.Header.Set("User-Agent", row.agent)
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, req)
			if answer.Body.String() != row.body || row.code != 0 && answer.Code != row.code {
				t.Errorf("the client got %d %q", answer.Code, answer.Body)
			}
			var got []string
			for e := range history.All() {
				r := e.Detail.(*trace.ClientRequest)
				got = append(got, strings.Join([]string{
					r.Program, r.Verb, r.Namespace + "/" + r.Name, strconv.Itoa(r.Code), r.Reason, r.ResourceVersion}, " "))
				if e.Controller != "" || r.UserAgent != row.agent {
					t.Errorf("the event is of %q, the user agent is %q", e.Controller, r.UserAgent)
				}
			}
			want := []string{row.want}
			if row.want == "" {
				want = nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHandlerSecrets: messages of refusals that may quote the values of a Secret are not kept.
func TestHandlerSecrets(t *testing.T) {
	const path = "/api/v1/namespaces/shop/secrets/db"
	for _, row := range []struct {
		reason, path, status, message, want string
	}{
		{"a patch that cannot be applied", path, "Invalid", `"" is invalid: patch: Invalid value: "{\"data\":{\"p\":\"hunter2\"}}": json`, "; the message is not kept"},
		{"of another kind, too", "/api/v1/namespaces/shop/pods/a", "Invalid", `"" is invalid: patch: Invalid value: "{\"p\":\"hunter2\"}": json: bad`, "json: bad"},
		{"a webhook", path, "Forbidden", `admission webhook "w" denied the request: hunter2`, "; the message is not kept"},
		{"a name that looks like it", path, "Forbidden", `secrets "hunter2" is forbidden: User "a" has hunter2`, "; the message is not kept"},
		{"access", path, "Forbidden", `secrets "db" is forbidden: User "a" cannot patch resource "secrets" in API group "" in the namespace "shop"`, "cannot patch"},
		{"a conflict", path, "Conflict", `Operation cannot be fulfilled on secrets "db"`, "cannot be fulfilled"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			history := &trace.History{}
			tap := New(Options{Recorder: trace.NewRecorder(clock.RealClock{}, history)})
			body, err := json.Marshal(metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
				Reason:   metav1.StatusReason(row.status), Message: row.message,
			})
			if err != nil {
				t.Fatal(err)
			}
			handler := tap.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write(body)
			}))
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPatch, row.path, nil))
			for e := range history.All() {
				message := e.Detail.(*trace.ClientRequest).Message
				if !strings.Contains(message, row.want) || strings.Contains(message, "hunter2") {
					t.Errorf("the message is %q", message)
				}
			}
		})
	}
}

// TestHandlerStreams: a watch reaches its client event by event, by HTTP/1 and by HTTP/2.
func TestHandlerStreams(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		tap := New(Options{Recorder: trace.NewRecorder(clock.RealClock{}, &trace.History{})})
		read := make(chan struct{})
		server := httptest.NewUnstartedServer(tap.Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			_, _ = w.Write([]byte("first\n"))
			w.(http.Flusher).Flush()
			select {
			case <-read:
			case <-req.Context().Done():
			}
		})))
		server.EnableHTTP2 = http2
		server.StartTLS()
		resp, err := server.Client().Get(server.URL + "/api/v1/pods?watch=1")
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); line != "first\n" || resp.ProtoMajor != map[bool]int{false: 1, true: 2}[http2] {
			t.Errorf("HTTP/2 %t: read %q, %v by HTTP/%d", http2, line, err, resp.ProtoMajor)
		}
		close(read)
		_ = resp.Body.Close()
		server.Close()
	}
}

// TestProgramsWrite: of a deletion, and where managedFields do not tell, the program that sent the request has written.
func TestProgramsWrite(t *testing.T) {
	tap, _ := recording()
	handler := tap.Handler(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		committed := make(chan struct{})
		go func() { // as filters of an API server do
			tap.Committed(req.Context(), 7)
			close(committed)
		}()
		<-committed
	}))
	req := httptest.NewRequest(http.MethodDelete, "/api/v1/namespaces/shop/pods/a", nil)
	req.Header.Set("User-Agent", "kubectl/v1")
	handler.ServeHTTP(httptest.NewRecorder(), req)
	tap.Committed(t.Context(), 8)
	for version, want := range map[string]string{"7": "kubectl", "8": ""} {
		for _, event := range []trace.WatchType{trace.Deleted, trace.Modified} {
			pod := &metav1.ObjectMeta{Name: "a", ResourceVersion: version}
			if got := tap.manager(&trace.Watch{Event: event}, pod).Name(); got != want {
				t.Errorf("%s of version %s was written by %q, not %q", event, version, got, want)
			}
		}
	}
}

// TestHandlerAborted: an answer that a handler breaks off is recorded, and a watch when it begins.
func TestHandlerAborted(t *testing.T) {
	history := &trace.History{}
	tap := New(Options{Recorder: trace.NewRecorder(clock.RealClock{}, history)})
	recorded := func() (n int) {
		for range history.All() {
			n++
		}
		return n
	}
	handler := tap.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		if recorded() != 1 {
			t.Error("a watch is not recorded when it begins")
		}
		panic(http.ErrAbortHandler)
	}))
	defer func() {
		if recover() == nil || recorded() != 1 {
			t.Errorf("a handler that panics: %d requests are recorded", recorded())
		}
	}()
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/api/v1/pods?watch=true", nil))
}
