package apidiff

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifferences(t *testing.T) {
	for _, test := range []struct {
		reason, a, b string
		want         []Difference
	}{
		{"the same", `{"body": {"a": [1, {"b": null}]}}`, `{"body": {"a": [1, {"b": null}]}}`, nil},
		{"a value", `{"body": {"a": 1}}`, `{"body": {"a": "1"}}`, []Difference{{"body.a", "1", `"1"`}}},
		{"null is not absent", `{"body": {"a": null}}`, `{"body": {}}`, []Difference{{"body.a", "null", Absent}}},
		{"an element by its name", `{"body": [{"name": "a", "v": 1}, {"name": "b", "v": 2}]}`, `{"body": [{"name": "b", "v": 3}]}`,
			[]Difference{{"body[a]", `{"name":"a","v":1}`, Absent}, {"body[b].v", "2", "3"}}},
		{"an object by its namespace and name", `{"body": [{"metadata": {"namespace": "n", "name": "a"}, "v": 1}]}`,
			`{"body": [{"metadata": {"namespace": "n", "name": "a"}, "v": 2}]}`, []Difference{{"body[n/a].v", "1", "2"}}},
		{"the order of named elements", `{"body": [{"name": "a"}, {"name": "b"}]}`, `{"body": [{"name": "b"}, {"name": "a"}]}`,
			[]Difference{{"body(order)", "a b", "b a"}}},
		{"an element by its position", `{"body": [1, 2]}`, `{"body": [1]}`, []Difference{{"body[1]", "2", Absent}}},
		{"names that are not unique", `{"body": [{"name": "a"}, {"name": "a"}]}`, `{"body": [{"name": "a"}, {"name": "b"}]}`,
			[]Difference{{"body[1].name", `"a"`, `"b"`}}},
		{"keys with dots", `{"body": {"a.b/c": 1}}`, `{"body": {"a.b/c": 2}}`, []Difference{{`body["a.b/c"]`, "1", "2"}}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			a, _ := parsed(t, test.a).(map[string]any)
			b, _ := parsed(t, test.b).(map[string]any)
			if diff := cmp.Diff(test.want, Differences(a, b)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDifferentCodes(t *testing.T) {
	got := Differences(Answer{"code": 200, "body": map[string]any{"a": true}}, Answer{"code": 404, "body": map[string]any{"b": true}})
	want := []Difference{{"body", `{"a":true}`, `{"b":true}`}, {"code", "200", "404"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDescribeShowsWhereLongValuesDiffer(t *testing.T) {
	long := strings.Repeat("x", 5000)
	step := StepResult{ID: "f/s", Differences: []Difference{{"body", long + "REAL" + long, long + "OURS" + long}}}
	text := step.Describe()
	if !strings.Contains(text, "REAL") || !strings.Contains(text, "OURS") || len(text) > 3*mostShown {
		t.Errorf("not the part where the values differ, or too much of it:\n%s", text)
	}
}

func TestParseMeant(t *testing.T) {
	for _, test := range []struct{ reason, file, want string }{
		{"a reason is given", "- {step: a, path: b}", "step, path and reason must be given"},
		{"nothing else is", "- {step: a, path: b, reason: c, code: 4}", "unknown field"},
	} {
		if _, err := ParseMeant([]byte(test.file)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error is %v, want one that contains %q", test.reason, err, test.want)
		}
	}
	if lines, err := ParseMeant([]byte("# none\n[]\n")); err != nil || len(lines) != 0 {
		t.Errorf("an empty list: %v, error %v", lines, err)
	}
}

func TestMeansAll(t *testing.T) {
	lines, err := ParseMeant([]byte(`
- {step: "10-*/get", path: "body.a[*].b", reason: r}
- {step: "10-x/get", path: code, reason: r}
- {step: "20-*", path: "*", reason: r}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		reason, step string
		paths        []string
		want         bool
	}{
		{"both are meant", "10-x/get", []string{"body.a[0].b", "code"}, true},
		{"one is not", "10-x/get", []string{"body.a[0].b", "type"}, false},
		{"brackets and dots stand for themselves", "10-x/get", []string{"body.a0.b"}, false},
		{"of another step", "10-x/list", []string{"code"}, false},
	} {
		var differences []Difference
		for _, path := range test.paths {
			differences = append(differences, Difference{Path: path})
		}
		if got := meansAll(lines, test.step, differences); got != test.want {
			t.Errorf("%s: %t, want %t", test.reason, got, test.want)
		}
	}
	if unneeded := Unneeded(lines); len(unneeded) != 1 || unneeded[0].Step != "20-*" {
		t.Errorf("lines that nothing needed: %+v, want that of 20-*", unneeded)
	}
	if sum := Sum(nil, lines); sum.Meant[0].Times != 2 || sum.Meant[1].Times != 1 {
		t.Errorf("lines are needed by %d and %d steps, want 2 and 1", sum.Meant[0].Times, sum.Meant[1].Times)
	}
}

func TestUnexpected(t *testing.T) {
	for _, test := range []struct {
		reason string
		step   Step
		got    played
		fails  bool
	}{
		{"a success without a code", Step{}, played{code: 201}, false},
		{"a refusal without a code", Step{}, played{code: 409}, true},
		{"the code", Step{Code: 409}, played{code: 409}, false},
		{"another success than the code", Step{Code: 201}, played{code: 200}, true},
		{"nothing to save", Step{}, played{code: 200, problem: errors.New("nothing")}, true},
	} {
		if err := unexpected(&test.step, test.got); (err != nil) != test.fails {
			t.Errorf("%s: error is %v", test.reason, err)
		}
	}
}
