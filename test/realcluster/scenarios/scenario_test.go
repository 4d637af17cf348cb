package scenarios

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestLoad(t *testing.T) {
	tests := []struct {
		name, reason, file string
		want               string // in the error; empty for none
	}{{
		name: "whole", reason: "all kinds of steps",
		file: `
about: it
controllers: [b, a]
rules: [{at: "write *", as: presence, reason: because}]
steps:
- apply: [{apiVersion: v1, kind: Pod}]
- patch: {object: pods/a, type: json, body: []}
- delete: {object: pods, selector: a=b, grace: 0}
- ready: {object: pods, first: 1, order: newest}
- evict: {object: pods, selector: a=b, refused: TooManyRequests}
- wait: [{object: pods, path: .status.phase, value: Running, count: 3}]
- quiet: true
`,
	}, {
		name: "unknown field", reason: "a field that is not read would weaken a scenario in silence",
		file: "about: it\nsteps: [{quiet: true, wiat: []}]", want: `unknown field "wiat"`,
	}, {
		name: "two inputs", reason: "their order would not be told",
		file: "about: it\nsteps: [{create: [], apply: []}]", want: "step 1: it has more than one input",
	}, {
		name: "nothing", reason: "a step must do or wait for something",
		file: "about: it\nsteps: [{}]", want: "step 1: it has no input and waits for nothing",
	}, {
		name: "name and selector", reason: "one of them would count for nothing",
		file: "about: it\nsteps: [{delete: {object: pods/a, selector: a=b}}]", want: "both a name and a selector",
	}, {
		name: "name and selector of an eviction", reason: "as for others",
		file: "about: it\nsteps: [{evict: {object: pods/a, selector: a=b}}]", want: "both a name and a selector",
	}, {
		name: "bad path", reason: "it is read before anything is played",
		file: "about: it\nsteps: [{wait: [{object: pods, path: '.status[?('}]}]", want: "reading path",
	}, {
		name: "bad patch type", reason: "it is read before anything is played",
		file: "about: it\nsteps: [{patch: {object: pods/a, type: smart, body: {}}}]", want: `patch type "smart"`,
	}, {
		name: "rule without reason", reason: "what weakens a comparison says why",
		file: "about: it\nrules: [{at: x, as: ignored}]\nsteps: [{quiet: true}]", want: "needs at, reason",
	}, {
		name: "field counted", reason: "a field has no number",
		file: "about: it\nrules: [{at: object pods/p .status, as: presence, reason: x}]\nsteps: [{quiet: true}]", want: "can be ignored",
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, err := Load(fstest.MapFS{"s/one.yaml": {Data: []byte(tt.file)}}, "s")
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("%s: %v", tt.reason, err)
			case tt.want == "" && (len(all) != 1 || all[0].Name != "one"):
				t.Errorf("%s: got %+v", tt.reason, all)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%s: got error %v, want %q", tt.reason, err, tt.want)
			}
		})
	}
}

func TestOwnScenariosLoad(t *testing.T) {
	all, err := Load(os.DirFS("testdata"), "scenarios")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 24 {
		t.Errorf("got %d scenarios", len(all))
	}
	if got := Controllers([]Scenario{{Controllers: []string{"b", "a"}}, {Controllers: []string{"b"}}}); strings.Join(got, ",") != "a,b" {
		t.Errorf("got controllers %q, want each once and sorted", got)
	}
}
