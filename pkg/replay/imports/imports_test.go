package imports

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

var update = flag.Bool("update", false, "write the records of testdata")

// lines reads a source to its end and returns its records, a line each, and the error that was its end.
func lines(s replay.Source) (string, error) {
	var b strings.Builder
	for number := int64(1); ; number++ {
		r, err := s.Next()
		if err != nil {
			return b.String(), err
		}
		if r.Number != number {
			return b.String(), fmt.Errorf("record %d has the number %d", number, r.Number)
		}
		b.WriteString(line(r) + "\n")
	}
}

func line(r *replay.Record) string {
	if r.Type == replay.TypeTrace {
		return requestLine(r)
	}
	words := []string{r.Type.String(), fmt.Sprint(r.Stream)}
	if !r.Time.IsZero() {
		words = append([]string{r.Time.Format("15:04:05.000")}, words...)
	}
	if r.NewStream != nil {
		scope := "cluster"
		if r.NewStream.Namespaced {
			scope = "namespaced"
		}
		words = append(words, r.NewStream.GVK().GroupVersion().String(), r.NewStream.Kind, r.NewStream.Resource, scope)
	}
	if r.Name != "" {
		words = append(words, strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"))
	}
	if r.ResourceVersion != "" {
		words = append(words, "@"+r.ResourceVersion)
	}
	if r.Relisted {
		words = append(words, "relisted")
	}
	if r.Writer != "" {
		words = append(words, "by "+r.Writer)
	}
	return strings.Join(append(words, strings.Fields(r.Message)...), " ")
}

// requestLine describes the request of an audit log.
func requestLine(r *replay.Record) string {
	var e trace.Event
	if err := json.Unmarshal(r.Object, &e); err != nil {
		return err.Error()
	}
	d, ok := e.Detail.(*trace.Request)
	if !ok {
		return string(e.Type())
	}
	words := []string{r.Time.Format("15:04:05.000"), "REQUEST", d.Verb, path.Join(d.Resource, d.Subresource),
		path.Join(d.Namespace, d.Name+d.GenerateName), fmt.Sprint(d.Code)}
	for _, word := range []string{d.Reason, d.Message, d.UID} {
		if word != "" {
			words = append(words, word)
		}
	}
	if d.ResourceVersion != "" {
		words = append(words, "@"+d.ResourceVersion)
	}
	by := e.Controller
	if by == "" {
		by = d.User
	}
	return strings.Join(append(words, "by", by), " ")
}

// object returns the JSON of an object of tests.
func objectText(kind, namespace, name, version, rest string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":%q,"namespace":%q,"uid":"u-%s","resourceVersion":%q%s}}`,
		kind, name, namespace, name, version, rest)
}

func event(typ, object string) string {
	return fmt.Sprintf("{\"type\":%q,\"object\":%s}\n", typ, object)
}

