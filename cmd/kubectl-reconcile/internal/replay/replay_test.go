package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1/schematest"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// start is when the recordings of the tests begin.
var start = time.Date(2026, 1, 31, 23, 59, 58, 0, time.UTC)

// recording makes a recording for a test.
type recording struct {
	t *testing.T
	replay.Memory
	now     time.Time
	streams map[string]int
}

// newRecording returns a recording that begins with the lists of these kinds.
func newRecording(t *testing.T, kinds ...string) *recording {
	t.Helper()
	r := &recording{t: t, now: start, streams: map[string]int{}}
	r.Head = replay.Header{Version: replay.FormatVersion, Start: start, Server: "v1.37.1", Context: "prod"}
	for i, text := range kinds {
		// PLURAL.GROUP/VERSION KIND
		resource, kind, _ := strings.Cut(text, " ")
		resource, version, _ := strings.Cut(resource, "/")
		resource, group, _ := strings.Cut(resource, ".")
		r.streams[kind] = i + 1
		r.add(&replay.Record{Type: replay.TypeStream, Stream: i + 1, NewStream: &replay.Stream{
			Number: i + 1, Group: group, Version: version, Kind: kind, Resource: resource, Singular: strings.ToLower(kind), Namespaced: true,
			HasStatus: true,
		}})
	}
	return r
}

func (r *recording) add(record *replay.Record) *replay.Record {
	record.Time = r.now
	r.Append(record)
	return record
}

// wait lets time go by.
func (r *recording) wait(milliseconds int) {
	r.now = r.now.Add(time.Duration(milliseconds) * time.Millisecond)
}

func (r *recording) listed(kind string) {
	r.add(&replay.Record{Type: replay.TypeListEnd, Stream: r.streams[kind], ResourceVersion: "100"})
}

