package recorder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/redact"
)

func TestRecordsChanges(t *testing.T) {
	r := prepare(t, nil)
	r.write("+before")
	r.start(selection(configMaps, "default"))
	r.write("+a", "~a", "+b", "-a", "~before")
	r.sink.awaitLine("MODIFIED before")
	r.end()
	want := []string{
		"STREAM configmaps", "LIST BEGIN", "LIST before", "LIST END",
		"ADDED a", "MODIFIED a", "ADDED b", "DELETED a", "MODIFIED before", "END interrupted",
	}
	if diff := cmp.Diff(want, lines(r.sink.all())); diff != "" {
		t.Error(diff)
	}
	r.sameAsServer()
	stats := r.Stats()
	if stats.Events != 5 || stats.Objects != 2 || stats.Streams != 1 || stats.Dropped != 0 || len(stats.Gaps) != 0 {
		t.Errorf("stats are %+v", stats)
	}
}

// sameAsServer checks that the state at the end of the records is what the server has, byte for byte.
func (r *recording) sameAsServer() {
	r.t.Helper()
	got := map[string]string{}
	for _, record := range state(r.sink.all()).Objects() {
		got[record.Name] = string(record.Object)
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(record.Object, &object); err != nil {
			r.t.Fatal(err)
		}
		if object.ResourceVersion != record.ResourceVersion || object.UID != types.UID(record.UID) || object.Namespace != record.Namespace {
			r.t.Errorf("the record of %s does not have the metadata of its object", record.Name)
		}
	}
	list, err := r.client.CoreV1().ConfigMaps("default").List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	want := map[string]string{}
	for _, item := range list.Items {
		raw, err := r.client.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default/configmaps", item.Name).
			SetHeader("Accept", "application/json").DoRaw(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		want[item.Name] = strings.TrimSpace(string(raw))
	}
	for name := range got { // items of lists have no kind
		if !strings.HasPrefix(got[name], `{"kind"`) {
			got[name] = `{"kind":"ConfigMap","apiVersion":"v1",` + got[name][1:]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Error(diff)
	}
}

func TestWatchThatEndsIsResumed(t *testing.T) {
	r := record(t, nil)
	r.write("+a")
	r.sink.awaitLine("ADDED a")
	r.network.end(true)
	r.write("~a", "-a", "+b")
	r.sink.awaitLine("ADDED b")
	r.end()
	want := []string{
		"STREAM configmaps", "LIST BEGIN", "LIST END", "ADDED a", "MODIFIED a", "DELETED a", "ADDED b", "END interrupted",
	}
	if diff := cmp.Diff(want, lines(r.sink.all())); diff != "" {
		t.Error(diff)
	}
}

// TestServerAway: the server is killed, and comes back with all events since.
func TestServerAway(t *testing.T) {
	r := record(t, nil)
	r.write("+a")
	r.sink.awaitLine("ADDED a")
	r.network.set(true)
	r.network.end(false)
	before := len(r.network.asked())
	r.write("-a", "+b")
	waitUntil(t, "attempts", func() bool { return len(r.network.asked()) >= before+3 })
	r.network.set(false)
	r.sink.awaitLine("ADDED b")
	r.end()
	want := []string{
		"STREAM configmaps", "LIST BEGIN", "LIST END", "ADDED a",
		"GAP Unreachable complete=true", "DELETED a", "ADDED b", "END interrupted",
	}
	if diff := cmp.Diff(want, lines(r.sink.all())); diff != "" {
		t.Error(diff)
	}
	r.sameAsServer()
	records := r.sink.all()
	added := records[slices.IndexFunc(records, func(r *replay.Record) bool { return lineOf(r) == "ADDED a" })]
	for _, record := range records {
		if record.Type != replay.TypeGap {
			continue
		}
		if record.Gap.Attempts < 3 || record.Gap.Since.Before(added.Time) || record.Gap.Since.After(record.Time) {
			t.Errorf("the gap at %s is %+v", record.Time, record.Gap)
		}
	}
}

// TestTroublesEndWithTheGaps: when no stream has a trouble any more, every gap has ended.
func TestTroublesEndWithTheGaps(t *testing.T) {
	var mu sync.Mutex
	away, began := map[string]bool{}, false
	r := prepare(t, func(o *Options) {
		o.Trouble = func(one Trouble) {
			mu.Lock()
			defer mu.Unlock()
			delete(away, one.Namespace)
			if one.Reason != "" {
				away[one.Namespace], began = true, true
			}
		}
	})
	r.start(selection(configMaps, "default"), selection(configMaps, "a"), selection(configMaps, "b"), selection(configMaps, "c"))
	r.network.set(true)
	r.network.end(false)
	waitUntil(t, "a trouble", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return began
	})
	r.write("+x")
	r.network.set(false)
	waitUntil(t, "the end of all troubles", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(away) == 0
	})
	r.end()
	for _, line := range lines(r.sink.all()) {
		if line == "GAP Unreachable complete=false" {
			t.Errorf("a gap had not ended:\n%s", strings.Join(lines(r.sink.all()), "\n"))
		}
	}
}