func TestForms(t *testing.T) {
	web1, web2 := objectText("Pod", "a", "web", "1", ""), objectText("Pod", "a", "web", "2", "")
	for _, tt := range []struct {
		reason, input string
		form          replay.Imported
		want          string
		err           string // of the end; empty for io.EOF
	}{
		{
			"watch events are what they are, streams are defined before their first event",
			event("ADDED", web1) + event("MODIFIED", web2) + event("ADDED", `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"x","namespace":"a"}}`) + event("DELETED", objectText("Pod", "a", "web", "3", "")),
			replay.ImportedWatchEvents,
			"STREAM 1 v1 Pod pods namespaced\nADDED 1 a/web @1\nMODIFIED 1 a/web @2\nSTREAM 2 apps/v1 ReplicaSet replicasets namespaced\nADDED 2 a/x\nDELETED 1 a/web @3\n", "",
		},
		{
			"an API server sends bookmarks, and ends with an error, which belongs to the stream before it",
			event("ADDED", web1) + event("BOOKMARK", `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9","creationTimestamp":null}}`) +
				event("ERROR", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (9)","reason":"Expired","code":410}`),
			replay.ImportedWatchEvents,
			"STREAM 1 v1 Pod pods namespaced\nADDED 1 a/web @1\nBOOKMARK 1 @9\nERROR 1 too old resource version: 1 (9)\n", "",
		},
		{
			"a cut-off event ends the records, all before it are there",
			event("ADDED", web1) + event("MODIFIED", web2)[:40],
			replay.ImportedWatchEvents,
			"STREAM 1 v1 Pod pods namespaced\nADDED 1 a/web @1\n", "cut off after record 2 (byte 137): document 2, line 2, offset 137: unexpected EOF",
		},
		{
			"a mistake says where it is",
			event("ADDED", web1) + "\n{\"type\":\"ADDED\",\n\"object\":{\"kind\":x}}",
			replay.ImportedWatchEvents,
			"STREAM 1 v1 Pod pods namespaced\nADDED 1 a/web @1\n", "document 2, line 4, offset 172: parsing: invalid character 'x'",
		},
		{
			"an object among events is a mistake", event("ADDED", web1) + web1, replay.ImportedWatchEvents,
			"STREAM 1 v1 Pod pods namespaced\nADDED 1 a/web @1\n", "document 2, line 2, offset 137: it is no watch event",
		},
		{
			"and so is an event of unknown type", event("ADDED", web1) + event("added", web1), replay.ImportedWatchEvents,
			"STREAM 1 v1 Pod pods namespaced\nADDED 1 a/web @1\n", `unknown type of a watch event: "added"`,
		},
		{
			"and an event without a kind", event("ADDED", `{"metadata":{"name":"x"}}`), replay.ImportedWatchEvents,
			"", "an object has no apiVersion and kind",
		},
		{
			"and a table, which has no objects",
			event("ADDED", `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"rows":[]}`), replay.ImportedWatchEvents,
			"", "a Table is no whole object",
		},
		{
			"events in YAML, as -o yaml prints them",
			"object:\n  apiVersion: v1\n  kind: Node\n  metadata:\n    name: node\n    resourceVersion: \"5\"\ntype: ADDED\n---\nobject:\n  apiVersion: v1\n  kind: Node\n  metadata:\n    name: node\n    resourceVersion: \"6\"\ntype: DELETED\n",
			replay.ImportedWatchEvents, "STREAM 1 v1 Node nodes cluster\nADDED 1 node @5\nDELETED 1 node @6\n", "",
		},
		{
			"bare objects are added, then modified; the same version again is nothing",
			web1 + "\n" + web1 + web2, replay.ImportedObjects,
			"STREAM 1 v1 Pod pods namespaced\nADDED 1 a/web @1\nMODIFIED 1 a/web @2\n", "",
		},
		{
			"an object with another uid was deleted before, nobody knows when",
			web1 + strings.ReplaceAll(web2, "u-web", "other"), replay.ImportedObjects,
			"STREAM 1 v1 Pod pods namespaced\nADDED 1 a/web @1\nDELETED 1 a/web @1 relisted\nADDED 1 a/web @2\n", "",
		},
		{
			"a list may come before bare objects",
			`{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":[` + web1 + `]}` + web2, replay.ImportedObjects,
			"STREAM 1 v1 Pod pods namespaced\nADDED 1 a/web @1\nMODIFIED 1 a/web @2\n", "",
		},
		{
			"a list is one state; its items have no kind, its version is that of the stream",
			`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"web","namespace":"a","resourceVersion":"1"}}]}`, replay.ImportedManifests,
			"STREAM 1 v1 Pod pods namespaced\nLIST BEGIN 1\nLIST 1 a/web @1\nLIST END 1 @7\n", "",
		},
		{
			"an empty list is an empty recording", `{"kind":"List","apiVersion":"v1","items":[]}`, replay.ImportedManifests, "", "",
		},
		{
			"manifests are sorted by kind, in order of appearance; kubectl would apply them in the namespace default; a definition says the plural",
			"# comment\n---\nkind: Stay\napiVersion: x.org/v1\nmetadata: {name: s}\n---\n" + objectText("Pod", "a", "p", "", "") + "\n---\napiVersion: x.org/v1\nkind: Stay\nmetadata: {name: t, namespace: b}\n---\n" +
				"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: stayz.x.org}\nspec: {group: x.org, scope: Namespaced, names: {kind: Stay, plural: stayz}}\n",
			replay.ImportedManifests,
			"STREAM 1 x.org/v1 Stay stayz namespaced\nLIST BEGIN 1\nLIST 1 default/s\nLIST 1 b/t\nLIST END 1\n" +
				"STREAM 2 v1 Pod pods namespaced\nLIST BEGIN 2\nLIST 2 a/p\nLIST END 2\n" +
				"STREAM 3 apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions cluster\nLIST BEGIN 3\nLIST 3 stayz.x.org\nLIST END 3\n", "",
		},
		{
			"lists that were appended to a file are changes",
			`{"kind":"List","apiVersion":"v1","items":[` + web1 + `]}` + `{"kind":"List","apiVersion":"v1","items":[` + web2 + `]}`, replay.ImportedManifests,
			"STREAM 1 v1 Pod pods namespaced\nLIST BEGIN 1\nLIST 1 a/web @1\nLIST END 1\nMODIFIED 1 a/web @2\n", "",
		},
		{
			"a list that is not read to its end is not complete",
			"kind: Pod\napiVersion: v1\nmetadata: {name: p}\n---\nkind: Pod\nmetadata: {name: q}\n", replay.ImportedManifests,
			"STREAM 1 v1 Pod pods namespaced\nLIST BEGIN 1\nLIST 1 default/p\n", "document 2, line 5, offset 49: an object has no apiVersion and kind",
		},
		{
			"a byte order mark is skipped", "\xef\xbb\xbf" + event("ADDED", web1), replay.ImportedWatchEvents,
			"STREAM 1 v1 Pod pods namespaced\nADDED 1 a/web @1\n", "",
		},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			s, err := Open(t.Context(), strings.NewReader(tt.input))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Header().Imported; got != tt.form {
				t.Errorf("the form is %s, want %s", got, tt.form)
			}
			got, err := lines(s)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			checkEnd(t, s, err, tt.err)
		})
	}
}