// object adds a record of an object with these members of metadata and of the object.
func (r *recording) object(typ replay.Type, kind, name, metadata, rest string) *replay.Record {
	r.t.Helper()
	namespace, name, found := strings.Cut(name, "/")
	if !found {
		namespace, name = "shop", namespace
	}
	text := fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"uid":"uid-%s","resourceVersion":"%d"%s}%s}`,
		name, namespace, name, 100+len(r.Records), prefixed(metadata), prefixed(rest))
	if !json.Valid([]byte(text)) {
		r.t.Fatalf("no JSON: %s", text)
	}
	return r.add(&replay.Record{
		Type: typ, Stream: r.streams[kind], Namespace: namespace, Name: name, UID: "uid-" + name,
		ResourceVersion: fmt.Sprint(100 + len(r.Records)), Object: []byte(text),
	})
}

func prefixed(members string) string {
	if members == "" {
		return ""
	}
	return "," + members
}

// by are managedFields with one writer.
func by(manager, subresource string, now time.Time) string {
	return fmt.Sprintf(`"managedFields":[{"manager":%q,"operation":"Update","subresource":%q,"time":%q,"fieldsV1":{}}]`,
		manager, subresource, now.Format(time.RFC3339))
}

// file writes the recording to a file, and returns its path. It has no TypeEnd unless the recording has.
func (r *recording) file() string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "test.rec")
	out, err := os.Create(path)
	if err != nil {
		r.t.Fatal(err)
	}
	w, err := replay.NewWriter(out, r.Head, replay.WriterOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	for i, record := range r.Records {
		if err := w.Write(record.Clone()); err != nil {
			r.t.Fatal(err)
		}
		if i == len(r.Records)/2 {
			if err := w.Flush(); err != nil { // what a recorder that is killed later does not lose
				r.t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		r.t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// rollout is a Deployment that is created, scaled and deleted, with what else happens meanwhile.
func rollout(t *testing.T) *recording {
	t.Helper()
	r := newRecording(t, "deployments.apps/v1 Deployment", "replicasets.apps/v1 ReplicaSet", "pods/v1 Pod", "events/v1 Event")
	r.object(replay.TypeListItem, "Pod", "old", "", `"status":{"phase":"Running"}`)
	for _, kind := range []string{"Deployment", "ReplicaSet", "Pod", "Event"} {
		r.listed(kind)
	}
	const none = `"status":{}`
	deployment := func(generation, replicas, observed, ready int, available string) string {
		if observed == 0 {
			return fmt.Sprintf(`"spec":{"replicas":%d},%s`, replicas, none)
		}
		return fmt.Sprintf(`"spec":{"replicas":%d},"status":{"observedGeneration":%d,"replicas":%d,"updatedReplicas":%[3]d,"readyReplicas":%d,`+
			`"availableReplicas":%[4]d,"conditions":[{"type":"Available","status":%q,"reason":"MinimumReplicas","message":"Deployment is %[5]s."}]}`,
			replicas, observed, replicas, ready, available)
	}
	generation := func(n int, who string) string { return fmt.Sprintf(`"generation":%d,%s`, n, by(who, "", r.now)) }
	owned := func(kind, name string) string {
		return fmt.Sprintf(`"ownerReferences":[{"apiVersion":"apps/v1","kind":%q,"name":%q,"uid":"uid-%[2]s","controller":true}],%s`,
			kind, name, by("kube-controller-manager", "", r.now))
	}
	r.wait(100)
	r.object(replay.TypeAdded, "Deployment", "web", generation(1, "kubectl-create"), deployment(1, 1, 0, 0, ""))
	r.wait(20)
	r.object(replay.TypeAdded, "ReplicaSet", "web-5f", owned("Deployment", "web"), `"spec":{"replicas":1}`)
	r.wait(10)
	r.object(replay.TypeModified, "Deployment", "web", `"generation":1,`+by("kube-controller-manager", "status", r.now), deployment(1, 1, 1, 0, "False"))
	r.object(replay.TypeAdded, "Pod", "web-5f-x", owned("ReplicaSet", "web-5f"), `"spec":{},"status":{"phase":"Pending",`+
		`"containerStatuses":[{"name":"main","restartCount":0,"ready":false,"state":{"waiting":{"reason":"ContainerCreating"}}}]}`)
	r.wait(2000) // the next day
	r.object(replay.TypeAdded, "Event", "web-5f-x.1", "", `"type":"Warning","reason":"BackOff","message":"Back-off pulling image \"nginx:nope\"",`+
		`"count":3,"source":{"component":"kubelet"},"involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"web-5f-x","uid":"uid-web-5f-x"}`)
	r.object(replay.TypeModified, "Pod", "web-5f-x", owned("ReplicaSet", "web-5f"), `"spec":{"nodeName":"n1"},"status":{"phase":"Running",`+
		`"containerStatuses":[{"name":"main","restartCount":2,"ready":true,"state":{"running":{}},"lastState":{"terminated":{"reason":"OOMKilled","exitCode":137}}}]}`)
	r.wait(50)
	r.object(replay.TypeModified, "Deployment", "web", `"generation":1,`+by("kube-controller-manager", "status", r.now), deployment(1, 1, 1, 1, "True"))
	r.wait(3000)
	r.object(replay.TypeModified, "Deployment", "web", generation(2, "kubectl-scale"), deployment(2, 3, 1, 1, "True"))
	r.wait(1000)
	r.add(&replay.Record{Type: replay.TypeError, Stream: 3, Message: "too old resource version: 1 (100)"})
	r.wait(500)
	r.add(&replay.Record{Type: replay.TypeGap, Stream: 3, Gap: &replay.Gap{Reason: replay.GapWatchExpired, Since: r.now.Add(-1500 * time.Millisecond)}})
	r.add(&replay.Record{Type: replay.TypeListBegin, Stream: 3})
	r.object(replay.TypeDeleted, "Pod", "old", "", `"status":{"phase":"Running"}`).Relisted = true
	r.listed("Pod")
	r.wait(100)
	r.object(replay.TypeModified, "Deployment", "web", `"generation":3,"deletionTimestamp":"2026-02-01T00:00:05Z","finalizers":["foregroundDeletion"],`+
		by("kubectl-scale", "", r.now.Add(-1600*time.Millisecond)), deployment(2, 3, 1, 1, "True"))
	r.object(replay.TypeDeleted, "Deployment", "web", "", deployment(2, 3, 1, 1, "True"))
	return r
}