// TestServerAwayForLong: the server comes back without the events since, of which some are deletions.
func TestServerAwayForLong(t *testing.T) {
	r := prepare(t, nil)
	r.write("+kept", "+changed", "+deleted", "+recreated")
	r.start(selection(configMaps, "default"))
	r.network.set(true)
	r.network.end(false)
	r.write("~changed", "-deleted", "-recreated", "+recreated", "+new")
	for range history {
		r.write("+short", "-short")
	}
	before := len(r.network.asked())
	waitUntil(t, "an attempt", func() bool { return len(r.network.asked()) > before })
	r.network.set(false)
	r.sink.await("the end of a list", func(all []*replay.Record) bool {
		return len(all) > 0 && strings.Count(strings.Join(lines(all), "\n"), "LIST END") == 2
	})
	r.write("+after")
	r.sink.awaitLine("ADDED after")
	r.end()
	want := []string{
		"STREAM configmaps", "LIST BEGIN", "LIST changed", "LIST deleted", "LIST kept", "LIST recreated", "LIST END",
		"ERROR", "GAP Unreachable complete=false", "LIST BEGIN",
		"MODIFIED changed relisted", "DELETED recreated relisted", "ADDED recreated relisted", "ADDED new relisted",
		"DELETED deleted relisted", "LIST END", "ADDED after", "END interrupted",
	}
	if diff := cmp.Diff(want, lines(r.sink.all())); diff != "" {
		t.Error(diff)
	}
	r.sameAsServer()
	checkRelisted(t, r.sink.all())
}

// checkRelisted checks that the changes of later lists are in the order of their versions, below that of the list, and
// that deletions have the last state that is known.
func checkRelisted(t *testing.T, records []*replay.Record) {
	t.Helper()
	known := map[string]*replay.Record{}
	var last uint64
	for _, r := range records {
		version, _ := strconv.ParseUint(r.ResourceVersion, 10, 64)
		switch r.Type {
		case replay.TypeListBegin:
			last = 0
		case replay.TypeListEnd:
			if version < last {
				t.Errorf("the list of version %d has a change of version %d", version, last)
			}
		case replay.TypeDeleted:
			if !bytes.Equal(r.Object, known[r.Name].Object) || r.UID != known[r.Name].UID {
				t.Errorf("the deletion of %s does not have its last state", r.Name)
			}
		}
		if r.Relisted && version < last {
			t.Errorf("record %d has version %d after version %d", r.Number, version, last)
		}
		if r.Relisted {
			last = version
		}
		if r.Type.HasObject() {
			known[r.Name] = r
		}
	}
}

// TestWatchExpired: 410 as the answer to a watch that is resumed, and as an ERROR in a watch.
func TestWatchExpired(t *testing.T) {
	for _, row := range []struct {
		reason string
		answer func() *http.Response
	}{
		{"an answer", func() *http.Response { return respond(http.StatusGone, metav1.StatusReasonExpired) }},
		{"an event", func() *http.Response {
			status, _ := io.ReadAll(respond(http.StatusGone, metav1.StatusReasonExpired).Body)
			text := `{"type":"ERROR","object":` + string(status) + "}\n"
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text))}
		}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			r := record(t, nil)
			r.write("+a")
			r.sink.awaitLine("ADDED a")
			once := false
			r.network.answer(func(req *http.Request) *http.Response {
				if once || req.URL.Query().Get("watch") == "" {
					return nil
				}
				once = true
				r.write("+b", "-a")
				return row.answer()
			})
			r.network.end(true)
			r.sink.await("the second list", func(all []*replay.Record) bool { return hasLine(all, "DELETED a relisted") })
			r.write("+c")
			r.sink.awaitLine("ADDED c")
			r.end()
			want := []string{
				"STREAM configmaps", "LIST BEGIN", "LIST END", "ADDED a", "ERROR", "GAP WatchExpired complete=false",
				"LIST BEGIN", "ADDED b relisted", "DELETED a relisted", "LIST END", "ADDED c", "END interrupted",
			}
			if diff := cmp.Diff(want, lines(r.sink.all())); diff != "" {
				t.Error(diff)
			}
			for _, record := range r.sink.all() {
				if record.Type == replay.TypeError && (!strings.Contains(string(record.Object), `"code":410`) || record.Message == "") {
					t.Errorf("the error is %s, %q", record.Object, record.Message)
				}
			}
			r.sameAsServer()
		})
	}
}

