package apidiff

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestLoadRefuses(t *testing.T) {
	for _, test := range []struct{ reason, file, want string }{
		{"a file says what it is for", "steps: [{name: a, path: /x}]", "about is missing"},
		{"a file without steps tests nothing", "about: a", "there are no steps"},
		{"an unknown field is a misspelt one", "about: a\nsteps: [{name: a, path: /x, headrs: {}}]", `unknown field "headrs"`},
		{"a field given twice has two meanings", "about: a\nsteps: [{name: a, path: /x, path: /y}]", `"path" already set`},
		{"a placeholder has a value", `{about: a, steps: [{name: a, path: "/x/{{uid}}"}]}`, "unknown placeholder {{uid}}"},
		{"also in a body", `{about: a, steps: [{name: a, method: POST, path: /x, body: {a: ["{{b}}"]}}]}`, "unknown placeholder {{b}}"},
		{"a step cannot use what it saves", `{about: a, steps: [{name: a, path: "/{{b}}", save: {b: .x}}]}`, "unknown placeholder {{b}}"},
		{"a value is saved once", `{about: a, steps: [{name: a, path: /x, save: {b: .x}}, {name: c, path: /x, save: {b: .x}}]}`, `"b" has a value already`},
		{"a path can be read", `{about: a, steps: [{name: a, path: /x, keep: ["items"]}]}`, `cannot read the path "items"`},
		{"names tell steps apart", `{about: a, steps: [{name: a, path: /x}, {name: a, path: /y}]}`, `the name "a" is taken`},
		{"a verb is one that is known", `{about: a, steps: [{name: a, method: SHOUT, path: /x}]}`, `unknown method "SHOUT"`},
		{"a patch says which kind it is", `{about: a, steps: [{name: a, method: PATCH, path: /x, body: {}}]}`, "a PATCH needs a type"},
		{"a request has one body", `{about: a, steps: [{name: a, method: POST, path: /x, body: {}, raw: x}]}`, "body and raw exclude each other"},
		{"a watch ends", `{about: a, steps: [{name: a, method: WATCH, path: /x}]}`, "a WATCH needs one of them"},
		{"what is sent meanwhile is a write", `{about: a, steps: [{name: a, method: WATCH, path: /x, events: 1, meanwhile: {path: /y}}]}`, "meanwhile is a write"},
		{"and has values too", `{about: a, steps: [{name: a, method: WATCH, path: /x, events: 1, meanwhile: {method: DELETE, path: "/{{b}}"}}]}`,
			"unknown placeholder {{b}}"},
		{"and needs a stream", `{about: a, steps: [{name: a, path: /x, meanwhile: {method: DELETE, path: /y}}]}`, "belongs to a WATCH"},
		{"a wait for a value and for a warning", `{about: a, steps: [{name: a, path: /x, until: {path: .a, value: 1, warned: true}}]}`, "until needs a value, or warned"},
		{"only reading may be repeated", `{about: a, steps: [{name: a, method: POST, path: /x, until: {path: .a, value: 1}}]}`, "until is for a GET"},
		{"every verb needs an object", `{about: a, steps: [{name: a, every: {path: /x, body: {kind: A}}}]}`, "the object needs apiVersion, kind and metadata.name"},
		{"codes are of verbs", `{about: a, steps: [{name: a, every: {path: /x, body: {apiVersion: v1, kind: A, metadata: {name: a}}, codes: {shout: 200}}}]}`,
			`there are no verbs ["shout"]`},
	} {
		t.Run(test.reason, func(t *testing.T) {
			_, err := Load(fstest.MapFS{"10-a.yaml": {Data: []byte(test.file)}}, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want one that contains %q", err, test.want)
			}
		})
	}
}

func TestLoadOnlyWanted(t *testing.T) {
	step := []byte("about: a\nsteps: [{name: a, path: /x}]")
	corpus := fstest.MapFS{"10-a.yaml": {Data: step}, "20-b.yaml": {Data: step}, "30-c.yaml": {Data: []byte("broken")}}
	files, err := Load(corpus, regexp.MustCompile("^[12]0-"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, file.Name+": "+file.Steps[0].Method)
	}
	if diff := cmp.Diff([]string{"10-a: GET", "20-b: GET"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if _, err := Load(corpus, regexp.MustCompile("^9")); err == nil {
		t.Error("a pattern that matches nothing is no error")
	}
}

func TestEveryStandsForAllVerbs(t *testing.T) {
	file, err := parseFile("10-a", []byte(`
about: a
steps:
- name: things
  every:
    path: /apis/g/v1/things
    body: {apiVersion: g/v1, kind: Thing, metadata: {name: a}}
    status: {ready: true}
    scale: 3
    codes: {delete collection: 405}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, step := range file.Steps {
		got = append(got, strings.TrimPrefix(step.Name, "things ")+": "+step.Method+" "+strings.TrimPrefix(step.Path, "/apis/g/v1/things"))
	}
	for _, want := range []string{
		"create: POST ?fieldManager=creator", "get: GET /a", "list: GET ?labelSelector=corpus={{ns}}",
		"apply: PATCH /a?fieldManager=applier&force=true", "patch status: PATCH /a/status?fieldManager=controller",
		"update status: PUT /a/status?fieldManager=keeper",
		"patch scale: PATCH /a/scale?fieldManager=scaler", "delete: DELETE /a", "delete collection: DELETE ?labelSelector=corpus={{ns}}",
	} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("no step %q in:\n%s", want, strings.Join(got, "\n"))
		}
	}
	for _, step := range file.Steps {
		if step.Name == "things delete collection" && step.Code != 405 {
			t.Errorf("the code of the collection's deletion is %d, want the one given", step.Code)
		}
	}
}

func TestFill(t *testing.T) {
	v := values{"ns": "n", "port": parsed(t, "30000"), "object": parsed(t, `{"a": [1]}`)}
	body, err := v.fillBody([]byte(`{"x-{{ns}}": "{{ns}}/{{port}}", "port": "{{port}}", "all": ["{{object}}", 7]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"all":[{"a":[1]},7],"port":30000,"x-n":"n/30000"}`
	if string(body) != want {
		t.Errorf("body is %s, want %s: a text that is one placeholder becomes its value", body, want)
	}
	if got := v.fill("/api/{{ns}}?port={{port}}"); got != "/api/n?port=30000" {
		t.Errorf("path is %q", got)
	}
}

func TestFind(t *testing.T) {
	tree := parsed(t, `{"items": [{"metadata": {"name": "a", "labels": {"x.y/z": "l"}}}, {"metadata": {"name": "b"}}]}`)
	for path, want := range map[string]string{
		".items[1].metadata.name":            `"b"`,
		".items[].metadata.name":             `["a","b"]`,
		`.items[0].metadata.labels["x.y/z"]`: `"l"`,
		".items[7].metadata":                 "null",
		".items.nothing":                     "null",
	} {
		if got := show(lookup(tree, path)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// parsed reads a document.
func parsed(t *testing.T, text string) any {
	t.Helper()
	tree, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