// output is what a command wrote, and its exit code.
type output struct {
	out, err string
	code     int
}

// runCommand runs the command with arguments.
func runCommand(t *testing.T, in io.Reader, args ...string) output {
	t.Helper()
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: in, Out: &out, ErrOut: &errOut}
	cmd := NewCommand(streams)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	code := cli.ExitCode(t.Context(), streams, cmd.ExecuteContext(t.Context()))
	return output{out.String(), errOut.String(), code}
}

// golden compares what was written with a file in testdata; UPDATE_GOLDEN=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestTimeline(t *testing.T) {
	file := rollout(t).file()
	for _, row := range []struct {
		reason, golden string
		args           []string
	}{
		{"all of it", "timeline.txt", nil},
		{"in full", "verbose.txt", []string{"-v", "--existing"}},
		{"what belongs to a Deployment, Events about it included", "tree.txt", []string{"--tree", "deploy/web"}},
		{"one object", "object.txt", []string{"--object", "po/web-5f-x"}},
		{"one field, from its first value on", "field.txt", []string{"--field", "spec.replicas"}},
		{"one writer", "writer.txt", []string{"--writer", "kubectl-scale"}},
		{"a kind", "kind.txt", []string{"--kind", "rs"}},
		{"a type, in any case", "type.txt", []string{"--type", "deleted,EVENT"}},
		{"from a time on, which is compared with what was before", "since.txt", []string{"--since", "00:00:03"}},
		{"a part of it", "part.txt", []string{"--since", "#13", "--until", "#15"}},
		{"summed up", "summary.txt", []string{"--summary"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			got := runCommand(t, nil, append([]string{file}, row.args...)...)
			if got.code != 0 || got.err != "" {
				t.Errorf("exit code %d, %s", got.code, got.err)
			}
			golden(t, row.golden, got.out)
		})
	}
}

func TestDocuments(t *testing.T) {
	r := rollout(t)
	traced(r)
	file := r.file()
	const schema = "../../../../docs/replay.schema.json"
	got := runCommand(t, nil, file, "-o", "json", "--existing")
	if got.code != 0 || strings.Count(got.out, "\n") < 20 {
		t.Fatalf("exit code %d, %s: %s", got.code, got.err, got.out)
	}
	for line := range strings.Lines(got.out) {
		if err := schematest.Check(schema, strings.NewReader(line)); err != nil {
			t.Errorf("%s\n%v", line, err)
		}
	}
	for _, format := range []string{"json", "yaml"} {
		got := runCommand(t, nil, file, "-o", format, "--summary")
		text, err := yaml.YAMLToJSON([]byte(got.out))
		if err == nil {
			err = schematest.Check(schema, bytes.NewReader(text))
		}
		if err != nil {
			t.Errorf("%v\n%s", err, got.out)
		}
	}
}

