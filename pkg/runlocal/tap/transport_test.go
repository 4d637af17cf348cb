package tap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// server answers requests without a socket.
type server func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (s server) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// answering answers everything with the body.
func answering(code int, body []byte) server {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}, nil
	}
}

// encode spells an object as the API does, in JSON or protobuf.
func encode(t testing.TB, mediaType string, obj runtime.Object) []byte {
	t.Helper()
	gvk, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		t.Fatal(err)
	}
	gv := gvk[0].GroupVersion()
	if _, ok := obj.(*metav1.Status); ok {
		gv = schema.GroupVersion{Version: "v1"}
	}
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		t.Fatalf("no encoding %q", mediaType)
	}
	b, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, gv), obj)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// do makes a request through the controller's transport and returns the answer's body.
func do(t testing.TB, c *Controller, next server, method, url string, body []byte) []byte {
	t.Helper()
	config := c.Config(&rest.Config{Host: "https://api.example/k8s/", Transport: next})
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, "https://api.example"+url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return got
}

func object(group, version, resource, kind, name string) trace.Object {
	return trace.Object{Group: group, Version: version, Resource: resource, Kind: kind, Namespace: "default",
		Name: name}
}

func TestRequestsAreReadAsTheAPIDoes(t *testing.T) {
	pod := testPod("web-x1", "a")
	pod.ResourceVersion = "12"
	created := object("", "v1", "pods", "Pod", "web-x1")
	created.UID = "uid-web-x1"
	rs := object("apps", "v1", "replicasets", "ReplicaSet", "web")
	conflict := apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "replicasets"}, "web",
		errors.New("modified"))
	status := &conflict.ErrStatus
	for _, test := range []struct {
		reason      string
		method, url string
		code        int
		obj         runtime.Object // of the answer, in both encodings
		text        string         // of the answer, if it is no object
		want        trace.Request
	}{
		{reason: "a generated name is in the answer only", method: "POST", url: "/api/v1/namespaces/default/pods",
			code: 201, obj: pod,
			want: trace.Request{Verb: "create", Object: created, ResourceVersion: "12"}},
		{reason: "a dry run", method: "POST", url: "/api/v1/namespaces/default/pods?dryRun=All", code: 201, obj: pod,
			want: trace.Request{Verb: "create", Object: created, ResourceVersion: "12", DryRun: true}},
		{reason: "a refused write of a subresource", method: "PUT",
			url: "/apis/apps/v1/namespaces/default/replicasets/web/status", code: 409, obj: status,
			want: trace.Request{Verb: "update", Object: rs, Subresource: "status", Reason: "Conflict",
				Message: status.Message}},
		{reason: "a refusal by something before the API", method: "PATCH",
			url: "/apis/apps/v1/namespaces/default/replicasets/web", code: 503, text: "no healthy upstream",
			want: trace.Request{Verb: "patch", Object: rs, Message: "no healthy upstream"}},
		{reason: "a deletion that answers with a Status", method: "DELETE",
			url: "/api/v1/namespaces/default/pods/web-x1", code: 200, obj: &metav1.Status{Status: "Success"},
			want: trace.Request{Verb: "delete", Object: object("", "v1", "pods", "Pod", "web-x1")}},
		{reason: "a deletion of many", method: "DELETE", url: "/api/v1/namespaces/default/pods", code: 200,
			obj:  &corev1.PodList{},
			want: trace.Request{Verb: "deletecollection", Object: object("", "v1", "pods", "Pod", "")}},
		{reason: "a binding is no pod", method: "POST", url: "/api/v1/namespaces/default/pods/web-x1/binding",
			code: 201, obj: &metav1.Status{Status: "Success"},
			want: trace.Request{Verb: "create", Object: object("", "v1", "pods", "Pod", "web-x1"),
				Subresource: "binding"}},
		{reason: "a read", method: "GET", url: "/api/v1/namespaces/default/pods/web-x1", code: 200, obj: pod,
			want: trace.Request{Verb: "get", Object: created, ResourceVersion: "12"}},
		{reason: "a custom resource", method: "GET", url: "/apis/example.com/v1/namespaces/default/widgets/w",
			code: 200,
			text: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"default","resourceVersion":"3"}}`,
			want: trace.Request{Verb: "get", Object: object("example.com", "v1", "widgets", "Widget", "w"),
				ResourceVersion: "3"}},
		{reason: "no resource at all", method: "GET", url: "/version", code: 200, text: `{"major":"1"}`,
			want: trace.Request{Verb: "get", Object: trace.Object{Resource: "/version"}}},
	} {
		for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			body := []byte(test.text)
			if test.obj != nil {
				body = encode(t, mediaType, test.obj)
			}
			tap, sink := recording()
			got := do(t, tap.Controller("replicaset"), answering(test.code, body), test.method, "/k8s"+test.url, nil)
			if !bytes.Equal(got, body) {
				t.Errorf("%s: the caller got %q of %q", test.reason, got, body)
			}
			want := test.want
			want.Code = test.code
			request := *details[*trace.Request](sink)[0]
			request.Latency, request.Change = 0, nil
			if diff := cmp.Diff(want, request); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", test.reason, mediaType, diff)
			}
		}
	}
}

// endless is a body that must not be read by the tap.
type endless struct{ t *testing.T }

func (e endless) Read([]byte) (int, error) {
	e.t.Error("the tap reads the body of a stream")
	return 0, io.EOF
}

func TestStreamsAreNotRead(t *testing.T) {
	for _, url := range []string{
		"/api/v1/pods?watch=true", "/api/v1/pods", "/api/v1/namespaces/default/pods/web/log", "/api/v1/namespaces/default/pods/web/exec",
	} {
		tap, sink := recording()
		rt := &transport{c: tap.Controller("x"), next: server(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(endless{t})}, nil
		})}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example"+url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if requests := details[*trace.Request](sink); len(requests) != 1 || requests[0].Code != 200 {
			t.Errorf("%s: recorded %+v", url, requests)
		}
	}
}

// TestRefusedCreationsHaveAName: the answer to a creation that is refused has no object, but the request has.
func TestRefusedCreationsHaveAName(t *testing.T) {
	named := testPod("web-x1", "a")
	generated := testPod("", "a")
	generated.GenerateName = "web-"
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-x1",
		errors.New("exceeded quota")).ErrStatus
	for _, test := range []struct {
		reason string
		sent   *corev1.Pod
		code   int
		want   trace.Request
	}{
		{"the client set a name", named, 403,
			trace.Request{Object: object("", "v1", "pods", "Pod", "web-x1"), Reason: "Forbidden",
				Message: forbidden.Message}},
		{"the server was to make one", generated, 403, trace.Request{
			Object: object("", "v1", "pods", "Pod",
				""), GenerateName: "web-", Reason: "Forbidden", Message: forbidden.Message,
		}},
		{"there was no answer", named, 0, trace.Request{Object: object("", "v1", "pods", "Pod", "web-x1"),
			Message: "connection refused"}},
	} {
		for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			tap, sink := recording()
			next := answering(test.code, encode(t, mediaType, &forbidden))
			if test.code == 0 {
				next = func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }
			}
			do(t, tap.Controller("replicaset"), next, "POST", "/k8s/api/v1/namespaces/default/pods",
				encode(t, mediaType, test.sent))
			request := *details[*trace.Request](sink)[0]
			request.Latency = 0
			test.want.Verb, test.want.Code = "create", test.code
			if diff := cmp.Diff(test.want, request); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", test.reason, mediaType, diff)
			}
		}
	}
}

func TestFailureWithoutAnAnswer(t *testing.T) {
	tap, sink := recording()
	c := tap.Controller("x")
	end := inReconcile(t, c, sink, func(context.Context) {
		do(t, c, func(*http.Request) (*http.Response, error) {
			if s := tap.State(); s.Idle() || s.Controllers[0].Requests != 1 {
				t.Errorf("with a request under way the state is %+v", s)
			}
			return nil, errors.New("connection refused")
		}, "DELETE", "/k8s/api/v1/namespaces/default/pods/web", nil)
	})
	r := details[*trace.Request](sink)[0]
	if r.Code != 0 || r.Message != "connection refused" || !r.Failed() || end.Writes != 0 || end.Refused != 1 {
		t.Errorf("request %+v, end %+v", r, end)
	}
	if s := tap.State(); s.Controllers[0].Requests != 0 {
		t.Errorf("%d requests are left", s.Controllers[0].Requests)
	}
}

func TestChangeIsAgainstTheLatestKnownVersion(t *testing.T) {
	version := func(rv string, replicas int32) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ResourceVersion: rv},
			Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas},
		}
	}
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		tap, sink := recording()
		c := tap.Controller("deployment")
		put := func(obj *appsv1.ReplicaSet) string {
			do(t, c, answering(200, encode(t, mediaType, obj)), "PUT",
				"/k8s/apis/apps/v1/namespaces/default/replicasets/web", nil)
			requests := details[*trace.Request](sink)
			var changes []string
			for _, change := range requests[len(requests)-1].Change.Fields() {
				changes = append(changes, change.String())
			}
			return strings.Join(changes, "; ")
		}
		if got := put(version("10", 1)); got != "" {
			t.Errorf("%s: of an object never seen before the change is %q", mediaType, got)
		}
		if got := put(version("11", 2)); got != "spec.replicas: 1 -> 2" {
			t.Errorf("%s: against the answer before: %q", mediaType, got)
		}
		f := tap.Informers(nil, 0)
		store := f.Apps().V1().ReplicaSets().Informer().GetStore()
		if err := store.Add(version("15", 5)); err != nil {
			t.Fatal(err)
		}
		if got := put(version("16", 6)); got != "spec.replicas: 5 -> 6" {
			t.Errorf("%s: against the informer, which has seen more: %q", mediaType, got)
		}
		if got := put(version("17", 7)); got != "spec.replicas: 6 -> 7" {
			t.Errorf("%s: against the answer, which the informer has yet to see: %q", mediaType, got)
		}
	}
}

// TestScale: the answer to a write of the subresource scale has the number of replicas, but not of 0.
func TestScale(t *testing.T) {
	scale := func(replicas int32) *autoscalingv1.Scale {
		return &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ResourceVersion: "12"},
			Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
		}
	}
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		tap, sink := recording()
		c := tap.Controller("horizontalpodautoscaling")
		put := func(obj runtime.Object, subresource string) string {
			do(t, c, answering(200, encode(t, mediaType, obj)), "PUT",
				"/k8s/apis/apps/v1/namespaces/default/replicasets/web"+subresource, nil)
			requests := details[*trace.Request](sink)
			return fmt.Sprint(requests[len(requests)-1].Change.Fields())
		}
		if got := put(scale(2), "/scale"); got != "[]" {
			t.Errorf("%s: of an object never seen before the change is %s", mediaType, got)
		}
		three := int32(3)
		put(&appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ResourceVersion: "11"},
			Spec:       appsv1.ReplicaSetSpec{Replicas: &three},
		}, "")
		for replicas, want := range map[int32]string{2: "[spec.replicas: 3 -> 2]", 0: "[spec.replicas: 3 -> 0]", 3: "[]"} {
			if got := put(scale(replicas), "/scale"); got != want {
				t.Errorf("%s: %s, want %s", mediaType, got, want)
			}
		}
	}
}

func TestWhatWasCreatedIsTold(t *testing.T) {
	tap, sink := recording()
	do(t, tap.Controller("x"), answering(201, encode(t, runtime.ContentTypeProtobuf, testPod("web", "nginx"))), "POST",
		"/k8s/api/v1/namespaces/default/pods", nil)
	for _, c := range details[*trace.Request](sink)[0].Change.Fields() {
		if !strings.HasPrefix(c.Path, "spec.") {
			t.Errorf("%s is not what the creator has requested", c)
		}
	}
}

func TestWritersAreKnownByTheAnswer(t *testing.T) {
	tap, sink := recording()
	c := tap.Controller("replicaset")
	send := func(method, path, rv string) {
		pod := testPod("web", "a")
		pod.ResourceVersion = rv
		do(t, c, answering(200, encode(t, runtime.ContentTypeJSON, pod)), method,
			"/k8s/api/v1/namespaces/default/pods"+path, nil)
	}
	inReconcile(t, c, sink, func(context.Context) {
		send("POST", "", "5")
		send("PUT", "/web", "5") // changes nothing
		send("GET", "/web", "6")
		send("PUT", "/web?dryRun=All", "7")
		send("PUT", "/web", "8")
		tap.Committed(t.Context(), 9)
	})
	send("PUT", "/web", "10")
	tap.Committed(t.Context(), 11)
	var got []string
	for rv := range uint64(12) {
		if id := tap.writers.get(rv).id; id != 0 {
			got = append(got, fmt.Sprintf("%d by %d", rv, id))
		}
	}
	if diff := cmp.Diff([]string{"5 by 1", "8 by 1", "9 by 1"}, got); diff != "" {
		t.Errorf("writers (-want +got):\n%s", diff)
	}
}

func TestCommittedInTheServersGoroutine(t *testing.T) {
	tap, sink := recording()
	c := tap.Controller("replicaset")
	inReconcile(t, c, sink, func(context.Context) {
		do(t, c, func(*http.Request) (*http.Response, error) {
			done := make(chan struct{})
			go func() { // as an API server in this process serves a request
				defer close(done)
				tap.Committed(t.Context(), 42)
			}()
			<-done
			return answering(200, []byte(`{"kind":"Pod"}`))(nil)
		}, "POST", "/k8s/api/v1/namespaces/default/pods", nil)
	})
	if id := tap.writers.get(42).id; id != 1 {
		t.Errorf("the write is of reconcile %d, want 1", id)
	}
}

func TestRecordedEventsBelongToTheReconcileOfTheirTime(t *testing.T) {
	about := corev1.ObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "default", Name: "web"}
	want := trace.RecordedEvent{Type: "Normal", Reason: "SuccessfulCreate", Message: "Created pod",
		Regarding: object("apps", "v1", "", "ReplicaSet", "web")}
	tap, sink := recording()
	c := tap.Controller("replicaset")
	q := newQueue(c)
	defer q.ShutDown()
	var begun []int64 // in the middle of each reconcile
	for range 3 {
		q.Add("default/web")
		reconcileOnce(q, sink, func(string) { begun = append(begun, tap.clock.Now().UnixNano()) })
	}
	core := func(at int64) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("web.%x", at),
				ResourceVersion: "9"},
			InvolvedObject: about, Type: "Normal", Reason: "SuccessfulCreate", Message: "Created pod",
		}
	}
	recent := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("web.%x", begun[0])},
		Regarding:  about, Type: "Normal", Reason: "SuccessfulCreate", Note: "Created pod",
	}
	denied := encode(t, runtime.ContentTypeJSON, &metav1.Status{Status: "Failure", Reason: "Forbidden", Code: 403})
	for _, test := range []struct {
		reason           string
		method, path     string
		code             int
		body, answer     []byte
		want             trace.ReconcileID
		withoutRecording bool
		unknown          bool
	}{
		{reason: "the first of three reconciles", method: "POST", path: "/api/v1/namespaces/default/events", code: 201,
			answer: encode(t, runtime.ContentTypeProtobuf, core(begun[0])), want: 1},
		{reason: "the second", method: "POST", path: "/api/v1/namespaces/default/events", code: 201,
			answer: encode(t, runtime.ContentTypeJSON, core(begun[1])), want: 2},
		{reason: "a patch counts one up: only the latest reconcile can have recorded it", method: "PATCH",
			path: "/api/v1/namespaces/default/events/web.1", code: 200, answer: encode(t, runtime.ContentTypeJSON,
				core(begun[0])), want: 3},
		{reason: "of the other API", method: "POST", path: "/apis/events.k8s.io/v1/namespaces/default/events",
			code: 201, answer: encode(t, runtime.ContentTypeJSON, recent), want: 1},
		{reason: "refused, as after the namespace's deletion", method: "POST",
			path: "/api/v1/namespaces/default/events", code: 403, answer: denied, body: encode(t,
				runtime.ContentTypeProtobuf, core(begun[1])), want: 2},
		{reason: "a refused patch does not say what it is about", method: "PATCH",
			path: "/api/v1/namespaces/default/events/web.1", code: 403, answer: denied, body: []byte(`{"count":2}`), unknown: true},
		{reason: "nor does one without a body", method: "PATCH", path: "/api/v1/namespaces/default/events/web.1",
			code: 404, answer: denied, unknown: true},
		{reason: "a deletion of Events records none", method: "DELETE", path: "/api/v1/namespaces/default/events",
			code: 403, answer: denied, withoutRecording: true},
		{reason: "a deletion records nothing", method: "DELETE", path: "/api/v1/namespaces/default/pods/web", code: 200,
			answer: encode(t, runtime.ContentTypeJSON, &metav1.Status{Status: "Success"}), withoutRecording: true},
	} {
		do(t, c, answering(test.code, test.answer), test.method, "/k8s"+test.path, test.body)
		all := sink.list()
		last := all[len(all)-1]
		recorded := last.Detail.(*trace.Request).Recorded
		if test.withoutRecording {
			if recorded != nil {
				t.Errorf("%s: recorded %+v", test.reason, recorded)
			}
			continue
		}
		if recorded == nil {
			t.Errorf("%s: no event is recorded", test.reason)
			continue
		}
		if test.unknown {
			if *recorded != (trace.RecordedEvent{}) || last.Reconcile != 0 {
				t.Errorf("%s: %+v of reconcile %d", test.reason, recorded, last.Reconcile)
			}
			continue
		}
		if diff := cmp.Diff(want, *recorded); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		if last.Reconcile != test.want || last.Key != "default/web" {
			t.Errorf("%s: it is of reconcile %d, key %q; want %d", test.reason, last.Reconcile, last.Key, test.want)
		}
	}
}

func TestConfigNamesTheController(t *testing.T) {
	tap, _ := recording()
	base := &rest.Config{Host: "h", UserAgent: "kubectl"}
	if got := tap.Controller("deployment").Config(base); got.UserAgent != "kubectl-reconcile/deployment" ||
		base.UserAgent != "kubectl" || base.WrapTransport != nil {
		t.Errorf("got user agent %q; the base has become %+v", got.UserAgent, base)
	}
}
