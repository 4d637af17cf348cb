package playback

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// cluster is an API to record.
func cluster(t testing.TB) (*rest.Config, kubernetes.Interface) {
	t.Helper()
	server, err := api.Start(context.WithoutCancel(t.Context()), api.Options{DefaultServiceAccounts: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server.Config(), clientOf(t, server.Config())
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

// reply is an answer of an API.
type reply struct {
	Code     int
	Body     string
	Warnings []string
}

// ask requests a path, in the form of accept.
func ask(t testing.TB, config *rest.Config, method, path, accept string) reply {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, config.Host+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, string(body), response.Header.Values("Warning")}
}

// events are the lines of a watch.
type events struct {
	testing.TB
	lines *bufio.Scanner
}

func watchRaw(t testing.TB, config *rest.Config, path string) events {
	t.Helper()
	p := newTape(t, config)
	ctx, cancel := context.WithCancel(t.Context())
	body := p.request(ctx, path)
	t.Cleanup(func() { cancel(); _ = body.Close() })
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	return events{t, lines}
}

// event is a watch event in short.
type event struct{ Type, Name, Version string }

// next returns the next event, with its object.
func (e events) next() (event, json.RawMessage) {
	e.Helper()
	if !e.lines.Scan() {
		e.Fatalf("the watch has ended: %v", e.lines.Err())
	}
	var ev struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(e.lines.Bytes(), &ev); err != nil {
		e.Fatal(err)
	}
	var named metav1.PartialObjectMetadata
	if err := json.Unmarshal(ev.Object, &named); err != nil && ev.Type != "ERROR" {
		e.Fatal(err)
	}
	return event{ev.Type, named.Name, named.ResourceVersion}, slices.Clone(ev.Object)
}

func labelled(name string) (map[string]string, corev1.PodTemplateSpec) {
	labels := map[string]string{"app": name}
	return labels, corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1"}}},
	}
}

func deployment(name string) *appsv1.Deployment {
	labels, template := labelled(name)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
}

func pod(name string) *corev1.Pod {
	labels, template := labelled(name)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: template.Spec}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// rollout is a recording of what happened to a Deployment and a Pod, with the moments in it and what the API answered
// then.
type rollout struct {
	*tape
	deployments, pods int // streams
	// created is the Deployment; ready, deleting and removed are of the Pod web-1; labelled is the Deployment.
	created, ready, labelled, deleting, removed *replay.Record
	answers                                     map[int64]map[string]string // by the number of the record
}

// shared is the rollout, which is recorded once for all tests.
var shared struct {
	once sync.Once
	*rollout
}

// recordRollout returns a copy of the recording of the rollout.
func recordRollout(t testing.TB) *rollout {
	t.Helper()
	shared.once.Do(func() { shared.rollout = newRollout(t) })
	if shared.rollout == nil {
		t.Fatal("the rollout could not be recorded")
	}
	out := *shared.rollout
	out.tape = &tape{TB: t, began: shared.began, streams: maps.Clone(shared.streams)}
	for _, r := range shared.Records {
		r = r.Clone()
		if r.NewStream != nil {
			s := *r.NewStream
			r.NewStream = &s
		}
		out.Append(r)
	}
	for _, r := range []**replay.Record{&out.created, &out.ready, &out.labelled, &out.deleting, &out.removed} {
		*r = out.Records[(*r).Number-1]
	}
	return &out
}

const (
	asJSON  = "application/json"
	asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"
	asYAML  = "application/yaml"
)

// questions are what is asked of the recorded API and of the one that serves the recording.
var questions = [][2]string{
	{"/apis/apps/v1/namespaces/default/deployments", asJSON},
	{"/apis/apps/v1/deployments", asTable},
	{"/apis/apps/v1/namespaces/default/deployments/web", asYAML},
	{"/apis/apps/v1/namespaces/default/deployments/web", asJSON},
	{"/apis/apps/v1/namespaces/default/deployments/web/scale", asJSON},
	{"/api/v1/namespaces/default/pods", asTable},
	{"/api/v1/pods?labelSelector=app%3Dweb-1", asJSON},
	{"/api/v1/pods?fieldSelector=status.phase%3DRunning", asJSON},
	{"/api/v1/namespaces/default/pods/web-1", asYAML},
}

// listVersion is the version of a list, which is that of the store in one API and of the resource in the other; age is
// that in a table.
var (
	listVersion = regexp.MustCompile(`"metadata":\{"resourceVersion":"\d+"\}`)
	age         = regexp.MustCompile(`"\d+s"`)
)

func answers(t testing.TB, config *rest.Config) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, q := range questions {
		body := ask(t, config, http.MethodGet, q[0], q[1]).Body
		body = listVersion.ReplaceAllString(body, `"metadata":{}`)
		out[q[0]+" "+q[1]] = age.ReplaceAllString(body, `"age"`)
	}
	return out
}