// traced adds the trace of a reconcile that wrote an object and failed.
func traced(r *recording) {
	events := []*trace.Event{
		{Seq: 1, Time: r.now, Detail: &trace.Watch{
			Event: trace.Added, Object: trace.Object{Kind: "Deployment", Namespace: "shop", Name: "web"}, ResourceVersion: "900", WrittenBy: 7,
			Writer: "deployment",
		}},
		{Seq: 2, Time: r.now, Controller: "deployment", Reconcile: 8, Key: "shop/web", Detail: &trace.Start{Causes: []trace.Cause{{
			Type: trace.CauseWatch, Watch: &trace.Watch{
				Event: trace.Modified, Object: trace.Object{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
				Manager: trace.ManagerFrom(func() fields.Writer { return fields.Writer{Manager: "kubectl"} }),
			},
		}}}},
	}
	for i := range 2 {
		events = append(events, &trace.Event{
			Seq: uint64(3 + i), Time: r.now, Controller: "deployment", Reconcile: 8, Key: "shop/web", Detail: &trace.Request{
				Verb: "create", Object: trace.Object{Kind: "ReplicaSet", Namespace: "shop", Name: fmt.Sprintf("web-%d", i)}, Code: 201,
			},
		})
	}
	events = append(events,
		&trace.Event{Seq: 5, Time: r.now, Controller: "deployment", Reconcile: 8, Key: "shop/web", Detail: &trace.Request{
			Verb: "update", Object: trace.Object{Kind: "Deployment", Namespace: "shop", Name: "web"}, Subresource: "status", Code: 409, Message: "conflict",
		}},
		&trace.Event{Seq: 6, Time: r.now, Controller: "deployment", Reconcile: 8, Key: "shop/web", Detail: &trace.End{
			Outcome: trace.Failed, Duration: trace.Duration(1500 * time.Microsecond), Error: "conflict\x1b[2J", Writes: 2, Refused: 1,
		}},
		&trace.Event{Seq: 7, Time: r.now, Controller: "deployment", Reconcile: 9, Key: "shop/web", Detail: &trace.End{Outcome: trace.Done}},
	)
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			r.t.Fatal(err)
		}
		r.add(&replay.Record{Type: replay.TypeTrace, Object: line})
	}
}

// TestDetails: a line has the details that tell most; -v and --all-fields show all.
func TestDetails(t *testing.T) {
	r := newRecording(t, "pods/v1 Pod", "configmaps/v1 ConfigMap")
	conditions := func(ready, last string) string {
		var all []string
		for _, name := range []string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
			status := ready
			if name == "Initialized" || name == "PodScheduled" {
				status = "True"
			}
			all = append(all, fmt.Sprintf(`{"type":%q,"status":%q,"reason":"Because"}`, name, status))
		}
		return `"conditions":[` + strings.Join(all, ",") + `]` + last
	}
	r.object(replay.TypeAdded, "Pod", "a", "", `"spec":{},"status":{"phase":"Pending"}`)
	r.object(replay.TypeModified, "Pod", "a", "", `"spec":{},"status":{"phase":"Pending",`+conditions("False",
		`,"containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ContainerCreating"}}}]`)+`}`)
	r.object(replay.TypeModified, "Pod", "a", "", `"spec":{},"status":{"phase":"Running","podIP":"10.0.0.1",`+conditions("False",
		`,"containerStatuses":[{"name":"c","state":{"running":{}}}]`)+`}`)
	r.object(replay.TypeModified, "Pod", "a", "", `"spec":{},"status":{"phase":"Running","podIP":"10.0.0.1",`+conditions("True",
		`,"containerStatuses":[{"name":"c","state":{"running":{}}}]`)+`}`)
	r.object(replay.TypeAdded, "ConfigMap", "c", "", `"data":{}`)
	r.object(replay.TypeModified, "ConfigMap", "c", "", `"data":{"a":"1","b":"2","c":"3","d":"4","e":"5"}`)
	r.object(replay.TypeModified, "ConfigMap", "c", "", `"data":{"a":"2","b":"3","c":"4","d":"5","e":"6","f":"7"}`)
	file := r.file()
	got := runCommand(t, nil, file, "--type", "modified")
	want := `2026-01-31 UTC
23:59:58.000  Pod/a                         container c waiting (ContainerCreating), Ready False (Because), … and 4 more
23:59:58.000  Pod/a                         phase: Pending -> Running, podIP: 10.0.0.1, container c waiting -> running
23:59:58.000  Pod/a                         PodReadyToStartContainers False -> True (Because), Ready False -> True (Because), ContainersReady False -> True (Because)
23:59:58.000  ConfigMap/c                   data.a: 1, data.b: 2, data.c: 3, data.d: 4, data.e: 5
23:59:58.000  ConfigMap/c                   data.a: 1 -> 2, data.b: 2 -> 3, data.c: 3 -> 4, data.d: 4 -> 5, … and 2 more
`
	if diff := cmp.Diff(want, got.out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, flag := range []string{"-v", "--all-fields"} {
		all := runCommand(t, nil, file, "--type", "modified", flag).out
		if strings.Contains(all, " more") || !strings.Contains(all, "ContainersReady False") || !strings.Contains(all, "data.f: 7") {
			t.Errorf("%s does not show all:\n%s", flag, all)
		}
	}
}

