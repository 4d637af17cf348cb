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

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
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
	path := filepath.Join(r.t.TempDir(), "test.krec")
	out, err := os.Create(path)
	if err != nil {
		r.t.Fatal(err)
	}
	w, err := replay.NewWriter(out, r.Head, replay.WriterOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, record := range r.Records {
		if err := w.Write(record.Clone()); err != nil {
			r.t.Fatal(err)
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
	r.object(replay.TypeAdded, "Pod", "web-5f-x", owned("ReplicaSet", "web-5f"), `"spec":{},"status":{"phase":"Pending"}`)
	r.wait(2000) // the next day
	r.object(replay.TypeAdded, "Event", "web-5f-x.1", "", `"type":"Warning","reason":"BackOff","message":"Back-off pulling image \"nginx:nope\"",`+
		`"count":3,"source":{"component":"kubelet"},"involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"web-5f-x","uid":"uid-web-5f-x"}`)
	r.object(replay.TypeModified, "Pod", "web-5f-x", owned("ReplicaSet", "web-5f"), `"spec":{"nodeName":"n1"},"status":{"phase":"Running",`+
		`"containerStatuses":[{"name":"main","restartCount":2,"ready":true,"lastState":{"terminated":{"reason":"OOMKilled","exitCode":137}}}]}`)
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
