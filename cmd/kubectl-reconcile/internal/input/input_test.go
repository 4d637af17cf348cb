package input

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

var start = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

var pods = replay.Stream{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true}

// pod returns a record of a pod, so many seconds after the start; a time less than 0 is none.
func pod(typ replay.Type, second int, name, version string) *replay.Record {
	r := &replay.Record{Type: typ, Stream: 1, Namespace: "a", Name: name, UID: "u-" + name, ResourceVersion: version}
	r.Object = fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"a","uid":%q,"resourceVersion":%q}}`, name, r.UID, version)
	return at(r, second)
}

func at(r *replay.Record, second int) *replay.Record {
	if second >= 0 {
		r.Time = start.Add(time.Duration(second) * time.Second)
	}
	return r
}

// of returns the records of a stream, which is defined first.
func of(stream replay.Stream, records ...*replay.Record) []*replay.Record {
	stream.Number = 1
	define := &replay.Record{Type: replay.TypeStream, Stream: 1, NewStream: &stream}
	if len(records) > 0 {
		define.Time = records[0].Time
	}
	return append([]*replay.Record{define}, records...)
}

func recording(t *testing.T, h replay.Header, records ...*replay.Record) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := replay.NewWriter(&out, h, replay.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Write(r.Clone()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func event(typ, kind, name, version string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"apiVersion":"v1","kind":%q,"metadata":{"name":%q,"namespace":"a","uid":"u-%s","resourceVersion":%q}}}`+"\n",
		typ, kind, name, name, version)
}

// write writes files into a directory, in which the test runs then.
func write(t *testing.T, files map[string][]byte) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func streams(in string) genericiooptions.IOStreams {
	return genericiooptions.IOStreams{In: strings.NewReader(in), Out: io.Discard, ErrOut: io.Discard}
}

// text returns the records of a recording, a line each, and its end.
func text(rec replay.Source) string {
	var b strings.Builder
	for {
		r, err := rec.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				fmt.Fprintln(&b, err)
			}
			return b.String()
		}
		if !r.Time.IsZero() {
			fmt.Fprintf(&b, "+%gs ", r.Time.Sub(start).Seconds())
		}
		fmt.Fprintf(&b, "%s %d", r.Type, r.Stream)
		switch {
		case r.NewStream != nil:
			fmt.Fprintf(&b, " %s in %q", r.NewStream.Kind, r.NewStream.Namespace)
		case r.Name != "":
			fmt.Fprintf(&b, " %s@%s", r.Name, r.ResourceVersion)
		}
		if r.Relisted {
			b.WriteString(" relisted")
		}
		b.WriteString("\n")
	}
}