// checkEnd checks the error that was the end of a source, which stays.
func checkEnd(t *testing.T, s replay.Source, err error, want string) {
	t.Helper()
	if want == "" && !errors.Is(err, io.EOF) || want != "" && !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("it ended with %v, want %q", err, want)
	}
	var torn *replay.TornError
	if s.(*Source).number > 0 && (want != "") != errors.As(err, &torn) {
		t.Errorf("the end is a %T: %v", err, err)
	}
	if _, again := s.Next(); !errors.Is(again, err) {
		t.Errorf("after its end it returns %v, not %v", again, err)
	}
}

func TestNotImports(t *testing.T) {
	for _, tt := range []struct{ reason, input, want string }{
		{"nothing", "", "the input is empty"},
		{"blanks", " \n\t\n", "the input is empty"},
		{"comments", "# nothing\n---\n", "the input is empty"},
		{"a text", "some words\n", "the input is of no known form"},
		{"JSON of something else", `{"a":1}`, "the input is of no known form: its first document has no apiVersion and kind"},
		{"a table of kubectl", "NAME   READY   STATUS\nweb    1/1     Running\n", "the input is a table of kubectl"},
		{"an array", "[1,2]", "the input is of no known form"},
		{"PowerShell writes this", "\xff\xfe{\x00", "the input is text in UTF-16"},
		{"bytes", "\x00\x01\x02", "the input is binary data"},
		{"an archive", "PK\x03\x04....", "the input is a zip archive"},
		{"JSON that is none", "{kind: Pod}", "document 1, line 1, offset 1: parsing: invalid character 'k'"},
		{"the first document is cut off", `{"kind":`, "cut off after record 0"},
	} {
		_, err := Open(t.Context(), strings.NewReader(tt.input))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.reason, err, tt.want)
		}
	}
}

