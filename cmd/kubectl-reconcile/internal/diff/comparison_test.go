package diff

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

var recordedStart = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)

// change is a record of a test: an object without its kind, which is that of the stream.
type change struct {
	kind            replay.Type
	stream          int
	namespace, name string
	json            string // without the braces of the object and without metadata's name and namespace
}

// recordingFile writes a recording that begins with first, and has changes a second apart.
func recordingFile(t *testing.T, first []change, changes ...change) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.rec")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := replay.NewWriter(file, replay.Header{Start: recordedStart}, replay.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := recordedStart
	add := func(r *replay.Record) {
		r.Time = at
		if err := writer.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	streams := []replay.Stream{
		{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true},
		{Version: "v1", Kind: "Secret", Resource: "secrets", Namespaced: true},
		{Version: "v1", Kind: "Event", Resource: "events", Namespaced: true},
		{Version: "v1", Kind: "Node", Resource: "nodes"},
	}
	for i := range streams {
		streams[i].Number = i + 1
		add(&replay.Record{Type: replay.TypeStream, Stream: i + 1, NewStream: &streams[i]})
	}
	object := func(c change) *replay.Record {
		text := `{"metadata":{"name":"` + c.name + `","namespace":"` + c.namespace + `"` + c.json + `}`
		if !json.Valid([]byte(text)) {
			t.Fatalf("not JSON: %s", text)
		}
		return &replay.Record{
			Type: c.kind, Stream: c.stream, Namespace: c.namespace, Name: c.name, Object: []byte(text), ResourceVersion: "1",
		}
	}
	for _, c := range first {
		add(object(c))
	}
	for i := range streams {
		add(&replay.Record{Type: replay.TypeListEnd, Stream: i + 1, ResourceVersion: "100"})
	}
	for _, c := range changes {
		at = at.Add(time.Second)
		add(object(c))
	}
	if err := errors.Join(writer.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// shop has pods that change, stay, go and are created again, a Secret, Events and a Node.
func shop(t *testing.T) string {
	t.Helper()
	return recordingFile(t, []change{
		{replay.TypeListItem, 1, "shop", "changed", `,"labels":{"app":"web"},"uid":"1","resourceVersion":"1"},"status":{"phase":"Pending"}`},
		{replay.TypeListItem, 1, "shop", "same", `,"uid":"2","resourceVersion":"2","managedFields":[{"manager":"a"}]}`},
		{replay.TypeListItem, 1, "shop", "gone", `,"uid":"3","resourceVersion":"3"}`},
		{replay.TypeListItem, 1, "shop", "again", `,"uid":"4","resourceVersion":"4"}`},
		{replay.TypeListItem, 2, "shop", "key", `,"uid":"5","resourceVersion":"5"},"data":{"password":"b2xk"}`},
		{replay.TypeListItem, 4, "", "node", `,"uid":"6","resourceVersion":"6"},"spec":{"unschedulable":false}`},
	},
		change{replay.TypeModified, 1, "shop", "changed", `,"labels":{"app":"web"},"uid":"1","resourceVersion":"11"},"status":{"phase":"Running"}`},
		change{replay.TypeModified, 1, "shop", "same", `,"uid":"2","resourceVersion":"12","managedFields":[{"manager":"b"}]}`},
		change{replay.TypeDeleted, 1, "shop", "gone", `,"uid":"3","resourceVersion":"13"}`},
		change{replay.TypeDeleted, 1, "shop", "again", `,"uid":"4","resourceVersion":"14"}`},
		change{replay.TypeAdded, 1, "shop", "again", `,"uid":"44","resourceVersion":"15"}`},
		change{replay.TypeAdded, 1, "other", "new", `,"uid":"7","resourceVersion":"16"}`},
		change{replay.TypeModified, 2, "shop", "key", `,"uid":"5","resourceVersion":"17"},"data":{"password":"bmV3"}`},
		change{replay.TypeAdded, 3, "shop", "event", `,"uid":"8","resourceVersion":"18"}`},
		change{replay.TypeModified, 4, "", "node", `,"uid":"6","resourceVersion":"19"},"spec":{"unschedulable":true}`},
	)
}

// comparisonOf returns a comparison as a command line asks for it.
func comparisonOf(t *testing.T, file, from, to string, args ...string) (*comparison, *strings.Builder) {
	t.Helper()
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	out := &strings.Builder{}
	streams.Out = out
	o := &Options{streams: streams, shown: shownFields{status: true}}
	var err error
	if o.named, err = connect.NewTargetFlags().Parse(args); err != nil {
		t.Fatal(err)
	}
	o.comparison = &comparison{options: o, files: []string{file}, from: from, to: to, selector: labels.Everything()}
	return o.comparison, out
}

// TestComparison: which objects differ.
func TestComparison(t *testing.T) {
	file := shop(t)
	for _, row := range []struct {
		reason    string
		from, to  string
		args      []string
		namespace string
		labels    string
		want      []string
		notes     string
		unknown   string
	}{
		{reason: "all but Events; an object that only its bookkeeping changed is the same", from: "start", to: "end",
			want:  []string{"~ Node node", "+ Pod new", "~ Pod again", "~ Pod changed", "- Pod gone", "~ Secret key"},
			notes: "not shown: events (1 differs); name them to see them"},
		{reason: "in between", from: "start", to: "+1s", want: []string{"~ Pod changed"}},
		{reason: "backwards", from: "+3s", to: "start", want: []string{"~ Pod changed", "+ Pod gone"}},
		{reason: "nothing", from: "end", to: "end"},
		{reason: "kinds that are named", from: "start", to: "end", args: []string{"events,nodes"},
			want: []string{"+ Event event", "~ Node node"}},
		{reason: "objects that are named, in any namespace", from: "start", to: "end", args: []string{"pod/new", "pod/gone"},
			want: []string{"+ Pod new", "- Pod gone"}},
		{reason: "a namespace", from: "start", to: "end", namespace: "other", want: []string{"+ Pod new"}},
		{reason: "labels", from: "start", to: "end", labels: "app=web", want: []string{"~ Pod changed"},
			notes: "not shown: events (1 differs); name them to see them"},
		{reason: "a kind that was not recorded", from: "start", to: "end", args: []string{"deployments"},
			unknown: "deployments.apps were not recorded"},
		{reason: "a kind that there is not", from: "start", to: "end", args: []string{"pots"},
			unknown: `no kind "pots" is known`},
	} {
		c, _ := comparisonOf(t, file, row.from, row.to, row.args...)
		c.options.plan.Namespace = row.namespace
		if row.labels != "" {
			selector, err := labels.Parse(row.labels)
			if err != nil {
				t.Fatal(err)
			}
			c.selector = selector
		}
		found, err := c.compare(t.Context())
		if row.unknown != "" {
			if err == nil || !strings.Contains(err.Error(), row.unknown) {
				t.Errorf("%s: %v, want %s", row.reason, err, row.unknown)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range found.objects {
			obj := &found.objects[i]
			got = append(got, signs[obj.Verb()]+" "+obj.Kind+" "+obj.Name)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", row.reason, diff)
		}
		if notes := strings.Join(found.leftOut, "; "); notes != row.notes {
			t.Errorf("%s: noted %q, want %q", row.reason, notes, row.notes)
		}
	}
}

// TestComparisonText: what is written of it, of which Secrets show nothing.
func TestComparisonText(t *testing.T) {
	c, out := comparisonOf(t, shop(t), "start", "end")
	if err := c.run(t.Context()); !errors.Is(err, cli.ErrSilentExit) {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{
		"from 2026-01-01T10:00:00Z, 0s after the beginning: record ",
		"~ Pod shop/again     deleted and created again: metadata.uid: 4 -> 44",
		"--- FROM/v1.Pod.shop.changed\n+++ TO/v1.Pod.shop.changed\n",
		"-  phase: Pending\n+  phase: Running\n",
		"-  password: '*** (before)'\n+  password: '*** (after)'\n",
		"\n1 created, 4 changed, 1 deleted\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, secret := range []string{"b2xk", "bmV3", "resourceVersion"} {
		if strings.Contains(text, secret) {
			t.Errorf("it shows %s:\n%s", secret, text)
		}
	}
	again, second := comparisonOf(t, c.files[0], "start", "end")
	if err := again.run(t.Context()); !errors.Is(err, cli.ErrSilentExit) || second.String() != text {
		t.Errorf("it is not the same twice: %v", err)
	}
}

// TestComparisonDocument: -o json has the moments and what changed.
func TestComparisonDocument(t *testing.T) {
	c, out := comparisonOf(t, shop(t), "start", "+1s")
	c.options.output = "json"
	if err := c.run(t.Context()); !errors.Is(err, cli.ErrSilentExit) {
		t.Fatal(err)
	}
	var got v1alpha1.Comparison
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Kind != "Comparison" || got.To.Time != "2026-01-01T10:00:01Z" || got.To.Record != got.From.Record+1 {
		t.Errorf("it is of %+v to %+v", got.From, got.To)
	}
	if len(got.Objects) != 1 || got.Objects[0].Object.Name != "changed" || !got.Objects[0].OnlyStatus ||
		len(got.Objects[0].Changes) != 1 || got.Objects[0].Changes[0].Path != "status.phase" {
		t.Errorf("%+v", got.Objects)
	}
}

// TestReadMoment: the objects that a plan begins with are those of the moment.
func TestReadMoment(t *testing.T) {
	file := recordingFile(t, []change{
		{replay.TypeListItem, 1, "shop", "old", `,"uid":"1","resourceVersion":"1","creationTimestamp":"2026-01-01T09:59:00Z"}`},
		{replay.TypeListItem, 3, "shop", "event", `,"uid":"2","resourceVersion":"2"}`},
	}, change{replay.TypeDeleted, 1, "shop", "old", `,"uid":"1","resourceVersion":"3"}`})
	streams, _, _, errOut := genericiooptions.NewTestIOStreams()
	objects, at, err := readMoment(t.Context(), streams, []string{file}, "start")
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 1 || objects[0].Object.GetKind() != "Pod" || objects[0].Object.GetAPIVersion() != "v1" {
		t.Fatalf("%+v", objects)
	}
	if ago := at.Sub(objects[0].Object.GetCreationTimestamp().Time).Truncate(time.Second); ago != time.Minute {
		t.Errorf("created %s ago", ago)
	}
	if !strings.HasPrefix(errOut.String(), "as of 2026-01-01T10:00:00Z") {
		t.Errorf("it said %s", errOut)
	}
	if _, _, err := readMoment(t.Context(), streams, []string{file}, "end"); err == nil {
		t.Error("a plan of nothing is made")
	}
}
