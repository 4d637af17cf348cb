package exports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/imports"
)

// printed returns what a tool printed, from the testdata of imports.
func printed(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../imports/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func open(t testing.TB, text []byte) *imports.Source {
	t.Helper()
	s, err := imports.Open(t.Context(), bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%.1000s", err, text)
	}
	return s
}

func export(t testing.TB, format Format, s replay.Source, o Options) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, format, s, o); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestAsKubectlPrints: what kubectl printed, read and written again, is the same to the byte.
func TestAsKubectlPrints(t *testing.T) {
	for _, tt := range []struct {
		file   string
		format Format
		reason string
	}{
		{"watch-pods.input", Watch, "watch events"},
		{"list-yaml.input", Manifests, "lists in YAML"},
	} {
		want := printed(t, tt.file)
		got := export(t, tt.format, open(t, want), Options{})
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
			t.Errorf("%s (-kubectl +export):\n%s", tt.reason, diff)
		}
	}
}

// history returns the changes of a source, a line each, and the state after them. How records came into it is left out:
// a list is as good as its objects one by one.
func history(t testing.TB, s replay.Source) (changes, objects []string) {
	t.Helper()
	var state replay.State
	for {
		r, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if stream := state.Stream(r.Stream); r.Type.HasObject() {
			typ := r.Type
			if typ == replay.TypeListItem {
				typ = replay.TypeAdded
			}
			change := fmt.Sprint(typ, stream.GVK(), stream.Resource, stream.Namespaced, r.Namespace, r.Name, r.ResourceVersion, r.UID)
			if m := metadataOf(r.Object); typ == replay.TypeModified && isDeleting(m) && !isHeld(m) {
				change += " and gone"
			}
			changes = append(changes, change)
		}
		state.Apply(r)
	}
	for k, r := range state.Objects() {
		object, err := objectOf(r, &state.Stream(k.Stream).Stream)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, fmt.Sprint(object))
	}
	return changes, objects
}

// TestRoundTrips: what is exported and imported again has the same changes and the same objects.
func TestRoundTrips(t *testing.T) {
	files, err := filepath.Glob("../imports/testdata/*.input")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, file := range files {
		text := printed(t, filepath.Base(file))
		changes, objects := history(t, open(t, text))
		for _, format := range []Format{Watch, Audit} {
			exported := export(t, format, open(t, text), Options{})
			again := export(t, format, open(t, text), Options{})
			if !bytes.Equal(exported, again) {
				t.Errorf("%s: two exports as %s differ", file, format)
			}
			gotChanges, gotObjects := history(t, open(t, exported))
			want := changes
			if format == Audit { // the request that ends a pod makes two changes
				want = slices.DeleteFunc(slices.Clone(changes), func(c string) bool { return strings.HasSuffix(c, "and gone") })
			}
			if diff := cmp.Diff(want, gotChanges); diff != "" {
				t.Errorf("%s as %s: changes (-want +got):\n%s", file, format, diff)
			}
			if diff := cmp.Diff(objects, gotObjects); diff != "" {
				t.Errorf("%s as %s: objects (-want +got):\n%s", file, format, diff)
			}
		}
	}
}

