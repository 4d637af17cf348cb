package moment

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

var begin = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)

// recordingOf returns a recording of pods of namespace shop, the list of which is complete, of Services with a label, and
// of Nodes, the list of which is not complete. Its records are a second apart.
func recordingOf(times bool, pods ...string) *replay.Memory {
	m := &replay.Memory{Head: replay.Header{Version: 1}}
	add := func(r *replay.Record) {
		if times {
			r.Time = begin.Add(time.Duration(len(m.Records)) * time.Second)
		}
		m.Append(r)
	}
	for i, s := range []replay.Stream{
		{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true, Namespace: "shop"},
		{Version: "v1", Kind: "Service", Resource: "services", Namespaced: true, Labels: "app=web"},
		{Version: "v1", Kind: "Node", Resource: "nodes"},
	} {
		s.Number, s.Verbs = i+1, []string{"get", "list", "watch", "delete"}
		add(&replay.Record{Type: replay.TypeStream, Stream: s.Number, NewStream: &s})
	}
	for i, name := range pods {
		version := fmt.Sprint(101 + i)
		add(&replay.Record{
			Type: replay.TypeListItem, Stream: 1, Namespace: "shop", Name: name, UID: "u-" + name, ResourceVersion: version,
			Object: []byte(`{"metadata":{"name":"` + name + `","namespace":"shop","uid":"u-` + name + `","resourceVersion":"` +
				version + `","creationTimestamp":"2026-01-01T09:0` + fmt.Sprint(i) + `:00Z"},"spec":{"containers":[` +
				`{"name":"web","image":"nginx"}]}}`),
		})
	}
	add(&replay.Record{Type: replay.TypeListEnd, Stream: 1, ResourceVersion: "110"})
	add(&replay.Record{Type: replay.TypeListEnd, Stream: 2, ResourceVersion: "110"})
	return m
}

func endOf(t *testing.T, m *replay.Memory) *replay.State {
	t.Helper()
	state, err := m.Seek(replay.Moment{})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestGuard: that something is not in a recording is an answer of its own, unless it cannot have been there.
func TestGuard(t *testing.T) {
	next := roundTripper(func(r *http.Request) (*http.Response, error) {
		code := http.StatusOK
		if strings.HasSuffix(r.URL.Path, "/gone") {
			code = http.StatusNotFound
		}
		return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
	})
	g := newGuard(next, "", endOf(t, recordingOf(true)))
	for _, row := range []struct {
		reason, path string
		code         int
	}{
		{"discovery", "/apis", 200},
		{"what was recorded", "/api/v1/namespaces/shop/pods", 200},
		{"all that was recorded of it", "/api/v1/pods", 200},
		{"another namespace", "/api/v1/namespaces/other/pods", 403},
		{"another kind", "/api/v1/namespaces/shop/secrets", 403},
		{"a kind of the same name in another group", "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods", 403},
		{"an object that did not exist", "/api/v1/namespaces/shop/pods/gone", 404},
		{"an object that may not have had the label", "/api/v1/namespaces/shop/services/gone", 403},
		{"an object of a list that is not complete", "/api/v1/nodes/gone", 403},
		{"an object of that list", "/api/v1/nodes/there", 200},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://recording"+row.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := g.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != row.code {
			t.Errorf("%s: %d, want %d (%v)", row.reason, response.StatusCode, row.code, err)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://recording/api/v1/namespaces/shop/pods",
		io.NopCloser(strings.NewReader("{}")))
	if err != nil {
		t.Fatal(err)
	}
	response, err := g.RoundTrip(request)
	if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a write: %v, %v", response, err)
	}
	for _, row := range []struct {
		from replay.Imported
		code int
	}{{replay.ImportedWatchEvents, 404}, {replay.ImportedObjects, 404}, {replay.ImportedAudit, 403}} {
		g := newGuard(next, row.from, endOf(t, recordingOf(true)))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://recording/api/v1/nodes/gone", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := g.RoundTrip(request)
		if err != nil || response.Body.Close() != nil || response.StatusCode != row.code {
			t.Errorf("an object of an import of %s without a list: %v, want %d (%v)", row.from, response, row.code, err)
		}
	}
}