// TestErrorEvent: an ERROR other than 410 does not lose the place, a second one in a row does.
func TestErrorEvent(t *testing.T) {
	r := record(t, nil)
	errorEvents := 2
	r.network.answer(func(req *http.Request) *http.Response {
		if errorEvents == 0 || req.URL.Query().Get("watch") == "" {
			return nil
		}
		errorEvents--
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(
			strings.NewReader(`{"type":"ERROR","object":{"kind":"Status","code":500,"message":"etcd"}}` + "\n"))}
	})
	r.network.end(true)
	r.write("+a")
	r.sink.await("a", func(all []*replay.Record) bool { return hasLine(all, "ADDED a relisted") })
	r.end()
	want := []string{
		"STREAM configmaps", "LIST BEGIN", "LIST END", "ERROR", "ERROR", "GAP Refused complete=false", "LIST BEGIN",
		"ADDED a relisted", "LIST END", "END interrupted",
	}
	if diff := cmp.Diff(want, lines(r.sink.all())); diff != "" {
		t.Error(diff)
	}
}

func TestRefused(t *testing.T) {
	var troubles []Trouble
	r := prepare(t, func(o *Options) { o.Trouble = func(t Trouble) { troubles = append(troubles, t) } })
	r.network.answer(func(req *http.Request) *http.Response {
		if strings.Contains(req.URL.Path, "secrets") {
			return respond(http.StatusForbidden, metav1.StatusReasonForbidden)
		}
		return nil
	})
	gone := kind("Widget", "widgets", true)
	r.start(selection(configMaps, "default"), selection(secrets, "default"), selection(gone, "default"))
	r.write("+a")
	r.sink.awaitLine("ADDED a")
	r.end()
	want := []string{"STREAM configmaps", "LIST BEGIN", "LIST END", "ADDED a", "END interrupted"}
	if diff := cmp.Diff(want, lines(r.sink.all())); diff != "" {
		t.Error(diff)
	}
	if len(troubles) != 2 {
		t.Errorf("there are %d troubles: %+v", len(troubles), troubles)
	}
	var got []string
	for _, trouble := range r.Troubles() {
		if !trouble.Ended || trouble.Listed {
			t.Errorf("%s is tried again", trouble.Resource)
		}
		got = append(got, trouble.Resource+" "+trouble.Reason)
	}
	if diff := cmp.Diff([]string{"secrets Forbidden", "widgets NotServed"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestRevoked: a permission that is revoked while it is recorded, and given again.
func TestRevoked(t *testing.T) {
	r := record(t, nil)
	r.write("+a")
	r.sink.awaitLine("ADDED a")
	refuse := true
	r.network.answer(func(*http.Request) *http.Response {
		if refuse {
			refuse = false
			return respond(http.StatusForbidden, metav1.StatusReasonForbidden)
		}
		return nil
	})
	r.network.end(true)
	r.write("+b")
	r.sink.awaitLine("ADDED b")
	r.end()
	want := []string{
		"STREAM configmaps", "LIST BEGIN", "LIST END", "ADDED a", "ERROR", "GAP Refused complete=true", "ADDED b",
		"END interrupted",
	}
	if diff := cmp.Diff(want, lines(r.sink.all())); diff != "" {
		t.Error(diff)
	}
}

func TestNothingCanBeRecorded(t *testing.T) {
	r := prepare(t, nil)
	r.runs([]Selection{selection(kind("Widget", "widgets", true), "default")})
	if err := <-r.ended; !errors.Is(err, ErrNothingRecorded) {
		t.Errorf("got %v", err)
	}
}

func TestSinkFails(t *testing.T) {
	r := record(t, nil)
	full := errors.New("no space left on device")
	r.sink.mu.Lock()
	r.sink.refuses = full
	r.sink.mu.Unlock()
	r.write("+a")
	if err := <-r.ended; !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if err := r.End(""); !errors.Is(err, full) {
		t.Errorf("the end: got %v", err)
	}
}

func TestRedacts(t *testing.T) {
	redactor, err := redact.New(bytes.NewReader(make([]byte, 32)), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := prepare(t, func(o *Options) { o.Redactor = redactor })
	create := func(name string) {
		_, err := r.client.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"password": "hunter2"},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	create("before")
	r.start(selection(secrets, "default"))
	create("after")
	r.sink.awaitLine("ADDED after")
	r.end()
	values := map[string]bool{}
	for _, record := range state(r.sink.all()).Objects() {
		var secret corev1.Secret
		if err := json.Unmarshal(record.Object, &secret); err != nil {
			t.Fatal(err)
		}
		values[string(secret.Data["password"])] = true
	}
	if len(values) != 1 || values["hunter2"] {
		t.Errorf("the same value was recorded as %v", values)
	}
}

// refuser cannot redact ConfigMaps that are called secret.
type refuser struct{}

// Redact implements Redactor.
func (refuser) Redact(_ *replay.Stream, object []byte) ([]byte, error) {
	if bytes.Contains(object, []byte("secret")) {
		return nil, errors.New("no")
	}
	return object, nil
}

func TestLeavesOutWhatCannotBeRedacted(t *testing.T) {
	r := prepare(t, func(o *Options) { o.Redactor = refuser{} })
	r.write("+secret-1")
	r.start(selection(configMaps, "default"))
	r.write("+secret-2", "+a")
	r.sink.awaitLine("ADDED a")
	r.end()
	want := []string{"STREAM configmaps", "LIST BEGIN", "ERROR", "LIST END", "ERROR", "ADDED a", "END interrupted"}
	if diff := cmp.Diff(want, lines(r.sink.all())); diff != "" {
		t.Error(diff)
	}
	if n := r.Stats().Dropped; n != 2 {
		t.Errorf("%d were dropped", n)
	}
}

func TestTrace(t *testing.T) {
	r := prepare(t, nil)
	if err := r.Trace([]byte(`{"seq":1}`)); err != nil {
		t.Fatal(err)
	}
	r.start(selection(configMaps, "default"))
	if err := r.Trace([]byte(`{"seq":2}`)); err != nil {
		t.Fatal(err)
	}
	r.end()
	want := []string{"TRACE", "STREAM configmaps", "LIST BEGIN", "LIST END", "TRACE", "END interrupted"}
	if diff := cmp.Diff(want, lines(r.sink.all())); diff != "" {
		t.Error(diff)
	}
	if n := r.Stats().Traces; n != 2 {
		t.Errorf("%d events of a trace", n)
	}
}

// rotating is a sink that begins another recording when it is told to.
type rotating struct {
	*memory
	full  bool
	parts [][]*replay.Record
}

// Full implements Rotator.
func (r *rotating) Full() bool { return r.full }

// Next implements Rotator.
func (r *rotating) Next() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts, r.records, r.full = append(r.parts, r.records), nil, false
	return nil
}

func TestRotation(t *testing.T) {
	var sink *rotating
	r := prepare(t, func(o *Options) {
		sink = &rotating{memory: o.Sink.(*memory)}
		o.Sink = sink
	})
	r.write("+a", "+b")
	r.start(selection(configMaps, "default"), selection(secrets, "default"))
	r.write("~a")
	r.sink.awaitLine("MODIFIED a")
	r.journal.mu.Lock()
	sink.full = true
	r.journal.mu.Unlock()
	r.write("-b", "+c")
	r.sink.awaitLine("ADDED c")
	r.end()
	r.sameAsServer()
	if len(sink.parts) != 1 {
		t.Fatalf("there were %d rotations", len(sink.parts))
	}
	first, second := state(sink.parts[0]), state(sink.records)
	if got := lines(sink.parts[0]); got[len(got)-1] != "DELETED b" {
		t.Errorf("the first part ends with %s", got[len(got)-1])
	}
	for _, stream := range first.Streams() {
		if diff := cmp.Diff(stream.Stream, second.Stream(stream.Number).Stream); diff != "" {
			t.Error(diff)
		}
	}
	for _, line := range []string{"LIST a", "ADDED c"} {
		if !hasLine(sink.records, line) {
			t.Errorf("the second part has no %s:\n%s", line, strings.Join(lines(sink.records), "\n"))
		}
	}
	if hasLine(sink.records, "LIST b") {
		t.Error("the second part has an object that was deleted in the first")
	}
}

func TestPagesAndNamespaces(t *testing.T) {
	r := prepare(t, nil)
	for i := range pageSize + 3 {
		r.write("+m" + strconv.Itoa(i))
	}
	r.start(selection(configMaps, ""))
	r.end()
	if n := len(state(r.sink.all()).Streams()); n != 1 {
		t.Errorf("%d streams", n)
	}
	inDefault := 0
	for _, record := range state(r.sink.all()).Objects() {
		if record.Namespace == "default" && strings.HasPrefix(record.Name, "m") {
			inDefault++
		}
	}
	if inDefault != pageSize+3 {
		t.Errorf("%d objects of %d", inDefault, pageSize+3)
	}
	if asked := r.network.asked(); !strings.Contains(strings.Join(asked, "\n"), "continue=") {
		t.Errorf("there were no pages: %v", asked)
	}
}

// limited is a sink that takes no object larger than a limit.
type limited struct{ *memory }

// Write implements replay.Sink.
func (l limited) Write(r *replay.Record) error {
	if bytes.Contains(r.Object, []byte("too-large")) {
		return &replay.LimitError{What: "object", Size: 2, Limit: 1}
	}
	return l.memory.Write(r)
}

func TestLeavesOutWhatIsTooLarge(t *testing.T) {
	r := prepare(t, func(o *Options) { o.Sink = limited{o.Sink.(*memory)} })
	r.start(selection(configMaps, "default"))
	r.write("+too-large", "+a")
	r.sink.awaitLine("ADDED a")
	r.end()
	want := []string{"STREAM configmaps", "LIST BEGIN", "LIST END", "ERROR", "ADDED a", "END interrupted"}
	if diff := cmp.Diff(want, lines(r.sink.all())); diff != "" {
		t.Error(diff)
	}
	if n := r.Stats().Dropped; n != 1 {
		t.Errorf("%d were dropped", n)
	}
}

// TestAwait: what a server has sent is recorded when Await returns.
func TestAwait(t *testing.T) {
	server := servers.Server(t, nil)
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	sink := newMemory(t)
	r, err := New(Options{Sink: sink, Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- r.Run(ctx, server.Config(), []Selection{selection(configMaps, ""), selection(secrets, "")})
	}()
	<-r.Started()
	for i := range 50 {
		one := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m" + strconv.Itoa(i)}}
		if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), one, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	r.Await(ctx, server.LastEvent)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !hasLine(sink.all(), "ADDED m49") {
		t.Error("the last object is missing")
	}
}

// TestNewKinds: kinds of definitions that are made while it is recorded.
func TestNewKinds(t *testing.T) {
	definitions := kind("CustomResourceDefinition", "customresourcedefinitions", false)
	definitions.Group = "apiextensions.k8s.io"
	var r *recording
	r = prepare(t, func(o *Options) {
		o.Rediscover = func(ctx context.Context) ([]Selection, error) {
			kinds, err := cluster.Discover(ctx, r.config)
			if err != nil {
				return nil, err
			}
			found, err := kinds.Resolve("widgets.example.com")
			if err != nil {
				return nil, nil //nolint:nilerr // it is not served yet
			}
			return []Selection{selection(found, "")}, nil
		}
	})
	r.start(selection(definitions, ""))
	client, err := dynamic.NewForConfig(r.config)
	if err != nil {
		t.Fatal(err)
	}
	createDefinition(t, client)
	r.sink.awaitLine("STREAM widgets")
	r.end()
	if !hasLine(r.sink.all(), "ADDED widgets.example.com") {
		t.Error("the definition was not recorded")
	}
}

// createDefinition makes the kind Widget.
func createDefinition(t *testing.T, client dynamic.Interface) {
	t.Helper()
	var definition unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(widgetDefinition), &definition.Object); err != nil {
		t.Fatal(err)
	}
	resource := crdResource().WithVersion("v1")
	if _, err := client.Resource(resource).Create(t.Context(), &definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// waitUntil waits until something is so.
func waitUntil(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); !ok(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s", what)
		}
	}
}