// TestStateAtAMoment: manifests are the state, without managed fields.
func TestStateAtAMoment(t *testing.T) {
	text := printed(t, "watch-pods.input")
	m := &replay.Memory{}
	source := open(t, text)
	for r, err := source.Next(); err == nil; r, err = source.Next() {
		m.Append(r)
	}
	for _, tt := range []struct {
		moment replay.Moment
		want   int
		reason string
	}{
		{replay.Moment{Number: 1}, 0, "before the first object there is none"},
		{replay.Moment{Number: 3}, 2, "two pods were added"},
		{replay.Moment{ResourceVersion: "285"}, 1, "one of them was deleted"},
		{replay.Moment{}, 0, "and then the other"},
	} {
		state, err := m.Seek(tt.moment)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := WriteManifests(&out, state, Options{}); err != nil {
			t.Fatal(err)
		}
		var list struct {
			APIVersion, Kind string
			Metadata         map[string]any
			Items            []map[string]any `json:"items"`
		}
		if err := yaml.Unmarshal(out.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		if list.Kind != "List" || list.Items == nil || len(list.Items) != tt.want {
			t.Errorf("%s: %s with %d items:\n%s", tt.reason, list.Kind, len(list.Items), out.String())
		}
		if strings.Contains(out.String(), "managedFields") {
			t.Errorf("%s: managed fields are shown", tt.reason)
		}
	}
}

// recorded returns a recording of changes of one stream. Objects are YAML without apiVersion and kind.
func recorded(stream replay.Stream, changes ...replay.Record) *replay.Memory {
	m := &replay.Memory{}
	m.Append(&replay.Record{Type: replay.TypeStream, Stream: 1, NewStream: &stream})
	for i := range changes {
		r := changes[i].Clone()
		r.Stream = 1
		if len(r.Object) > 0 {
			object, err := yaml.YAMLToJSON(r.Object)
			if err != nil {
				panic(err)
			}
			meta := metadataOf(object)
			r.Object, r.Namespace, r.Name, r.UID = object, meta.Namespace, meta.Name, string(meta.UID)
			r.ResourceVersion = meta.ResourceVersion
		}
		m.Append(r)
	}
	return m
}

var deployments = replay.Stream{Number: 1, Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespaced: true}

func TestAuditInfersRequests(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const (
		created = "metadata: {name: web, namespace: a, uid: u, resourceVersion: '1', managedFields: [{manager: kubectl-create, operation: Update, time: '2026-01-02T03:04:05Z'}]}"
		applied = "metadata: {name: web, namespace: a, uid: u, resourceVersion: '1', managedFields: [{manager: kubectl, operation: Apply, time: '2026-01-02T03:04:05Z'}]}"
		status  = "metadata: {name: web, namespace: a, uid: u, resourceVersion: '2', managedFields: [{manager: kubectl-create, operation: Update, time: '2026-01-02T03:04:05Z'}, {manager: kcm, operation: Update, subresource: status, time: '2026-01-02T03:04:06Z'}]}"
		marked  = "metadata: {name: web, namespace: a, uid: u, resourceVersion: '3', deletionTimestamp: '2026-01-02T03:04:07Z', finalizers: [x], managedFields: [{manager: kubectl-create, operation: Update, time: '2026-01-02T03:04:05Z'}, {manager: kcm, operation: Update, subresource: status, time: '2026-01-02T03:04:06Z'}]}"
	)
	record := func(typ replay.Type, object string) replay.Record {
		return replay.Record{Type: typ, Time: at, Object: []byte(object)}
	}
	by := record(replay.TypeDeleted, created)
	by.Writer = "bob"
	for _, tt := range []struct {
		reason  string
		changes []replay.Record
		want    []string
	}{
		{"a new object was created, by who owns its fields", []replay.Record{record(replay.TypeAdded, created)}, []string{"create 201 /apis/apps/v1/namespaces/a/deployments kubectl-create"}},
		{"or applied", []replay.Record{record(replay.TypeAdded, applied)}, []string{"patch 201 /apis/apps/v1/namespaces/a/deployments/web kubectl"}},
		{
			"a status is a subresource, the one who wrote it is new", []replay.Record{record(replay.TypeAdded, created), record(replay.TypeModified, status)},
			[]string{"create 201 /apis/apps/v1/namespaces/a/deployments kubectl-create", "update 200 /apis/apps/v1/namespaces/a/deployments/web/status kcm"},
		},
		{
			"who marks an object for deletion is not known", []replay.Record{record(replay.TypeAdded, status), record(replay.TypeModified, marked), record(replay.TypeDeleted, marked)},
			[]string{"create 201 /apis/apps/v1/namespaces/a/deployments kcm", "delete 200 /apis/apps/v1/namespaces/a/deployments/web ", "delete 200 /apis/apps/v1/namespaces/a/deployments/web "},
		},
		{"but if the recording has the writer", []replay.Record{by}, []string{"delete 200 /apis/apps/v1/namespaces/a/deployments/web bob"}},
		{
			"a first list is one request", []replay.Record{{Type: replay.TypeListBegin, Time: at}, record(replay.TypeListItem, created), {Type: replay.TypeListEnd, Time: at, ResourceVersion: "7"}},
			[]string{"list 200 /apis/apps/v1/deployments "},
		},
	} {
		var got []string
		for line := range bytes.Lines(export(t, Audit, recorded(deployments, tt.changes...), Options{})) {
			var e struct {
				Verb, RequestURI, StageTimestamp string
				User                             struct{ Username string }
				ResponseStatus                   struct{ Code int }
			}
			if err := yaml.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %d %s %s", e.Verb, e.ResponseStatus.Code, e.RequestURI, e.User.Username))
			if e.StageTimestamp != "2026-01-02T03:04:05.000000Z" {
				t.Errorf("%s: the time is %s", tt.reason, e.StageTimestamp)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestWatchPrintsLists(t *testing.T) {
	m := recorded(deployments,
		replay.Record{Type: replay.TypeListBegin},
		replay.Record{Type: replay.TypeListItem, Object: []byte("metadata: {name: web}")},
		replay.Record{Type: replay.TypeListEnd, ResourceVersion: "7"},
		replay.Record{Type: replay.TypeBookmark, ResourceVersion: "8"},
		replay.Record{Type: replay.TypeGap, Gap: &replay.Gap{}},
		replay.Record{Type: replay.TypeError, Object: []byte("code: 410")},
		replay.Record{Type: replay.TypeError, Message: "nothing was sent"},
		replay.Record{Type: replay.TypeDeleted, Relisted: true, Object: []byte("metadata: {name: web}")},
	)
	const want = `{"type":"ADDED","object":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}}}
{"type":"ERROR","object":{"code":410}}
{"type":"DELETED","object":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}}}
`
	if diff := cmp.Diff(want, string(export(t, Watch, m, Options{}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCutOff: all before the end of a recording that was cut off is written, and the error is returned.
func TestCutOff(t *testing.T) {
	text := printed(t, "watch-pods.input")
	cut := text[:len(text)/2]
	for _, format := range Formats() {
		var out bytes.Buffer
		err := Write(&out, format, open(t, cut), Options{})
		var torn *replay.TornError
		if !errors.As(err, &torn) || out.Len() < 1000 {
			t.Errorf("%s: %v after %d bytes", format, err, out.Len())
		}
	}
}

func TestErrors(t *testing.T) {
	full := errors.New("disk full")
	for _, format := range Formats() {
		if err := Write(failing{full}, format, open(t, printed(t, "list-yaml.input")), Options{}); !errors.Is(err, full) {
			t.Errorf("%s to a full disk: %v", format, err)
		}
	}
	if err := Write(io.Discard, "xml", &replay.Memory{}, Options{}); err == nil {
		t.Error("an unknown format is written")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestClean: what remains can be applied to another cluster.
func TestClean(t *testing.T) {
	for _, tt := range []struct{ reason, kind, object, want string }{
		{
			"what the API server writes is left out, and what kubectl apply keeps", "Deployment",
			"metadata: {name: web, namespace: a, uid: u, resourceVersion: '1', generation: 3, creationTimestamp: x, labels: {a: b}, annotations: {kubectl.kubernetes.io/last-applied-configuration: x, deployment.kubernetes.io/revision: '1'}, managedFields: []}\nspec: {replicas: 1}\nstatus: {replicas: 1}",
			"metadata: {name: web, namespace: a, labels: {a: b}}\nspec: {replicas: 1}",
		},
		{"other annotations stay", "ConfigMap", "metadata: {name: x, annotations: {a: b}}\ndata: {c: d}", "metadata: {name: x, annotations: {a: b}}\ndata: {c: d}"},
		{"what a controller made it makes again", "ReplicaSet", "metadata: {name: x, ownerReferences: [{kind: Deployment, controller: true}]}", ""},
		{"other owners are in the other cluster with another uid, if at all", "ConfigMap", "metadata: {name: x, ownerReferences: [{kind: Y, uid: u}]}", "metadata: {name: x}"},
		{"what was being deleted", "ConfigMap", "metadata: {name: x, deletionTimestamp: y}", ""},
		{"what every namespace has", "ConfigMap", "metadata: {name: kube-root-ca.crt}", ""},
		{"Events say what happened", "Event", "metadata: {name: x}", ""},
		{"addresses of a Service", "Service", "metadata: {name: x}\nspec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: [{port: 80, nodePort: 30000}]}", "metadata: {name: x}\nspec: {ports: [{port: 80}]}"},
		{"but that it has none is said by its address", "Service", "metadata: {name: x}\nspec: {clusterIP: None, clusterIPs: [None]}", "metadata: {name: x}\nspec: {clusterIP: None, clusterIPs: [None]}"},
		{
			"the selector of a Job is made of its uid", "Job",
			"metadata: {name: x, labels: {controller-uid: u}}\nspec: {selector: {matchLabels: {controller-uid: u}}, template: {metadata: {labels: {controller-uid: u, a: b}}}}",
			"metadata: {name: x, labels: {}}\nspec: {template: {metadata: {labels: {a: b}}}}",
		},
		{"a volume binds to another claim", "PersistentVolumeClaim", "metadata: {name: x}\nspec: {volumeName: y, storageClassName: z}", "metadata: {name: x}\nspec: {storageClassName: z}"},
	} {
		var object, want map[string]any
		if err := errors.Join(yaml.Unmarshal([]byte(tt.object), &object), yaml.Unmarshal([]byte(tt.want), &want)); err != nil {
			t.Fatal(err)
		}
		object["kind"] = tt.kind
		if clean(object) != (tt.want != "") {
			t.Errorf("%s: %s can be applied: %t", tt.reason, tt.kind, tt.want == "")
		}
		if tt.want == "" {
			continue
		}
		delete(object, "kind")
		if diff := cmp.Diff(want, object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}