func TestReconciles(t *testing.T) {
	r := newRecording(t, "deployments.apps/v1 Deployment")
	traced(r)
	r.object(replay.TypeModified, "Deployment", "web", "", "").ResourceVersion = "900"
	r.Records[len(r.Records)-1].Object = []byte(`{"metadata":{"name":"web","namespace":"shop","uid":"uid-web","resourceVersion":"900"}}`)
	got := runCommand(t, nil, r.file())
	want := `2026-01-31 UTC
23:59:58.000  recording of context prod, Kubernetes v1.37.1
23:59:58.000  deployment #8                 shop/web: create ReplicaSet (2), update Deployment/web status refused: conflict, failed: conflict^[[2J   because modified Deployment/web by kubectl
23:59:58.000  Deployment/web                changed; how it was before is not recorded   by deployment #7
23:59:58.000  end of the recording
`
	if diff := cmp.Diff(want, got.out); diff != "" {
		t.Errorf("what was written by the trace, and reconciles that wrote or failed (-want +got):\n%s", diff)
	}
	if verbose := runCommand(t, nil, r.file(), "-v"); !strings.Contains(verbose.out, "shop/web: no writes\n") {
		t.Errorf("-v does not show all reconciles:\n%s", verbose.out)
	}
}

func TestRefusals(t *testing.T) {
	file := rollout(t).file()
	for _, row := range []struct {
		reason string
		args   []string
		want   string
	}{
		{"nothing to read", nil, "error: no recording is named\nhint: name a FILE, or - for stdin; `kubectl reconcile record -o FILE` makes one\n"},
		{"an unknown output", []string{file, "-o", "jsn"}, "error: unknown output format \"jsn\"\nhint: did you mean json? there are json, yaml, watch, audit and manifests; without -o the output is text\n"},
		{"YAML has no lines", []string{file, "-o", "yaml"}, "error: a timeline is not written as YAML\nhint: -o json writes a line for each entry\n"},
		{"an unknown kind", []string{file, "--kind", "deploymnt"}, "error: the recording has no kind \"deploymnt\"\nhint: did you mean deployment or deployments?\n"},
		{"a kind that is like none", []string{file, "--kind", "xyzzy"}, "error: the recording has no kind \"xyzzy\"\nhint: it has deployments.apps, replicasets.apps, pods, events\n"},
		{"the kind of an object", []string{file, "--tree", "dep/web"}, "error: the recording has no kind \"dep\"\nhint: did you mean deploy or deployment or deployments?\n"},
		{"an object that is not there", []string{file, "--object", "deploy/webb"}, "error: the recording has no \"deploy/webb\"\nhint: did you mean web?\n"},
		{"the root of a tree", []string{file, "--tree", "deploy/other", "--summary"}, "error: the recording has no \"deploy/other\"\n"},
		{"a namespace", []string{file, "-n", "shp"}, "error: the recording has nothing of the namespace \"shp\"\nhint: did you mean shop? it has shop\n"},
		{"no name", []string{file, "--object", "web"}, "error: --object \"web\" must be TYPE/NAME\nhint: for example deploy/web\n"},
		{"an unknown type", []string{file, "--type", "ADED"}, "error: unknown type \"ADED\"\nhint: did you mean ADDED? there are ADDED, MODIFIED, DELETED, EXISTING, EVENT, RECONCILE, LIST, GAP, ERROR, BEGIN, END, TORN\n"},
		{"a bad path", []string{file, "--field", "spec[replicas"}, "error: --field: reading the path \"spec[replicas\": a [ is not closed\nhint: for example spec.replicas, spec.template.spec.containers[web].image or metadata.labels[app.kubernetes.io/name]\n"},
		{"a bad speed", []string{file, "--follow", "--speed", "0"}, "error: --speed 0 is not above 0\n"},
		{"two outputs", []string{file, "--summary", "--follow"}, "error: --summary and --follow exclude each other\n"},
		{"an export of a summary", []string{file, "--summary", "-o", "audit"}, "error: --summary and -o audit exclude each other\n"},
		{"an export in time", []string{file, "--follow", "-o", "watch"}, "error: --follow and -o watch exclude each other\n"},
		{"cleaning what is not cleaned", []string{file, "--clean"}, "error: --clean is not for the timeline\nhint: it is for -o manifests\n"},
		{"a moment of the timeline", []string{file, "--at", "#3"}, "error: --at is not for the timeline\nhint: --since and --until choose a part of the recording; `get --from FILE --at TIME` shows a moment\n"},
		{"a moment of a log", []string{file, "-o", "audit", "--at", "#3"}, "error: --at is not for -o audit\nhint: --since and --until choose a part of the recording; `get --from FILE --at TIME` shows a moment\n"},
		{"two moments", []string{file, "-o", "manifests", "--at", "#3", "--until", "#3"}, "error: --at and --until exclude each other\n"},
		{"a speed of nothing", []string{file, "--speed", "3"}, "error: --speed is not for the timeline\nhint: it is for --follow and --serve\n"},
		{"serving and summing up", []string{file, "--serve", "--summary"}, "error: --serve and --summary exclude each other\n"},
		{"serving a part", []string{file, "--serve", "--kind", "pods"}, "error: --serve and --kind exclude each other\n"},
		{"controllers on a part", []string{file, "--controller", "job", "--since", "#3"}, "error: --controller and --since exclude each other\n"},
		{"a command for nothing", []string{file, "--", "ls"}, "error: a command after -- needs --serve\nhint: kubectl reconcile replay FILE --serve -- COMMAND ARGS\n"},
		{"an unknown flag", []string{file, "--sumary"}, "error: unknown flag: --sumary\n"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			got := runCommand(t, nil, row.args...)
			if got.code != errorCode || got.out != "" {
				t.Errorf("exit code %d, output %s", got.code, got.out)
			}
			if diff := cmp.Diff(row.want, got.err); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMoments(t *testing.T) {
	file := rollout(t).file()
	for _, row := range []struct {
		reason string
		args   []string
		code   int
		first  string // of stdout
		err    string // a part of stderr
	}{
		{"a time before the recording is its beginning", []string{"--since", "2026-01-30T00:00:00Z"}, 0, "2026-01-31 UTC\n23:59:58.000  recording of", ""},
		{"a time in it", []string{"--since", "00:00:04.78"}, 0, "2026-02-01 UTC\n00:00:04.780  Deployment/web ", ""},
		{"a time after it", []string{"--since", "2026-03-01T00:00:00Z"}, errorCode, "", "which goes from 2026-01-31T23:59:58.000Z to 2026-02-01T00:00:04.780Z\nhint: "},
		{"a number after it", []string{"--since", "#9999"}, errorCode, "", "its records are #1 to #"},
		{"the number of a record", []string{"--since", "#11"}, 0, "2026-01-31 UTC\n23:59:58.120  ReplicaSet/web-5f ", ""},
		{"a resource version: its record is the first", []string{"--since", "110"}, 0, "2026-01-31 UTC\n23:59:58.120  ReplicaSet/web-5f ", ""},
		{"after the first lists", []string{"--since", "start", "--until", "#10"}, 0, "2026-01-31 UTC\n23:59:58.100  Deployment/web                created", ""},
		{"the end", []string{"--since", "end"}, 0, "", "No changes found in that time.\n"},
		{"until before it", []string{"--until", "2026-01-30T00:00:00Z"}, errorCode, "", "--until: "},
		{"until after it", []string{"--until", "2027-01-30T00:00:00Z"}, 0, "2026-01-31 UTC\n23:59:58.000  recording of", ""},
		{"no moment", []string{"--until", "tomorrow"}, errorCode, "", `error: --until: parsing the moment "tomorrow": `},
		{"nothing is selected", []string{"--object", "deploy/web", "--field", "spec.paused"}, 0, "2026-01-31 UTC\n23:59:58.000  recording of", "No changes found that are selected.\n"},
		{"a writer that is not there", []string{"--writer", "kubctl-scale"}, 0, "2026-01-31 UTC\n23:59:58.000  recording of", "hint: did you mean kubectl-scale?"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			got := runCommand(t, nil, append([]string{file}, row.args...)...)
			if got.code != row.code || !strings.HasPrefix(got.out, row.first) || row.first == "" && got.out != "" {
				t.Errorf("exit code %d, output:\n%s", got.code, got.out)
			}
			if !strings.Contains(got.err, row.err) || row.err == "" && got.err != "" {
				t.Errorf("stderr:\n%s", got.err)
			}
		})
	}
}

func TestEventsAboutKindsThatWereNotRecorded(t *testing.T) {
	r := newRecording(t, "events/v1 Event")
	r.object(replay.TypeAdded, "Event", "e", "", `"reason":"Completed","involvedObject":{"apiVersion":"batch/v1","kind":"Job","namespace":"shop","name":"j"}`)
	got := runCommand(t, nil, r.file(), "--object", "job/j")
	if got.code != 0 || !strings.Contains(got.out, "Job/j                         Event Completed") {
		t.Errorf("exit code %d, %s%s", got.code, got.err, got.out)
	}
}

func TestTornRecording(t *testing.T) {
	file := rollout(t).file()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text[:len(text)-500], 0o600); err != nil {
		t.Fatal(err)
	}
	got := runCommand(t, nil, file)
	if got.code != 0 || !strings.Contains(got.out, "  Deployment/web ") || !strings.HasPrefix(got.err, "warning: the recording is cut off after record ") || strings.Count(got.err, "\n") != 1 {
		t.Errorf("exit code %d, stderr %s", got.code, got.err)
	}
}

func TestExports(t *testing.T) {
	file := rollout(t).file()
	for _, row := range []struct {
		reason string
		args   []string
		want   int // lines with this part
		part   string
	}{
		{"watch events", []string{"-o", "watch"}, 3, `"MODIFIED"`},
		{"watch events of one object", []string{"-o", "watch", "--object", "deploy/web"}, 6, `"kind":"Deployment"`},
		{"an audit log until a moment", []string{"-o", "audit", "--until", "#11"}, 2, `"verb":"create"`},
		{"manifests of a moment", []string{"-o", "manifests", "--until", "#13", "--kind", "pods"}, 2, "kind: Pod"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			got := runCommand(t, nil, append([]string{file}, row.args...)...)
			if n := strings.Count(got.out, row.part); got.code != 0 || got.err != "" || n < row.want {
				t.Errorf("exit code %d, %d, stderr %s, output:\n%s", got.code, n, got.err, got.out)
			}
		})
	}
}