// TestScopeText: what the user has selected is named, and not what a recorder adds to it by name.
func TestScopeText(t *testing.T) {
	pods := replay.Stream{Resource: "pods", Namespaced: true, Namespace: "shop"}
	widgets := replay.Stream{Group: "example.com", Resource: "widgets", Namespaced: true, Namespace: "shop"}
	shop := replay.Stream{Resource: "namespaces", Fields: "metadata.name=shop"}
	definition := replay.Stream{
		Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Fields: "metadata.name=widgets.example.com",
	}
	for _, row := range []struct {
		reason  string
		streams []replay.Stream
		want    string
	}{
		{"all of a namespace, and the namespace itself", []replay.Stream{pods, shop}, "namespace shop"},
		{"custom resources, and their definition", []replay.Stream{definition, widgets, shop}, "namespace shop"},
		{"a definition that was asked for", []replay.Stream{definition}, "objects with metadata.name=widgets.example.com"},
		{"a namespace that was asked for", []replay.Stream{shop}, "objects with metadata.name=shop"},
		{"everything", []replay.Stream{{Resource: "pods", Namespaced: true}}, ""},
	} {
		m := &replay.Memory{Head: replay.Header{Version: 1}}
		for i, s := range row.streams {
			s.Number, s.Version, s.Verbs = i+1, "v1", []string{"get", "list", "watch"}
			m.Append(&replay.Record{Type: replay.TypeStream, Stream: s.Number, NewStream: &s})
		}
		if got := scopeText(endOf(t, m)); got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}

// TestServedMoment: a moment is read as a cluster is, and only what was recorded is there.
func TestServedMoment(t *testing.T) {
	r, err := serveAt(t.Context(), &Input{Recording: recordingOf(true, "a", "b"), Name: "web.rec"}, "#4")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	if want := "as of 2026-01-01T10:00:03Z, 3s after the beginning: record 4 of 7 of web.rec"; r.Moment != want {
		t.Errorf("%s, want %s", r.Moment, want)
	}
	want := []string{
		"recorded: only namespace shop, objects with app=web",
		"incomplete: the first list of pods, services, nodes had not come to its end",
	}
	if diff := cmp.Diff(want, r.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if r.Namespace != "shop" || !r.Time.Equal(begin.Add(3*time.Second)) {
		t.Errorf("namespace %s at %s", r.Namespace, r.Time)
	}
	kinds, err := cluster.Discover(t.Context(), r.Config)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := cluster.NewReader(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var unread []cluster.Incomplete
	for _, kind := range kinds.With(r.Usual).All() {
		if !kind.Can("list") {
			continue
		}
		missing, err := reader.ListMetadata(t.Context(), []cluster.Target{{Kind: kind, Namespace: "shop"}},
			func(target cluster.Target, obj *metav1.PartialObjectMetadata) {
				names = append(names, target.Kind.Resource+"/"+obj.Name)
			})
		if err != nil {
			t.Fatal(err)
		}
		unread = append(unread, missing...)
	}
	if diff := cmp.Diff([]string{"pods/a"}, names); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if len(unread) != len(r.Usual)-3 {
		t.Errorf("not recorded: %v", unread)
	}
	for _, i := range unread {
		if i.Reason != cluster.ReasonNotRecorded {
			t.Errorf("%v", i)
		}
	}
	secrets, _, err := kinds.With(r.Usual).Lookup(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Metadata(t.Context(), secrets, "shop", "x"); !apierrors.IsForbidden(err) {
		t.Errorf("a Secret: %v", err)
	}
}

// TestNamedMoments: the moments that there are, and what is said of others.
func TestNamedMoments(t *testing.T) {
	for _, row := range []struct {
		reason, at string
		times      bool
		number     int64
		err        string
	}{
		{"the end", "", true, 7, ""},
		{"a time after the beginning", "+4s", true, 5, ""},
		{"a time before the end", "-1s", true, 6, ""},
		{"a record", "#2", false, 2, ""},
		{"a record that there is not", "#8", true, 0, "web.rec: "},
		{"times that were not recorded", "+4s", false, 0, "times"},
		{"no moment", "yesterday", true, 0, "yesterday"},
	} {
		_, state, err := (&Input{Recording: recordingOf(row.times, "a", "b"), Name: "web.rec"}).At(row.at)
		switch {
		case row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)):
			t.Errorf("%s: %v, want %s", row.reason, err, row.err)
		case row.err == "" && err != nil:
			t.Errorf("%s: %v", row.reason, err)
		case row.err == "" && state.Number != row.number:
			t.Errorf("%s: record %d, want %d", row.reason, state.Number, row.number)
		}
	}
}

// withObject is a recording without times that has one object.
func withObject(text string) *replay.Memory {
	m := recordingOf(false)
	m.Append(&replay.Record{Type: replay.TypeAdded, Stream: 1, Namespace: "shop", Name: "x", Object: []byte(text)})
	return m
}

// TestTimes: without times, ages are as of the newest one that an object has.
func TestTimes(t *testing.T) {
	for _, row := range []struct {
		reason string
		m      *replay.Memory
		moment replay.Moment
		want   string
	}{
		{"that of the last record", recordingOf(true, "a"), replay.Moment{}, "2026-01-01T10:00:05Z, 5s after the beginning: " +
			"record 6 of 6 of web.rec"},
		{"that which was named", recordingOf(true, "a"), replay.Moment{Time: begin.Add(3500 * time.Millisecond)},
			"2026-01-01T10:00:03.5Z, 3.5s after the beginning: record 4 of 6 of web.rec"},
		{"of an object", recordingOf(false, "a", "b"), replay.Moment{},
			"record 7 of 7 of web.rec, which has no times: ages are as of 2026-01-01T09:01:00Z, the newest time in it"},
		{"of an Event, which is newer than what it is about", withObject(`{"kind":"Event","metadata":{"name":"e","creationTimestamp":"2026-01-01T09:00:00Z"},"lastTimestamp":"2026-01-01T17:00:00Z"}`),
			replay.Moment{}, "record 6 of 6 of web.rec, which has no times: ages are as of 2026-01-01T17:00:00Z, the newest time in it"},
		{"of a condition", withObject(`{"metadata":{"name":"d"},"status":{"conditions":[{"type":"Ready","lastTransitionTime": "2026-01-01T16:00:00+00:00"}]}}`),
			replay.Moment{}, "record 6 of 6 of web.rec, which has no times: ages are as of 2026-01-01T16:00:00Z, the newest time in it"},
		{"but not of what is to come", withObject(`{"metadata":{"name":"c","creationTimestamp":"2026-01-01T09:00:00Z","deletionTimestamp":"2026-01-01T09:00:30Z"},"status":{"notAfter":"2027-01-01T09:00:00Z"}}`),
			replay.Moment{}, "record 6 of 6 of web.rec, which has no times: ages are as of 2026-01-01T09:00:00Z, the newest time in it"},
		{"none", recordingOf(false), replay.Moment{}, "record 5 of 5 of web.rec, which has no times"},
	} {
		state, err := row.m.Seek(row.moment)
		if err != nil {
			t.Fatal(err)
		}
		info, err := row.m.Info()
		if err != nil {
			t.Fatal(err)
		}
		if got := Text("web.rec", &info, row.moment, state); got != row.want {
			t.Errorf("%s: %s, want %s", row.reason, got, row.want)
		}
	}
}

// TestGaps: a moment at which nothing was received is said to be one.
func TestGaps(t *testing.T) {
	m := recordingOf(true, "a")
	m.Append(&replay.Record{
		Type: replay.TypeGap, Time: begin.Add(time.Minute),
		Gap: &replay.Gap{Reason: replay.GapUnreachable, Since: begin.Add(6 * time.Second)},
	})
	for _, row := range []struct {
		reason string
		at     time.Duration
		want   bool
	}{
		{"before", 5 * time.Second, false},
		{"in it", 30 * time.Second, true},
		{"after", time.Minute, false},
	} {
		moment := replay.Moment{Time: begin.Add(row.at)}
		state, err := m.Seek(moment)
		if err != nil {
			t.Fatal(err)
		}
		info, err := m.Info()
		if err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(Notes(&info, moment, state), func(s string) bool {
			return strings.HasPrefix(s, "incomplete: nothing was received from 2026-01-01T10:00:06Z to 2026-01-01T10:01:00Z")
		})
		if said != row.want {
			t.Errorf("%s: said: %t", row.reason, said)
		}
	}
}

// TestObjects: an object that two streams have is there once, in its newest version.
func TestObjects(t *testing.T) {
	m := &replay.Memory{}
	for i, s := range []replay.Stream{
		{Version: "v1", Kind: "Event", Resource: "events", Namespaced: true},
		{Group: "events.k8s.io", Version: "v1", Kind: "Event", Resource: "events", Namespaced: true},
		{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespaced: true},
	} {
		s.Number = i + 1
		m.Append(&replay.Record{Type: replay.TypeStream, Stream: s.Number, NewStream: &s})
	}
	for _, r := range []replay.Record{
		{Stream: 1, Name: "e", ResourceVersion: "9"}, {Stream: 2, Name: "e", ResourceVersion: "10"},
		{Stream: 3, Name: "web", ResourceVersion: "3"},
	} {
		r.Type, r.Namespace, r.Object = replay.TypeAdded, "shop", []byte(`{"metadata":{"name":"`+r.Name+`"}}`)
		m.Append(&r)
	}
	objects := Objects(endOf(t, m))
	var got []string
	for i := range objects {
		obj, err := objects[i].Decode()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, obj.GetKind()+" "+obj.GetName()+" "+objects[i].Record.ResourceVersion)
	}
	if diff := cmp.Diff([]string{"Deployment web 3", "Event e 10"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestUsualKinds: the kinds that a cluster has in any case are as the embedded API serves them.
func TestUsualKinds(t *testing.T) {
	server, err := api.Start(t.Context(), api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	kinds, err := cluster.Discover(t.Context(), server.Config())
	if err != nil {
		t.Fatal(err)
	}
	usual := cluster.UsualKinds()
	if len(usual) < 30 {
		t.Fatalf("only %d kinds", len(usual))
	}
	for _, want := range usual {
		got, ok, err := kinds.Lookup(want.GroupVersionKind)
		switch {
		case err != nil || !ok:
			t.Errorf("%s is not served: %v", want, err)
		case got.Resource != want.Resource || got.Namespaced != want.Namespaced || got.Singular != want.Singular ||
			got.HasStatus != want.HasStatus ||
			!slices.Equal(got.ShortNames, want.ShortNames):
			t.Errorf("%s: (-served +here)\n%s", want, cmp.Diff(got, want))
		}
	}
}

// TestClosed: an input is closed when it cannot be served.
func TestClosed(t *testing.T) {
	closed := errors.New("closed")
	input := &Input{Recording: recordingOf(true), Name: "web.rec", close: func() error { return closed }}
	if err := closeAfter(input, errors.New("first")); !errors.Is(err, closed) || !strings.Contains(err.Error(), "first") {
		t.Error(err)
	}
}

// TestKinds: kinds that were recorded without their short names, as by imports, have those of a cluster.
func TestKinds(t *testing.T) {
	kinds := Kinds(endOf(t, recordingOf(true)))
	for _, row := range []struct{ reason, name, resource string }{
		{"of a kind that was recorded", "po", "pods"},
		{"of one that was not", "deploy", "deployments"},
	} {
		if kind, err := kinds.Resolve(row.name); err != nil || kind.Resource != row.resource {
			t.Errorf("%s: %s is %v (%v)", row.reason, row.name, kind, err)
		}
	}
}