// TestAsItArrives: a record is returned as soon as its event was read, although more may come.
func TestAsItArrives(t *testing.T) {
	for _, tt := range []struct {
		reason string
		write  func(int) string
	}{
		{"watch events", func(i int) string { return event("ADDED", objectText("Pod", "a", "web", fmt.Sprint(i), "")) }},
		{"bare objects", func(i int) string { return objectText("Pod", "a", "web", fmt.Sprint(i), "") }},
	} {
		r, w := io.Pipe()
		next := make(chan int)
		go func() {
			for i := range next {
				_, _ = io.WriteString(w, tt.write(i))
			}
			_ = w.Close()
		}()
		next <- 1
		s, err := Open(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := 2; i < 5; i++ {
			record, err := s.Next()
			if err == nil && record.Type == replay.TypeStream {
				record, err = s.Next()
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, record.ResourceVersion)
			next <- i
		}
		close(next)
		_, _ = io.Copy(io.Discard, r)
		if diff := cmp.Diff([]string{"1", "2", "3"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestCompressed(t *testing.T) {
	input := event("ADDED", objectText("Pod", "a", "web", "1", "")) + event("DELETED", objectText("Pod", "a", "web", "2", ""))
	var gz bytes.Buffer
	for _, part := range []string{input[:50], input[50:]} { // of several members, as logs that were appended have
		w := gzip.NewWriter(&gz)
		_, _ = io.WriteString(w, part)
		_ = w.Close()
	}
	var zst bytes.Buffer
	w, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, input)
	_ = w.Close()
	const want = "STREAM 1 v1 Pod pods namespaced\nADDED 1 a/web @1\nDELETED 1 a/web @2\n"
	for _, tt := range []struct {
		reason string
		input  []byte
		torn   bool
	}{
		{"gzip", gz.Bytes(), false},
		{"zstd", zst.Bytes(), false},
		{"gzip that is cut off", gz.Bytes()[:gz.Len()-9], true},
		{"zstd that is cut off", zst.Bytes()[:zst.Len()-9], true},
	} {
		s, err := Open(t.Context(), bytes.NewReader(tt.input))
		if err != nil {
			if !tt.torn {
				t.Errorf("%s: %v", tt.reason, err)
			}
			continue
		}
		got, err := lines(s)
		if !tt.torn && (got != want || !errors.Is(err, io.EOF)) {
			t.Errorf("%s: %v\n%s", tt.reason, err, got)
		}
		if tt.torn && (err == nil || errors.Is(err, io.EOF)) {
			t.Errorf("%s: %v\n%s", tt.reason, err, got)
		}
	}
}

func TestLimits(t *testing.T) {
	small := limits{document: 1 << 20, list: 4 << 20, decompressed: 2 << 20}
	big := strings.Repeat("x", small.document)
	for _, tt := range []struct {
		reason string
		input  io.Reader
		want   string
	}{
		{"a document without an end", io.MultiReader(strings.NewReader(`{"kind":"`), endless('x')), "document 1, line 1, offset 0: it has more than 1 MB"},
		{"a document of YAML without an end", endless('x'), "it has more than 1 MB"},
		{"a list without an end", io.MultiReader(strings.NewReader(`{"items":["`), endless('x')), "it has more than 4 MB"},
		{"an object that has a field items", strings.NewReader(`{"kind":"Pod","apiVersion":"v1","items":"` + big + `"}`), "is no list"},
		{"JSON that is nested", endless('['), "it has more than 1 MB"},
		{"an object that is nested", io.MultiReader(strings.NewReader(`{"a":`), endless('[')), "nested more than 1000 levels"},
		{"YAML that is nested", strings.NewReader("a: " + strings.Repeat("[", 2000) + strings.Repeat("]", 2000)), "nested more than 1000 levels"},
		{"what decompresses to much more, by gzip", zipped(t, 3<<20), "it decompresses to more than 2 MB, over 50 times its size"},
		{"what decompresses to much more, by zstd", zstdOf(t, 3<<20), "it decompresses to more than 2 MB, over 50 times its size"},
		{"YAML whose aliases multiply", strings.NewReader(laughs()), "parsing as YAML"},
	} {
		if _, err := open(t.Context(), tt.input, small); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %.200v, want %q", tt.reason, err, tt.want)
		}
	}
}

// blanksBefore is an object after so many blanks.
func blanksBefore(n int) string { return strings.Repeat(" ", n) + `{"kind":"Pod"}` }

func zipped(t *testing.T, blanks int) io.Reader {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(blanksBefore(blanks))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func zstdOf(t *testing.T, blanks int) io.Reader {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return bytes.NewReader(w.EncodeAll([]byte(blanksBefore(blanks)), nil))
}

// TestInterrupted: reading ends between two objects of a list, and while an input is decompressed.
func TestInterrupted(t *testing.T) {
	items := strings.Repeat(`,{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","resourceVersion":"1"}}`, 1000)[1:]
	for _, row := range []struct{ reason, input string }{
		{"a list", `{"apiVersion":"v1","kind":"List","items":[` + items + `]}`},
		{"objects", strings.ReplaceAll(items, "},{\"api", "}\n{\"api")},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := Open(ctx, strings.NewReader(row.input))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		for err == nil {
			_, err = s.Next()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", row.reason, err)
		}
		if _, err := Open(ctx, zipped(t, 100_000)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", row.reason, err)
		}
	}
}

// endless reads as one byte again and again.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// laughs is a document in which aliases of aliases stand for very much.
func laughs() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return b.String()
}

// TestTools reads what tools printed: see testdata/README.md for how.
func TestTools(t *testing.T) {
	files, err := filepath.Glob("testdata/*.input")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, file := range files {
		input, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), bytes.NewReader(input))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got, err := lines(s)
		if !errors.Is(err, io.EOF) { // they were not cut off
			t.Errorf("%s: %v", file, err)
		}
		got = fmt.Sprintf("form %s\n%sskipped %v\n", s.Header().Imported, got, s.Skipped())
		golden := strings.TrimSuffix(file, ".input") + ".records"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func FuzzWatchEvents(f *testing.F) {
	pod := objectText("Pod", "a", "web", "1", "")
	addPrinted(f, "watch-*.input")
	fuzz(f, replay.ImportedWatchEvents, event("ADDED", pod)+event("ERROR", `{"message":"x"}`))
}

func FuzzObjects(f *testing.F) {
	pod := objectText("Pod", "a", "web", "1", "")
	addPrinted(f, "bare-*.input")
	fuzz(f, replay.ImportedObjects, pod+pod, `{"kind":"List","apiVersion":"v1","items":[`+pod+"]}"+pod)
}

func FuzzManifests(f *testing.F) {
	pod := objectText("Pod", "a", "web", "1", "")
	addPrinted(f, "list-*.input")
	fuzz(f, replay.ImportedManifests, `{"kind":"PodList","apiVersion":"v1","items":[`+pod+"]}\n---\na: b\n--- {c: d}\n",
		"kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: x}\nspec: {names: {plural: x, kind: X}}\n")
}

func FuzzAudit(f *testing.F) {
	pod := objectText("Pod", "a", "web", "1", "")
	gone := objectText("Pod", "a", "web", "2", `,"deletionTimestamp":"2026-01-02T03:04:01Z"`)
	fuzz(f, replay.ImportedAudit, auditLine("create", "RequestResponse", 201, pod, ""), auditLine("delete", "RequestResponse", 200, gone, at("09"))+
		auditLine("list", "RequestResponse", 200, `{"kind":"PodList","apiVersion":"v1","items":[`+pod+"]}", `,"objectRef":{"resource":"pods"}`)+
		auditLine("delete", "RequestResponse", 200, `{"kind":"Status","apiVersion":"v1"}`, ""))
}

// FuzzInput has inputs of no form, and compressed ones.
func FuzzInput(f *testing.F) {
	for _, input := range []string{"\x1f\x8b\x08\x00", "\x28\xb5\x2f\xfd\x00", "\xff\xfe{\x00", "PK\x03\x04", "- a\n- b\n", "{}"} {
		f.Add([]byte(input))
	}
	fuzz(f, "")
}

// addPrinted adds what tools printed to the inputs, if it is not long.
func addPrinted(f *testing.F, pattern string) {
	files, err := filepath.Glob("testdata/" + pattern)
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		input, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(input[:min(len(input), 8<<10)])
	}
}

// fuzz reads inputs of a form, or of any if form is empty, and checks what all sources of records promise.
func fuzz(f *testing.F, form replay.Imported, inputs ...string) {
	for _, input := range inputs {
		f.Add([]byte(input))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		s, err := Open(t.Context(), bytes.NewReader(input))
		if err != nil || form != "" && s.Header().Imported != form {
			return
		}
		var state replay.State
		var last time.Time
		for {
			r, err := s.Next()
			if err != nil {
				return
			}
			if r.Time.Before(last) {
				t.Errorf("the time of record %d is before that of the record before", r.Number)
			}
			last = r.Time
			if r.Type != replay.TypeStream && r.Stream != 0 && state.Stream(r.Stream) == nil {
				t.Errorf("record %d belongs to stream %d, which is not defined", r.Number, r.Stream)
			}
			if r.Type.HasObject() && (r.Name == "" || len(r.Object) == 0) {
				t.Errorf("record %d has no object", r.Number)
			}
			state.Apply(r)
		}
	})
}

// TestHasStatus: a kind has a status if its first object has; a stream is not changed once it was given out.
func TestHasStatus(t *testing.T) {
	for status, want := range map[string]bool{
		`,"status":{"phase":"Ready"}`: true, "": false, `,"status":{}`: false, `,"status":"fine"`: false,
	} {
		text := event("ADDED", `{"apiVersion":"example.org/v1","kind":"Thing","metadata":{"name":"a"}`+status+`}`)
		s, err := Open(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Next()
		if err != nil || r.NewStream == nil || r.NewStream.HasStatus != want {
			t.Errorf("with %q: %+v (%v), want HasStatus %t", status, r, err, want)
		}
	}
}
