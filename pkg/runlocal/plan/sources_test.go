package plan

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

func TestDivide(t *testing.T) {
	of := func(metadata string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + metadata + "}}"
	}
	for _, row := range []struct {
		reason         string
		from           []string
		stored, others []string
	}{
		{"no objects", nil, nil, nil},
		{"a server gives objects a uid and a resourceVersion", []string{of("a, " + there)}, []string{"a"}, nil},
		{"a manifest has neither", []string{of("a")}, nil, []string{"a"}},
		{"one of them is left over from an edit", []string{of(`a, uid: "1"`), of(`b, resourceVersion: "1"`)}, nil,
			[]string{"a", "b"}},
		{"the order is kept in both", []string{of("c"), of("b, " + there), of("a"), of("a, " + there)},
			[]string{"b", "a"}, []string{"c", "a"}},
	} {
		storedFiles, otherManifests := Objects(manifests(t, row.from...)).divide()
		var stored, others []string
		for _, f := range storedFiles {
			stored = append(stored, f.Object.GetName())
		}
		for _, m := range otherManifests {
			others = append(others, m.Object.GetName())
		}
		if diff := cmp.Diff([][]string{row.stored, row.others}, [][]string{stored, others}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// storedConfigMap was made a minute before ten.
const storedConfigMap = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: a, ` + there + `, ` +
	`creationTimestamp: "2026-01-01T09:59:00Z"}, data: {x: "1"}}`

// TestAt: times are as long ago as they were, and those of the plan are what they were.
func TestAt(t *testing.T) {
	then := time.Date(2026, 1, 1, 10, 0, 0, 999, time.UTC)
	objects := Objects(manifests(t, storedConfigMap))
	state, err := objects.At(then).Read(t.Context(), Change{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	obj, err := state.Copy.Objects[0].Unstructured()
	if err != nil {
		t.Fatal(err)
	}
	if ago := time.Since(obj.GetCreationTimestamp().Time); ago < time.Minute || ago > time.Minute+patience {
		t.Errorf("created %s ago", ago)
	}
	change := Change{Manifests: manifests(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: a}, data: {x: \"2\"}}")}
	p, err := Make(t.Context(), objects.At(then), change, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Objects) != 1 || p.Objects[0].After.GetCreationTimestamp().UTC() != then.Truncate(time.Second).Add(-time.Minute) {
		t.Errorf("moved back: %+v", p.Objects)
	}
	if created := objects[0].Object.GetCreationTimestamp(); created.UTC() != then.Truncate(time.Second).Add(-time.Minute) {
		t.Errorf("the objects of the caller were changed: %s", created)
	}
}

// TestDriftAt: who set what, and when, in a plan of the past, is told as it was.
func TestDriftAt(t *testing.T) {
	const behind = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web, ` + there + `, generation: 2,
  creationTimestamp: "2026-01-01T09:59:00Z", managedFields: [{manager: kubectl, operation: Update, apiVersion: apps/v1,
    time: "2026-01-01T09:59:30Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}]},
  spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}},
  status: {observedGeneration: 1}}`
	p, err := Make(t.Context(), Objects(manifests(t, behind)).At(time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)), Change{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Drift.Unseen) != 1 {
		t.Fatalf("not seen by their controllers: %+v", p.Drift.Unseen)
	}
	const at = "2026-01-01T09:59:30Z"
	u := p.Drift.Unseen[0]
	if u.Writer == nil || u.Writer.Time.UTC().Format(time.RFC3339) != at || u.Drift.Since.UTC().Format(time.RFC3339) != at {
		t.Errorf("written %+v, behind since %v", u.Writer, u.Drift.Since)
	}
}

// TestNamespaceOfObjects: which namespace objects have that name none.
func TestNamespaceOfObjects(t *testing.T) {
	other := "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: other, name: a, uid: \"2\", resourceVersion: \"2\"}}"
	for _, row := range []struct {
		reason    string
		objects   []string
		namespace string
		want      string
		first     int // manifests
	}{
		{"the only one of a state", []string{storedConfigMap}, "", "shop", 0},
		{"there are several", []string{storedConfigMap, other}, "", "", 0},
		{"one that is there", []string{storedConfigMap}, "shop", "shop", 0},
		{"one that is not there is made", []string{storedConfigMap}, "new", "new", 1},
		{"manifests are applied to the session's", []string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"}, "new", "", 1},
	} {
		state, err := Objects(manifests(t, row.objects...)).Read(t.Context(), Change{}, Options{Namespace: row.namespace})
		if err != nil {
			t.Fatal(err)
		}
		if state.Namespace != row.want || len(state.First) != row.first {
			t.Errorf("%s: %q, and %d applied first", row.reason, state.Namespace, len(state.First))
		}
	}
}

// TestMakeOnly: which objects a plan is for, and errors of what is not there or has no controller here.
func TestMakeOnly(t *testing.T) {
	objects := Objects(manifests(t, deployment(1, "a"), "{apiVersion: apps/v1, kind: Deployment, metadata: {name: other}, "+
		"spec: {selector: {matchLabels: {b: c}}, template: {metadata: {labels: {b: c}}, spec: {containers: [{name: c, image: i}]}}}}"))
	only := func(kind, name string) func(context.Context, *Cluster, string) ([]seed.Root, error) {
		return func(_ context.Context, c *Cluster, namespace string) ([]seed.Root, error) {
			found, err := c.Kinds.Resolve(kind)
			return []seed.Root{{Kind: found, Namespace: namespace, Name: name}}, err
		}
	}
	var stages []Stage
	o := Options{Only: only("deploy", "other"), Next: true, Progress: func(s Stage) { stages = append(stages, s) }}
	p, err := Make(t.Context(), objects, Change{}, o)
	if err != nil {
		t.Fatal(err)
	}
	got := outline(p)
	foreignTo := func(line string) bool { return !strings.Contains(line, " other") }
	if len(got) == 0 || slices.ContainsFunc(got, foreignTo) || !slices.Equal(stages, []Stage{StagePlan}) {
		t.Errorf("stages %v: %q", stages, got)
	}
	absent, foreign := (*seed.NotFoundError)(nil), (*ForeignKindError)(nil)
	o.Only = only("deploy", "absent")
	if _, err := Make(t.Context(), objects, Change{}, o); !errors.As(err, &absent) || absent.Name != "absent" {
		t.Errorf("an object that is not there: %v", err)
	}
	o.Only = only("crd", "")
	if _, err := Make(t.Context(), objects, Change{}, o); !errors.As(err, &foreign) {
		t.Errorf("a kind that no controller here acts on: %v", err)
	}
	o.Only = only("events", "")
	if _, err := Make(t.Context(), objects, Change{}, o); err == nil {
		t.Error("a plan for Events is made")
	}
}