func newRollout(t testing.TB) *rollout {
	t.Helper()
	config, client := cluster(t)
	deployments, pods := client.AppsV1().Deployments("default"), client.CoreV1().Pods("default")
	ctx := t.Context()
	r := &rollout{tape: newTape(t, config), answers: map[int64]map[string]string{}}
	must[*corev1.Pod](t)(pods.Create(ctx, pod("old"), metav1.CreateOptions{}))
	r.deployments = r.list(stream("apps", "v1", "Deployment", "deployments"))
	r.pods = r.list(stream("", "v1", "Pod", "pods"))

	must[*appsv1.Deployment](t)(deployments.Create(ctx, deployment("web"), metav1.CreateOptions{}))
	r.created = r.next(r.deployments)
	created := must[*corev1.Pod](t)(pods.Create(ctx, pod("web-1"), metav1.CreateOptions{}))
	r.next(r.pods)
	created.Status.Phase = corev1.PodRunning
	created.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.Now()}}
	must[*corev1.Pod](t)(pods.UpdateStatus(ctx, created, metav1.UpdateOptions{}))
	r.ready = r.next(r.pods)
	r.answers[r.ready.Number] = answers(t, config)
	must[*appsv1.Deployment](t)(deployments.Patch(ctx, "web", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"tier":"front"}}}`), metav1.PatchOptions{}))
	r.labelled = r.next(r.deployments)
	r.answers[r.labelled.Number] = answers(t, config)
	now := int64(0)
	if err := pods.Delete(ctx, "web-1", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	r.deleting = r.next(r.pods)
	r.removed = r.next(r.pods)
	r.answers[r.removed.Number] = answers(t, config)
	return r
}

func TestAnswersAsTheClusterDid(t *testing.T) {
	r := recordRollout(t)
	for _, test := range []struct {
		name   string
		moment *replay.Record
		reason string
	}{
		{"ready", r.ready, "a status that was written"},
		{"labelled", r.labelled, "an object that was changed"},
		{"removed", r.removed, "an object that was deleted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, &r.Memory, Options{At: number(test.moment)})
			if diff := cmp.Diff(r.answers[test.moment.Number], answers(t, s.Config())); diff != "" {
				t.Errorf("%s: (-recorded +served)\n%s", test.reason, diff)
			}
			if unserved := s.NotServed(); len(unserved) > 0 {
				t.Errorf("not served: %v", unserved)
			}
		})
	}
}

// TestEachResourceHasItsVersion: the version of a list is that of the newest event of its resource, so that events of
// it that arrive later than a newer one of another resource are not lost.
func TestEachResourceHasItsVersion(t *testing.T) {
	r := recordRollout(t)
	s := serve(t, &r.Memory, Options{At: number(r.ready)})
	deployments := must[*appsv1.DeploymentList](t)(clientOf(t, s.Config()).AppsV1().Deployments("").List(t.Context(),
		metav1.ListOptions{}))
	if deployments.ResourceVersion != r.created.ResourceVersion {
		t.Errorf("list of deployments at %s, want %s", deployments.ResourceVersion, r.created.ResourceVersion)
	}
	pods := must[*corev1.PodList](t)(clientOf(t, s.Config()).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}))
	if pods.ResourceVersion != r.ready.ResourceVersion {
		t.Errorf("list of pods at %s, want %s", pods.ResourceVersion, r.ready.ResourceVersion)
	}
}

func TestDeliversRecordedEvents(t *testing.T) {
	r := recordRollout(t)
	s := serve(t, &r.Memory, Options{At: replay.Moment{Start: true}})
	pods := must[*corev1.PodList](t)(clientOf(t, s.Config()).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}))
	if len(pods.Items) != 1 || pods.Items[0].Name != "old" {
		t.Fatalf("the first list is %v", pods.Items)
	}
	all := watchRaw(t, s.Config(), "/api/v1/pods?watch=1&resourceVersion="+pods.ResourceVersion)
	running := watchRaw(t, s.Config(), "/api/v1/pods?watch=1&fieldSelector=status.phase%3DRunning&resourceVersion="+
		pods.ResourceVersion)
	if err := s.Seek(t.Context(), replay.Moment{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range r.Records {
		if want.Stream != r.pods || want.Type != replay.TypeAdded && want.Type != replay.TypeModified &&
			want.Type != replay.TypeDeleted {
			continue
		}
		got, object := all.next()
		if diff := cmp.Diff(event{want.Type.String(), want.Name, want.ResourceVersion}, got); diff != "" {
			t.Errorf("#%d (-recorded +served)\n%s", want.Number, diff)
		}
		if diff := cmp.Diff(decoded(t, want.Object), decoded(t, object)); diff != "" {
			t.Errorf("#%d (-recorded +served)\n%s", want.Number, diff)
		}
	}
	for _, want := range []event{
		{"ADDED", "web-1", r.ready.ResourceVersion}, // it begins to match
		{"MODIFIED", "web-1", r.deleting.ResourceVersion},
		{"DELETED", "web-1", r.removed.ResourceVersion},
	} {
		if got, _ := running.next(); got != want {
			t.Errorf("watch with a selector: %v, want %v", got, want)
		}
	}
}

func decoded(t testing.TB, data []byte) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSeekBackEndsWatches(t *testing.T) {
	r := recordRollout(t)
	s := serve(t, &r.Memory, Options{})
	pods := watchRaw(t, s.Config(), "/api/v1/pods?watch=1&resourceVersion="+r.removed.ResourceVersion)
	if err := s.Seek(t.Context(), number(r.ready)); err != nil {
		t.Fatal(err)
	}
	if got, object := pods.next(); got.Type != "ERROR" || decoded(t, object)["code"] != float64(http.StatusGone) {
		t.Errorf("after a seek back the watch gets %v %s", got, object)
	}
	if diff := cmp.Diff(r.answers[r.ready.Number], answers(t, s.Config())); diff != "" {
		t.Errorf("(-recorded +served)\n%s", diff)
	}
	// a client that continues where it was has seen what is yet to come
	again := watchRaw(t, s.Config(), "/api/v1/pods?watch=1&resourceVersion="+r.removed.ResourceVersion)
	if got, object := again.next(); got.Type != "ERROR" || decoded(t, object)["code"] != float64(http.StatusGone) {
		t.Errorf("a watch from a later version gets %v %s", got, object)
	}
	fresh := watchRaw(t, s.Config(), "/api/v1/pods?watch=1&resourceVersion="+r.ready.ResourceVersion)
	if err := s.Step(t.Context(), 3); err != nil { // the Deployment, and the end of the pod
		t.Fatal(err)
	}
	fresh.next() // the time of deletion
	if got, _ := fresh.next(); got != (event{"DELETED", "web-1", r.removed.ResourceVersion}) {
		t.Errorf("got %v", got)
	}
	if err := s.Step(t.Context(), 1); !errors.Is(err, ErrEnd) {
		t.Errorf("a step after the end: %v", err)
	}
	var outside *replay.OutsideError
	if err := s.Seek(t.Context(), replay.Moment{Number: 1000}); !errors.As(err, &outside) {
		t.Errorf("a seek behind the end: %v", err)
	}
	if diff := cmp.Diff(r.answers[r.removed.Number], answers(t, s.Config())); diff != "" {
		t.Errorf("after a seek that failed (-recorded +served)\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	r := recordRollout(t)
	r.streams[r.pods] = replay.Stream{}
	for _, record := range r.Records {
		if record.Type == replay.TypeStream && record.Stream == r.pods {
			record.NewStream.Namespace = "default"
		}
	}
	s := serve(t, &r.Memory, Options{ReadOnly: "no writes", Users: []api.RecordedUser{{Name: "jane", Token: "secret"}}})
	jane := s.Config()
	jane.BearerToken = "secret"
	stranger := s.Config()
	stranger.BearerToken = ""
	for _, test := range []struct {
		config       *rest.Config
		method, path string
		code         int
		want, reason string
	}{
		{jane, "GET", "/api/v1/pods", 200, "", "whoever authenticates may read, whatever the roles were"},
		{stranger, "GET", "/api/v1/pods", 403, "", "others may not"},
		{stranger, "GET", ControlPath, 403, "", "nor see, or steer, the playback"},
		{jane, "GET", ControlPath, 200, `"records"`, "who may read may steer"},
		{jane, "POST", "/api/v1/namespaces/default/pods", 403, "no writes", "a recording does not change"},
		{jane, "DELETE", "/apis/apps/v1/namespaces/default/deployments/web", 403, "no writes", "deletions are writes"},
		{jane, "DELETE", "/api/v1/namespaces/default/pods", 403, "no writes", "those of collections, too"},
		{jane, "POST", "/api/v1/namespaces/default/pods/old/eviction", 403, "no writes", "and subresources"},
		{jane, "GET", "/api/v1/services", 404, "services were not recorded", "an empty list would be wrong"},
		{jane, "POST", "/api/v1/namespaces/default/services", 404, "were not recorded", "a write of such a kind, too"},
		{jane, "GET", "/apis/example.com/v1/widgets", 404, "widgets.example.com were not recorded",
			"so with custom resources"},
		{jane, "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", 404, "were not recorded",
			"the server has definitions always, but not those of the cluster"},
		{jane, "GET", "/api/v1/namespaces/other/pods/a", 404,
			`pods were not recorded in namespace \"other\", only in default`, "not found would be wrong"},
		{jane, "GET", "/api/v1/namespaces/default/pods/none", 404, `pods \"none\" not found`, "it was not there"},
	} {
		got := ask(t, test.config, test.method, test.path, asJSON)
		if got.Code != test.code || !strings.Contains(got.Body, test.want) {
			t.Errorf("%s %s: %d %s, want %d %q: %s", test.method, test.path, got.Code, got.Body, test.code, test.want,
				test.reason)
		}
	}
	for _, test := range []struct {
		path    string
		warning string
	}{
		{"/api/v1/pods", `299 - "pods were recorded only in namespace default"`},
		{"/api/v1/namespaces/other/pods", `299 - "pods were recorded only in namespace default"`},
		{"/api/v1/namespaces/default/pods", ""},
		{"/apis/apps/v1/deployments", ""},
	} {
		got := strings.Join(ask(t, s.Config(), "GET", test.path, asJSON).Warnings, " ")
		if got != test.warning {
			t.Errorf("%s: warning %q, want %q", test.path, got, test.warning)
		}
	}
}