func TestOneFile(t *testing.T) {
	records := of(pods, pod(replay.TypeAdded, 1, "web", "5"), pod(replay.TypeDeleted, 2, "web", "6"))
	file := recording(t, replay.Header{Start: start}, records...)
	stream := event("ADDED", "Pod", "web", "5") + event("DELETED", "Pod", "web", "6")
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	_, _ = io.WriteString(z, stream)
	_ = z.Close()
	write(t, map[string][]byte{
		"rec": file, "stream": []byte(stream), "stream.gz": compressed.Bytes(), "rec.cut": file[:len(file)*2/3], "-x": []byte(stream),
	})
	const (
		recorded = "+1s STREAM 1 Pod in \"\"\n+1s ADDED 1 web@5\n+2s DELETED 1 web@6\n+2s END 0\n"
		streamed = "STREAM 1 Pod in \"\"\nADDED 1 web@5\nDELETED 1 web@6\n"
	)
	for _, tt := range []struct{ reason, file, stdin, want string }{
		{"a recording", "rec", "", recorded},
		{"a recording in a pipe", "-", string(file), recorded},
		{"watch events", "stream", "", streamed},
		{"compressed", "stream.gz", "", streamed},
		{"compressed in a pipe", "-", compressed.String(), streamed},
		{"in a pipe", "-", stream, streamed},
		{"a name that looks like a flag", "-x", "", streamed},
	} {
		rec, closeAll, err := Open(t.Context(), streams(tt.stdin), []string{tt.file})
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		if diff := cmp.Diff(tt.want, text(rec)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		// What is read only once can be read again, and from any moment.
		if err := rec.Rewind(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(tt.want, text(rec)); diff != "" {
			t.Errorf("%s, again (-want +got):\n%s", tt.reason, diff)
		}
		state, err := rec.Seek(replay.Moment{ResourceVersion: "5"})
		if err != nil || state.Len() != 1 {
			t.Errorf("%s: at version 5 are %v: %v", tt.reason, state, err)
		}
		if r, err := rec.Next(); err != nil || r.Type != replay.TypeDeleted {
			t.Errorf("%s: after version 5 comes %v: %v", tt.reason, r, err)
		}
		if err := closeAll(); err != nil {
			t.Error(err)
		}
	}
}

// TestAsItArrives: a record of a pipe is there before the next one is written.
func TestAsItArrives(t *testing.T) {
	in, out := io.Pipe()
	wrote := make(chan struct{})
	go func() {
		for _, version := range []string{"1", "2"} {
			_, _ = io.WriteString(out, event("ADDED", "Pod", "web", version))
			<-wrote
		}
		_ = out.Close()
	}()
	rec, closeAll, err := Open(t.Context(), genericiooptions.IOStreams{In: in}, []string{"-"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"", "1", "2"} {
		r, err := rec.Next()
		if err != nil || r.ResourceVersion != want {
			t.Fatalf("%v, want version %q: %v", r, want, err)
		}
		if want != "" {
			wrote <- struct{}{}
		}
	}
	info, err := rec.Info()
	if err != nil || info.Records != 3 || info.Header.Imported != replay.ImportedWatchEvents {
		t.Errorf("%+v: %v", info, err)
	}
	if err := closeAll(); err != nil {
		t.Error(err)
	}
}

// TestInterrupted: what does not come, or comes for ever, does not hold up the end.
func TestInterrupted(t *testing.T) {
	file := recording(t, replay.Header{}, of(pods)...)
	write(t, map[string][]byte{"a.rec": file, "a.json": []byte(event("ADDED", "Pod", "web", "5"))})
	if err := syscall.Mkfifo("fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "interrupted while the input was read"
	for _, name := range []string{"-", "fifo", "a.rec", "a.json"} {
		in, out := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		if name == "-" || name == "fifo" {
			go cancel()
		} else {
			cancel()
		}
		if _, _, err := Open(ctx, genericiooptions.IOStreams{In: in}, []string{name}); err == nil || err.Error() != want {
			t.Errorf("opening %s: %v", name, err)
		}
		cancel()
		_ = out.Close() // what still reads ends
	}
	writer, err := os.OpenFile("fifo", os.O_RDWR, 0) // what still opens it ends
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for _, row := range []struct {
		reason string
		do     func(replay.Recording) error
	}{
		{"the next record", func(rec replay.Recording) error {
			for {
				if _, err := rec.Next(); err != nil {
					return err
				}
			}
		}},
		{"all", func(rec replay.Recording) error { _, err := rec.Info(); return err }},
		{"a moment", func(rec replay.Recording) error { _, err := rec.Seek(replay.Moment{}); return err }},
	} {
		in, out := io.Pipe()
		go func() {
			var err error
			for n := 1; err == nil; n++ { // it has no end
				_, err = io.WriteString(out, event("MODIFIED", "Pod", "web", strconv.Itoa(n)))
			}
		}()
		ctx, cancel := context.WithCancel(t.Context())
		rec, closeAll, err := Open(ctx, genericiooptions.IOStreams{In: in}, []string{"-"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rec.Next(); err != nil {
			t.Fatal(err)
		}
		go cancel()
		if err := row.do(rec); err == nil || err.Error() != want {
			t.Errorf("%s: %v", row.reason, err)
		}
		if err := closeAll(); err != nil {
			t.Error(err)
		}
	}
}

func TestErrors(t *testing.T) {
	file := recording(t, replay.Header{Cluster: "one"}, of(pods)...)
	newer := bytes.Clone(file)
	version := bytes.Index(newer, []byte("recording\n")) + len("recording\n")
	newer[version] = 99
	write(t, map[string][]byte{
		"empty": nil, "words": []byte("some words"), "table": []byte("NAMESPACE   NAME   AGE\na           b      5s\n"), "a.tar": append(make([]byte, 257), "ustar\x0000"...), "newer": newer,
		"head": file[:20], "secret.age": []byte("age-encryption.org/v1\n-> X25519 x\n"), "utf16": []byte("\xff\xfe{\x00"), "one": file,
		"two": recording(t, replay.Header{Cluster: "two"}, of(pods)...), "bad.json": []byte("{\n\"kind\": x}"),
	})
	if err := os.Mkdir("dir", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		files     []string
		err, hint string
	}{
		{nil, "no recording is given", "name files, or - for standard input"},
		{[]string{"none"}, `opening "none": no such file`, ""},
		{[]string{"dir"}, `opening "dir": it is a directory`, "name the file in it"},
		{[]string{"empty"}, `"empty" is empty`, "what wrote it may have ended with an error"},
		{[]string{"-"}, `standard input is empty`, "what wrote it may have ended with an error"},
		{[]string{"words"}, `"words" is no recording: it is of no known form`, "read are recordings"},
		{[]string{"table"}, `"table" is no recording: it is a table of kubectl`, "add -o json to it"},
		{[]string{"a.tar"}, `"a.tar" is no recording: it is a tar archive`, "read are recordings"},
		{[]string{"secret.age"}, `"secret.age" is no recording: it is encrypted by age`, "decrypt it first: age -d"},
		{[]string{"utf16"}, `"utf16" is no recording: it is text in UTF-16`, "PowerShell"},
		{[]string{"newer"}, "version", "it was written by a newer version: update"},
		{[]string{"head"}, `"head" ends before its first record`, "what wrote it may have been ended at once"},
		{[]string{"bad.json"}, `opening "bad.json": document 1, line 2, offset 10: parsing: invalid character 'x'`, ""},
		{[]string{"one", "two"}, `"one" and "two" are recordings of different clusters`, "look at one cluster at a time"},
		{[]string{"one", "one"}, `"one" is given twice`, ""},
		{[]string{"none", "dir"}, "opening \"none\": no such file\nopening \"dir\": it is a directory", "name the file in it"},
	} {
		_, _, err := Open(t.Context(), streams(""), tt.files)
		if err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %v, want %q", tt.files, err, tt.err)
		}
		var hint *cli.HintError
		if errors.As(err, &hint) != (tt.hint != "") || hint != nil && !strings.Contains(hint.Hint, tt.hint) {
			t.Errorf("%q: the hint is %v, want %q", tt.files, hint, tt.hint)
		}
	}
}

func TestMerge(t *testing.T) {
	added, modified, deleted, item := replay.TypeAdded, replay.TypeModified, replay.TypeDeleted, replay.TypeListItem
	begin := func(second int) *replay.Record {
		return at(&replay.Record{Type: replay.TypeListBegin, Stream: 1}, second)
	}
	end := func(second int, version string) *replay.Record {
		return at(&replay.Record{Type: replay.TypeListEnd, Stream: 1, ResourceVersion: version}, second)
	}
	inA := pods
	inA.Namespace = "a"
	other := replay.Stream{Version: "v1", Kind: "Node", Resource: "nodes"}
	file := func(stream replay.Stream, records ...*replay.Record) []byte {
		return recording(t, replay.Header{Cluster: "one"}, of(stream, records...)...)
	}
	first := file(pods, begin(1), pod(item, 1, "old", "3"), pod(item, 1, "web", "5"), end(1, "6"), pod(modified, 2, "web", "7"))
	for _, tt := range []struct {
		reason string
		files  []string // in order of their names
		want   string
	}{
		{
			"records are in order of their times, streams of other kinds get other numbers",
			[]string{string(file(pods, pod(added, 1, "web", "5"), pod(deleted, 3, "web", "9"))), string(file(other, pod(added, 2, "node", "7")))},
			"+1s STREAM 1 Pod in \"\"\n+1s ADDED 1 web@5\n+2s STREAM 2 Node in \"\"\n+2s ADDED 2 node@7\n+3s DELETED 1 web@9\n+3s END 0\n",
		},
		{
			"streams of one kind are one, if they select the same",
			[]string{string(file(pods, pod(added, 1, "web", "5"))), string(file(pods, pod(added, 2, "db", "7"))), string(file(inA, pod(added, 3, "x", "8")))},
			"+1s STREAM 1 Pod in \"\"\n+1s ADDED 1 web@5\n+2s ADDED 1 db@7\n+3s STREAM 2 Pod in \"a\"\n+3s ADDED 2 x@8\n+3s END 0\n",
		},
		{
			"the list that a later part begins with is compared with what is known",
			[]string{string(first), string(file(pods, begin(9), pod(item, 9, "db", "11"), pod(item, 9, "web", "12"), end(9, "12"), pod(deleted, 10, "web", "13")))},
			"+1s STREAM 1 Pod in \"\"\n+1s LIST BEGIN 1\n+1s LIST 1 old@3\n+1s LIST 1 web@5\n+1s LIST END 1\n+2s MODIFIED 1 web@7\n" +
				"+9s LIST BEGIN 1\n+9s ADDED 1 db@11 relisted\n+9s MODIFIED 1 web@12 relisted\n+9s DELETED 1 old@3 relisted\n+9s LIST END 1\n+10s DELETED 1 web@13\n+10s END 0\n",
		},
		{
			"what both recordings have is there once",
			[]string{string(first), string(file(pods, begin(0), pod(item, 0, "old", "3"), pod(item, 0, "web", "5"), end(0, "6"), pod(modified, 2, "web", "7"), pod(deleted, 3, "web", "8")))},
			"+0s STREAM 1 Pod in \"\"\n+0s LIST BEGIN 1\n+0s LIST 1 old@3\n+0s LIST 1 web@5\n+0s LIST END 1\n" +
				"+1s LIST BEGIN 1\n+1s LIST END 1\n+2s MODIFIED 1 web@7\n+3s DELETED 1 web@8\n+3s END 0\n",
		},
		{
			"without times the resource versions tell the order, across kinds; kubectl lists in order of names",
			[]string{
				event("ADDED", "Pod", "a", "9") + event("ADDED", "Pod", "b", "3") + event("DELETED", "Pod", "a", "12"),
				event("ADDED", "Secret", "x", "10") + event("DELETED", "Secret", "x", "11"),
			},
			"STREAM 1 Pod in \"\"\nSTREAM 2 Secret in \"\"\nADDED 1 a@9\nADDED 1 b@3\nADDED 2 x@10\nDELETED 2 x@11\nDELETED 1 a@12\n",
		},
		{
			"what has no times comes before what has",
			[]string{string(file(pods, pod(added, 1, "web", "5"))), event("ADDED", "Secret", "x", "10")},
			"STREAM 1 Secret in \"\"\nADDED 1 x@10\n+1s STREAM 2 Pod in \"\"\n+1s ADDED 2 web@5\n+1s END 0\n",
		},
		{
			"of an audit log beside a recording, the requests of its time are used",
			[]string{
				string(file(inA, pod(added, 1, "web", "5"), pod(modified, 3, "web", "7"))),
				audited("a", "web", "4", 0) + audited("a", "web", "6", 2) + audited("b", "db", "7", 2) + audited("a", "web", "8", 4) + audited("a", "web", "9", 9),
			},
			"+1s STREAM 1 Pod in \"a\"\n+1s ADDED 1 web@5\n+2s TRACE 0\n+2s TRACE 0\n+3s MODIFIED 1 web@7\n+4s TRACE 0\n+4s END 0\n",
		},
		{
			"a file that is cut off does not end the others, and is told at the end",
			[]string{event("ADDED", "Pod", "a", "1") + `{"type"`, event("ADDED", "Pod", "b", "2")},
			"STREAM 1 Pod in \"\"\nADDED 1 a@1\nADDED 1 b@2\n" +
				"the recording is cut off after record 3 (byte 133): \"f0\": document 2, line 2, offset 133: unexpected EOF\n",
		},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			files, names := map[string][]byte{}, []string(nil)
			for i, content := range tt.files {
				names = append(names, fmt.Sprint("f", i))
				files[names[i]] = []byte(content)
			}
			write(t, files)
			rec, closeAll, err := Open(t.Context(), streams(""), names)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, text(rec)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			info, err := rec.Info()
			if err != nil || (info.Torn != nil) != strings.Contains(tt.want, "cut off") {
				t.Errorf("%+v: %v", info, err)
			}
			if err := closeAll(); err != nil {
				t.Error(err)
			}
		})
	}
}

// audited is an entry of an audit log, of an update of a pod some seconds after the start.
func audited(namespace, name, version string, second int) string {
	at := start.Add(time.Duration(second) * time.Second).Format(time.RFC3339)
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","stage":"ResponseComplete","verb":"update",`+
		`"user":{"username":"jane"},"objectRef":{"resource":"pods","namespace":%q,"name":%q,"apiVersion":"v1"},"responseStatus":{"code":200},`+
		`"responseObject":{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"resourceVersion":%q}},"stageTimestamp":%q}`+"\n",
		namespace, name, name, namespace, version, at)
}

// TestMergedOptions: what was redacted, and how controllers were set, is known of what is merged.
func TestMergedOptions(t *testing.T) {
	write(t, map[string][]byte{
		"a": recording(t, replay.Header{Options: []string{"--redact=configmaps:data.token"}}, of(pods, pod(replay.TypeAdded, 1, "web", "5"))...),
		"b": []byte(audited("a", "web", "6", 2)),
	})
	rec, closeAll, err := Open(t.Context(), streams(""), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"--redact=configmaps:data.token"}, rec.Header().Options); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := closeAll(); err != nil {
		t.Error(err)
	}
}

// TestGapsOfOneFile: a gap of all streams of a file is one of these streams only, where there are others.
func TestGapsOfOneFile(t *testing.T) {
	gap := at(&replay.Record{Type: replay.TypeGap, Gap: &replay.Gap{Reason: replay.GapSleep, Since: start}}, 2)
	write(t, map[string][]byte{
		"a": recording(t, replay.Header{}, append(of(pods, pod(replay.TypeAdded, 1, "web", "5")), gap)...),
		"b": recording(t, replay.Header{}, of(replay.Stream{Version: "v1", Kind: "Node", Resource: "nodes"}, pod(replay.TypeAdded, 0, "node", "4"))...),
	})
	rec, closeAll, err := Open(t.Context(), streams(""), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "+0s STREAM 1 Node in \"\"\n+0s ADDED 1 node@4\n+1s STREAM 2 Pod in \"\"\n+1s ADDED 2 web@5\n+2s GAP 2\n+2s END 0\n"
	if diff := cmp.Diff(want, text(rec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := closeAll(); err != nil {
		t.Error(err)
	}
}

func TestMomentHints(t *testing.T) {
	timed := replay.Info{Records: 9, First: start, Last: start.Add(time.Minute)}
	for _, tt := range []struct {
		text      string
		info      replay.Info
		want      replay.Moment
		err, hint string
	}{
		{"", timed, replay.Moment{}, "", ""},
		{"#3", timed, replay.Moment{Number: 3}, "", ""},
		{"+1s", timed, replay.Moment{Time: start.Add(time.Second)}, "", ""},
		{"#10", timed, replay.Moment{}, "its records are #1 to #9", "start and end name"},
		{"yesterday", timed, replay.Moment{}, `parsing the moment "yesterday"`, "a moment is a time"},
		{"10:00:00", replay.Info{Records: 3}, replay.Moment{}, "there are no times", "a moment is a time"},
		{"#1", replay.Info{}, replay.Moment{}, "which is empty", "there is nothing to show of it"},
	} {
		got, err := Moment(tt.text, tt.info)
		if diff := cmp.Diff(tt.want, got); tt.err == "" && diff != "" || (err != nil) != (tt.err != "") {
			t.Errorf("%q: %v (-want +got):\n%s", tt.text, err, diff)
		}
		if tt.err != "" && !strings.Contains(fmt.Sprint(err), tt.err) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.err)
		}
		var hint *cli.HintError
		if errors.As(err, &hint) != (tt.hint != "") || hint != nil && !strings.Contains(hint.Hint, tt.hint) {
			t.Errorf("%q: the hint is %v, want %q", tt.text, hint, tt.hint)
		}
	}
}

func TestNotes(t *testing.T) {
	want := []string{
		"1 write without content left out: their audit level is Metadata or Request, or what they deleted was not known",
		"2 writes to subresources left out: the answers are not the objects, as for bindings and evictions",
	}
	got := Notes(&replay.Info{Skipped: []replay.Skipped{{Reason: replay.SkipNoContent, Count: 1}, {Reason: replay.SkipSubresource, Count: 2}}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, form := range []replay.Imported{replay.ImportedAudit, replay.ImportedManifests, replay.ImportedObjects, replay.ImportedWatchEvents} {
		if FormNote(replay.Header{Imported: form}) == "" {
			t.Errorf("nothing is said of %s", form)
		}
	}
	if note := FormNote(replay.Header{}); note != "" {
		t.Errorf("of a recording is said %q", note)
	}
}

// TestLargeInput: what is too large for memory is kept in a file, and is the same. The file is removed.
func TestLargeInput(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	records := of(pods)
	for i := range 40 {
		r := pod(replay.TypeAdded, i, "web", fmt.Sprint(i))
		if i > 0 {
			r.Type = replay.TypeModified
		}
		r.Writer = "alice"
		records = append(records, r)
	}
	torn := &replay.TornError{Records: 41, Err: io.ErrUnexpectedEOF}
	for _, end := range []*replay.TornError{nil, torn} {
		source := func() *replay.Memory { return &replay.Memory{Records: records, Torn: end} }
		want := text(source())
		for i, limit := range []int64{0, 1, 500, 1 << 20} {
			for _, tt := range []struct {
				reason string
				before func(*buffered)
				skip   int
			}{
				{"read as it comes", func(*buffered) {}, 0},
				{"when all is known first", func(b *buffered) { _, _ = b.Info() }, 0},
				{"in the middle of which all is read", func(b *buffered) {
					for range 9 {
						_, _ = b.Next()
					}
					_, _ = b.Info()
				}, 9},
				{"read again", func(b *buffered) { _ = text(b); _ = b.Rewind() }, 0},
				{"read again in the middle", func(b *buffered) {
					for range 30 {
						_, _ = b.Next()
					}
					_ = b.Rewind()
				}, 0},
				{"from a moment", func(b *buffered) { _, _ = b.Seek(replay.Moment{Number: 20}) }, 20},
			} {
				b := newBuffered(source())
				b.limit = limit
				tt.before(b)
				wantRest := strings.Join(strings.SplitAfter(want, "\n")[tt.skip:], "")
				if diff := cmp.Diff(wantRest, text(b)); diff != "" {
					t.Errorf("%s, with %d bytes (-want +got):\n%s", tt.reason, limit, diff)
				}
				if (b.file != nil) != (i < 3) {
					t.Errorf("with %d bytes there is a file: %t", limit, b.file != nil)
				}
				info, err := b.Info()
				if err != nil || info.Records != 41 || info.Torn != end {
					t.Errorf("%s, with %d bytes: %d records, %v: %v", tt.reason, limit, info.Records, info.Torn, err)
				}
				if err := b.Rewind(); err != nil {
					t.Error(err)
				}
				for range 2 {
					if r, err := b.Next(); err != nil || r.Type == replay.TypeAdded && r.Writer != "alice" {
						t.Errorf("%s, with %d bytes: %v: %v", tt.reason, limit, r, err)
					}
				}
				if err := b.close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if files, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(files) > 0 {
		t.Errorf("files are left: %v, %v", files, err)
	}
}
