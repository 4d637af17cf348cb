package moment

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/complete"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// incident returns the file of a recording of a Deployment and its pods: the first one is replaced by another, which
// fails, while nothing is received for ten seconds; then the Deployment is deleted. It has more pods at the end.
func incident(t *testing.T, more int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "incident.rec")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := replay.NewWriter(file, replay.Header{Start: begin}, replay.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(seconds float64, r replay.Record) {
		r.Time = begin.Add(time.Duration(seconds * float64(time.Second)))
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range []replay.Stream{
		{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", ShortNames: []string{"deploy"}},
		{Version: "v1", Kind: "Pod", Resource: "pods", ShortNames: []string{"po"}},
		{Version: "v1", Kind: "Event", Resource: "events"},
	} {
		s.Number, s.Namespaced, s.Verbs = i+1, true, []string{"get", "list", "watch"}
		write(0, replay.Record{Type: replay.TypeStream, Stream: s.Number, NewStream: &s})
	}
	version := 100
	object := func(seconds float64, typ replay.Type, stream int, name, fields string) {
		version++
		write(seconds, replay.Record{
			Type: typ, Stream: stream, Namespace: "shop", Name: name, UID: "u-" + name, ResourceVersion: fmt.Sprint(version),
			Object: fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"shop","uid":"u-%s","resourceVersion":"%d",%s}`, name, name, version, fields),
		})
	}
	const owned = `"generation":1,"ownerReferences":[{"kind":"Deployment","name":"web"}]},"spec":{"nodeName":"n"}`
	object(0, replay.TypeListItem, 1, "web", `"generation":1,"managedFields":[{"manager":"kubectl"}]},"spec":{"replicas":1}`)
	object(0, replay.TypeListItem, 2, "web-1", owned)
	for stream := 1; stream <= 3; stream++ {
		write(1, replay.Record{Type: replay.TypeListEnd, Stream: stream, ResourceVersion: "103"})
	}
	object(30.0004, replay.TypeModified, 1, "web", `"generation":2},"spec":{"replicas":2,"paused":true}`)
	object(31, replay.TypeModified, 1, "web", `"generation":2},"spec":{"replicas":2},"status":{"conditions":[{"type":"Available"}]}`)
	object(32, replay.TypeDeleted, 2, "web-1", owned)
	object(32, replay.TypeAdded, 2, "web-2", owned)
	const warning = `"x":""},"type":"Warning","reason":"Failed","involvedObject":{"kind":"Pod","name":"web-2"},"source":{"component":"kubelet"}`
	object(40, replay.TypeAdded, 3, "web-2.1", warning)
	object(50, replay.TypeModified, 3, "web-2.1", warning)
	object(51, replay.TypeAdded, 3, "web-2.2", `"x":""},"type":"Normal","reason":"Warning","involvedObject":{"kind":"Pod","name":"web-2"}`)
	for stream := 1; stream <= 2; stream++ {
		write(70, replay.Record{Type: replay.TypeGap, Stream: stream, Gap: &replay.Gap{Reason: replay.GapUnreachable, Since: begin.Add(time.Minute)}})
	}
	object(80, replay.TypeDeleted, 1, "web", `"generation":2},"spec":{"replicas":2}`)
	for i := range more {
		object(90, replay.TypeAdded, 2, fmt.Sprintf("more-%d", i), owned)
	}
	write(100, replay.Record{Type: replay.TypeEnd})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMoments(t *testing.T) {
	path := incident(t, 0)
	want := []string{
		"start\tthe first lists are complete",
		"+30.001s\t10:00:30 deployment/web: generation 2",
		"+40s\t10:00:40 Warning Failed: pod/web-2",
		"+1m0s\t10:01:00 before a gap of 10s",
		"+1m10s\t10:01:10 after a gap of 10s: nothing was received",
		"+1m20s\t10:01:20 deployment/web: deleted",
		"end\t2026-01-01T10:01:40Z, 1m40s after the beginning",
	}
	got := SourceOf([]string{path, path}).Moments(t.Context())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	opened, err := OpenFiles(t.Context(), noStreams(), []string{path})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if _, state, err := opened.At("+30.001s"); err != nil || state.Number != 9 {
		t.Errorf("the moment has record %v, not the one that it was offered for: %v", state, err)
	}
}

func TestMomentsThatThereAreNot(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no recording"), 0o600); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(dir, "pod.yaml")
	if err := os.WriteFile(manifest, []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		reason, path string
		want         []string
	}{
		{"no file", filepath.Join(dir, "none"), nil},
		{"no recording", text, nil},
		{"a folder", dir, nil},
		{"standard input", "-", nil},
		{"a pipe is not read", "/dev/stdin", nil},
		{"no times", manifest, []string{"start\tthe first lists are complete", "end\tthe last record"}},
	} {
		from := SourceAt([]string{tt.path}, "")
		if diff := cmp.Diff(tt.want, from.Moments(t.Context())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if tt.want == nil && (len(from.Kinds(t.Context())) > 0 || len(from.Namespaces(t.Context())) > 0) {
			t.Errorf("%s has kinds, or namespaces", tt.reason)
		}
	}
}

func TestSource(t *testing.T) {
	path := incident(t, 0)
	long := incident(t, mostScanned)
	for _, tt := range []struct {
		reason string
		from   complete.Recording
		typed  string
		want   []string
	}{
		{"kinds", SourceAt([]string{path}, ""), "", []string{"deployments/", "events/", "pods/"}},
		{"the objects of a moment", SourceAt([]string{path}, "start"), "po/", []string{"po/web-1"}},
		{"those of the end", SourceAt([]string{path}, ""), "po/", []string{"po/web-2"}},
		{"one that is gone then", SourceAt([]string{path}, ""), "deploy/", []string{}},
		{"a moment that there is not", SourceAt([]string{path}, "+1h"), "", []string{}},
		{"all that there ever were", SourceOf([]string{path}), "po/", []string{"po/web-1", "po/web-2"}},
		{"also one that is gone", SourceOf([]string{path}), "deploy/", []string{"deploy/web"}},
		{"of a long recording, those of its start and its end", SourceOf([]string{long}), "deploy/", []string{"deploy/web"}},
		{"a kind that was not recorded", SourceOf([]string{path}), "cm/", []string{}},
	} {
		got := complete.Objects(t.Context(), tt.from, "shop", tt.typed)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
	from := SourceOf([]string{path})
	if diff := cmp.Diff([]string{"kubelet"}, from.Writers(t.Context())); diff != "" {
		t.Errorf("writers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"kubectl"}, newSource([]string{path}, "start", false).Writers(t.Context())); diff != "" {
		t.Errorf("writers at the start (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"shop"}, from.Namespaces(t.Context())); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
	fields := complete.Fields(t.Context(), from, "shop", []string{"deploy/web"}, "spec.")
	if diff := cmp.Diff([]string{"spec.replicas"}, fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	pods := from.ObjectsOf(t.Context(), func(o *Object) bool { return o.Kind.Kind == "Pod" })
	if len(pods) != 2 || pods[0].GetName() != "web-1" {
		t.Errorf("%d pods", len(pods))
	}
	if begin := time.Now(); true {
		SourceOf([]string{long}).Moments(t.Context())
		t.Logf("the moments of %d records took %s", mostScanned, time.Since(begin))
	}
}