// TestDiscoveryHasRecordedKinds: kubectl completes names and finds kinds by it.
func TestDiscoveryHasRecordedKinds(t *testing.T) {
	r := recordRollout(t)
	s := serve(t, &r.Memory, Options{})
	lists := must[[]*metav1.APIResourceList](t)(clientOf(t, s.Config()).Discovery().ServerPreferredResources())
	var got []string
	for _, list := range lists {
		for _, one := range list.APIResources {
			got = append(got, list.GroupVersion+"/"+one.Name)
		}
	}
	slices.Sort(got)
	want := []string{
		"apps/v1/deployments", "authentication.k8s.io/v1/selfsubjectreviews", "authentication.k8s.io/v1/tokenreviews",
		"authorization.k8s.io/v1/localsubjectaccessreviews", "authorization.k8s.io/v1/selfsubjectaccessreviews",
		"authorization.k8s.io/v1/selfsubjectrulesreviews", "authorization.k8s.io/v1/subjectaccessreviews", "v1/pods",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWritable(t *testing.T) {
	r := recordRollout(t)
	s := serve(t, &r.Memory, Options{At: number(r.ready), Writable: true})
	client := clientOf(t, s.Config())
	deployments := client.AppsV1().Deployments("default")
	web := must[*appsv1.Deployment](t)(deployments.Get(t.Context(), "web", metav1.GetOptions{}))
	if since := time.Since(web.CreationTimestamp.Time); since < 0 || since > time.Hour {
		t.Errorf("created %v ago, but it was new at that moment", since)
	}
	if err := s.Play(); err != nil {
		t.Fatal(err)
	}
	web.Labels["tier"] = "back"
	written := must[*appsv1.Deployment](t)(deployments.Update(t.Context(), web, metav1.UpdateOptions{}))
	if got, newest := snapshot.VersionNumber(written.ResourceVersion), snapshot.VersionNumber(
		r.ready.ResourceVersion); got <= newest {
		t.Errorf("a write has version %d, the newest recorded one was %d", got, newest)
	}
	if got := s.Status(); got.Playing || !got.Written {
		t.Errorf("after a write: %+v", got)
	}
	if err := s.Play(); !errors.Is(err, ErrWritten) {
		t.Errorf("playing after a write: %v", err)
	}
	must[*corev1.Pod](t)(client.CoreV1().Pods("default").Create(t.Context(), pod("mine"), metav1.CreateOptions{}))
	if err := s.Seek(t.Context(), number(r.ready)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Pods("default").Get(t.Context(), "mine", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what a client has written is there after a seek: %v", err)
	}
	if s.Status().Written {
		t.Error("what was written is gone, but said to be there")
	}
}

// TestAdmission: of a copy that can be written the admission plugins run whose kinds were recorded.
func TestAdmission(t *testing.T) {
	config, _ := cluster(t)
	p := newTape(t, config)
	p.list(stream("", "v1", "Pod", "pods"))
	if got := podIn(t, serve(t, &p.Memory, Options{Writable: true}), "nowhere"); got.Spec.ServiceAccountName != "" {
		t.Errorf("service account %q, and none was recorded", got.Spec.ServiceAccountName)
	}
	for _, s := range []replay.Stream{
		stream("", "v1", "Namespace", "namespaces"), stream("", "v1", "ServiceAccount", "serviceaccounts"),
		stream("", "v1", "LimitRange", "limitranges"), stream("storage.k8s.io", "v1", "StorageClass", "storageclasses"),
		stream("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses"),
		stream("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses"),
		stream("networking.k8s.io", "v1", "IngressClass", "ingressclasses"),
		stream("", "v1", "Service", "services"), stream("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
	} {
		p.list(s)
	}
	s := serve(t, &p.Memory, Options{Writable: true})
	if got := podIn(t, s, "default"); got.Spec.ServiceAccountName != "default" || got.Spec.Priority == nil {
		t.Errorf("a pod that was admitted without its defaults: %+v", got.Spec)
	}
	_, err := clientOf(t, s.Config()).CoreV1().Pods("nowhere").Create(t.Context(), pod("a"), metav1.CreateOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("a pod in a namespace that is not there: %v", err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	created, err := clientOf(t, s.Config()).CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{})
	if err != nil || created.Spec.ClusterIP == "" {
		t.Errorf("a Service that was created: %v, %v", created, err)
	}
}

// TestOwnKinds: a controller can be elected, and write Events, in a copy; that does not end the playback.
func TestOwnKinds(t *testing.T) {
	config, recorded := cluster(t)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "controller"}}
	must[*coordinationv1.Lease](t)(recorded.CoordinationV1().Leases("default").Create(t.Context(), lease,
		metav1.CreateOptions{}))
	for _, test := range []struct {
		streams []replay.Stream
		reason  string
	}{
		{[]replay.Stream{stream("", "v1", "Pod", "pods")}, "neither was recorded"},
		{[]replay.Stream{stream("coordination.k8s.io", "v1", "Lease", "leases"), stream("", "v1", "Event", "events")},
			"a recorded Lease is not held by anybody in the copy"},
	} {
		p := newTape(t, config)
		for _, s := range test.streams {
			p.list(s)
		}
		client := clientOf(t, serve(t, &p.Memory, Options{}).Config())
		_, err := client.CoordinationV1().Leases("default").Get(t.Context(), "controller", metav1.GetOptions{})
		if isRecorded := len(test.streams) > 1; (err == nil) != isRecorded {
			t.Errorf("read-only: %v: %s", err, test.reason)
		}
		s := serve(t, &p.Memory, Options{Writable: true})
		client = clientOf(t, s.Config())
		must[*coordinationv1.Lease](t)(client.CoordinationV1().Leases("default").Create(t.Context(), lease.DeepCopy(),
			metav1.CreateOptions{}))
		event := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: "a"},
			InvolvedObject: corev1.ObjectReference{Namespace: "default"},
		}
		must[*corev1.Event](t)(client.CoreV1().Events("default").Create(t.Context(), event, metav1.CreateOptions{}))
		if s.Status().Written {
			t.Errorf("what a controller writes about itself ends the playback: %s", test.reason)
		}
	}
}

// podIn creates a pod.
func podIn(t testing.TB, s *Server, namespace string) *corev1.Pod {
	t.Helper()
	return must[*corev1.Pod](t)(clientOf(t, s.Config()).CoreV1().Pods(namespace).Create(t.Context(), pod("a"),
		metav1.CreateOptions{}))
}

// TestHandler: a caller decides which writes pass, and what becomes of each record.
func TestHandler(t *testing.T) {
	r := recordRollout(t)
	s := serve(t, &r.Memory, Options{
		At: number(r.created), Writable: true,
		Handler: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				if request.Method == http.MethodGet {
					next.ServeHTTP(w, request)
					return
				}
				w.WriteHeader(http.StatusTeapot)
			})
		},
	})
	if got := ask(t, s.Config(), "POST", "/api/v1/namespaces/default/pods", asJSON).Code; got != http.StatusTeapot {
		t.Errorf("the handler did not see a write: %d", got)
	}
	if s.Status().Written {
		t.Error("a write that did not pass counts")
	}
	pods := watchRaw(t, s.Config(), "/api/v1/pods?watch=1")
	pods.next() // what is there
	for {
		record, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if record.Type == replay.TypeAdded { // the others are left out
			changed := record.Clone()
			changed.Object = bytes.ReplaceAll(changed.Object, []byte("nginx:1"), []byte("nginx:2"))
			if err := s.Deliver(t.Context(), changed); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, object := pods.next(); got.Name != "web-1" || !bytes.Contains(object, []byte("nginx:2")) {
		t.Errorf("delivered %v %s", got, object)
	}
}
