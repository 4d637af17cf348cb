package inspect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/argocd"
)

// fixture is an entry of testdata/customresources, which has a README.
type fixture struct {
	Reason  string
	State   string
	Generic string
	Object  map[string]any
}

// wordsOfStates are the words that a state may have.
var wordsOfStates = map[string][]string{
	"healthy": {Current}, "progressing": {InProgress}, "broken": {Failed, Degraded}, "suspended": {Suspended}, "silent": {Unknown},
}

func fixtures(t testing.TB) map[string][]fixture {
	t.Helper()
	files, err := filepath.Glob("testdata/customresources/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]fixture{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var entries []fixture
		if err := yaml.UnmarshalStrict(text, &entries); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".yaml")] = entries
	}
	return all
}

// object is the fixture's as an API server would give it: whole numbers are int64.
func (f fixture) object(t testing.TB) *unstructured.Unstructured {
	t.Helper()
	text, err := yaml.Marshal(f.Object)
	if err != nil {
		t.Fatal(err)
	}
	return fromYAML(t, string(text))
}

// TestCustomResourcesOfOperators judges what operators write, with the health checks of Argo CD and without them.
func TestCustomResourcesOfOperators(t *testing.T) {
	families := map[string]bool{}
	objects := 0
	for name, entries := range fixtures(t) {
		for _, f := range entries {
			objects++
			obj := f.object(t)
			families[familyOf(obj.GroupVersionKind().Group)] = true
			for with, checks := range map[string]*argocd.Checks{"with checks": shippedChecks, "without": nil} {
				want := wordsOfStates[f.State]
				if checks == nil && f.Generic != "" {
					want = wordsOfStates[f.Generic]
				}
				t.Run(name+"/"+f.Reason+"/"+with, func(t *testing.T) {
					got := inspect(obj, Options{}, checks)
					if !slices.Contains(want, got.Status.Status) {
						t.Errorf("%s is %s (%s) by %s, want %v", obj.GetKind(), got.Status.Status, got.Reason, got.JudgedBy, want)
					}
					if got.NotReady() && got.Reason == "" {
						t.Errorf("%s, and no reason", got.Status.Status)
					}
				})
			}
		}
	}
	if objects < 480 || len(families) < 100 {
		t.Errorf("%d objects of %d families, where there were more than 480 of 100", objects, len(families))
	}
}

// TestChecksDoNotHide: where an object states that it is not as its spec asks, a check's better word does not stand.
func TestChecksDoNotHide(t *testing.T) {
	const ready = `conditions: [{type: Ready, status: "True", observedGeneration: 1}]`
	tests := []struct{ reason, object, status, judgedBy string }{
		{"healthy, and nothing against it", `metadata: {generation: 1}, status: {` + ready + `}`, Current, ArgoCD},
		{"being deleted", `metadata: {generation: 1, deletionTimestamp: "2026-01-02T03:04:05Z"}, status: {` + ready + `}`, Terminating, Generic},
		{"a generation behind", `metadata: {generation: 2}, status: {observedGeneration: 1, ` + ready + `}`, InProgress, Generic},
		{"a condition behind", `metadata: {generation: 2}, status: {` + ready + `}`, InProgress, Generic},
		{"a bad condition behind", `metadata: {generation: 2}, status: {conditions: [{type: Ready, status: "False", observedGeneration: 1}]}`, InProgress, Generic},
		{"stalled", `metadata: {generation: 1}, status: {conditions: [{type: Ready, status: "True"}, {type: Stalled, status: "True"}]}`, Failed, Generic},
		{"a bad condition that a table knows", `metadata: {generation: 1}, status: {conditions: [{type: Ready, status: "True"}, {type: InvalidRequest, status: "True"}]}`, Degraded, Generic},
		{"one that only its name tells", `metadata: {generation: 1}, status: {conditions: [{type: Ready, status: "True"}, {type: RenewalStuck, status: "True"}]}`, Current, ArgoCD},
		{"nothing reported", `metadata: {generation: 1}, status: {}`, Unknown, Generic},
		{"degraded", `metadata: {generation: 1}, status: {conditions: [{type: Ready, status: "False", reason: Odd, message: no}]}`, Degraded, ArgoCD},
		{"failed, on which both agree", `metadata: {generation: 1}, status: {conditions: [{type: Ready, status: "False", reason: IssuingFailed}]}`, Failed, Generic},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got := StatusOf(fromYAML(t, "{apiVersion: cert-manager.io/v1, kind: Certificate, spec: {}, "+tt.object+"}"))
			if got.Status != tt.status || got.JudgedBy != tt.judgedBy {
				t.Errorf("%s (%s) by %s; want %s by %s", got.Status, got.Reason, got.JudgedBy, tt.status, tt.judgedBy)
			}
		})
	}
	p, err := ReadPolarities(strings.NewReader("polarities: [{group: cert-manager.io, type: Ready, polarity: neutral}]"))
	if err != nil {
		t.Fatal(err)
	}
	odd := fromYAML(t, `{apiVersion: cert-manager.io/v1, kind: Certificate, spec: {}, status: {conditions: [{type: Ready, status: "False", reason: Odd}]}}`)
	if got := Inspect(odd, &Options{Polarities: p}); got.Status.Status != Current || got.JudgedBy != Generic {
		t.Errorf("the user has made Ready neutral, and the status is %s by %s", got.Status.Status, got.JudgedBy)
	}
}

// familyOf is the domain of a group.
func familyOf(group string) string {
	parts := strings.Split(group, ".")
	return strings.Join(parts[max(len(parts)-2, 0):], ".")
}
