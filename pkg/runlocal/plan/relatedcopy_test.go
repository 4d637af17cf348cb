package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// otherApp is what stands beside the objects of each case: an app of other kinds, with what selects, counts or scales
// pods. Its names begin with "other". What of it has labels of the cases is selected by what these have.
const otherApp = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: other-api}
spec:
  selector: {matchLabels: {other: api}}
  template: {metadata: {labels: {other: api, tier: other}}, spec: {containers: [{name: c, image: "api:1"}]}}
---
apiVersion: v1
kind: Service
metadata: {name: other-api}
spec: {selector: {other: api}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: other-tier}
spec: {selector: {tier: other}, ports: [{port: 80}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: other-tier}
spec: {minAvailable: 1, selector: {matchLabels: {tier: other}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: other-api}
spec: {maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: other-api}}
---
apiVersion: v1
kind: Service
metadata: {name: other-db}
spec: {clusterIP: None, selector: {other: db}, ports: [{port: 5432}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: other-db}
spec:
  serviceName: other-db
  selector: {matchLabels: {other: db}}
  template: {metadata: {labels: {other: db, tier: other}}, spec: {containers: [{name: c, image: "db:1"}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: other-agent}
spec:
  selector: {matchLabels: {other: agent}}
  template:
    metadata: {labels: {other: agent}}
    spec: {nodeSelector: {kubernetes.io/hostname: node-1}, containers: [{name: c, image: "agent:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: other-agent}
spec: {selector: {other: agent}, ports: [{port: 80}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: other-job}
spec:
  template:
    metadata: {annotations: {kubectl-reconcile.github.io/run-for: 10h}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "job:1"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: other-overlap}
spec:
  selector: {matchLabels: {app: web, part: other}}
  template: {metadata: {labels: {app: web, part: other}}, spec: {containers: [{name: c, image: "api:1"}]}}
---
apiVersion: v1
kind: Service
metadata: {name: other-overlap}
spec: {selector: {part: other}, ports: [{port: 80}]}`

// planCase is a case of test/realcluster/plans, or a scenario, as far as the test reads them.
type planCase struct {
	name  string
	Steps []struct {
		Create, Apply, Kubectl []json.RawMessage
	} `json:"steps"`
	Change struct {
		Kubectl []json.RawMessage `json:"kubectl"`
	} `json:"change"`
}

// planCases returns the cases of a folder, with what there is first and the change. In a scenario, the last objects
// that are made are the change.
func planCases(t *testing.T, pattern string) (cases []planCase) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no file is called %s: %v", pattern, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := planCase{name: strings.TrimSuffix(filepath.Base(file), ".yaml")}
		if err := yaml.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

func isQuota(m runlocal.Manifest) bool { return m.Object.GetKind() == "ResourceQuota" }

// rawManifests returns manifests of a case, in which {{ns}} is its namespace.
func rawManifests(t *testing.T, namespace string, raw []json.RawMessage) (out []runlocal.Manifest) {
	t.Helper()
	for _, data := range raw {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(bytes.ReplaceAll(data, []byte("{{ns}}"), []byte(namespace))); err != nil {
			t.Fatal(err)
		}
		out = append(out, runlocal.Manifest{Source: "case", Object: u})
	}
	return out
}

// TestRelatedCopy plans the changes of test/realcluster/plans with a second app beside each: on a copy of what is
// related as on one of the whole namespace, and without a write to the second app. Every fourth change is planned, which
// takes half a minute; all are with COPIES=all in the environment.
func TestRelatedCopy(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	selected := controllersInCopy()
	live, err := runlocal.Start(ctx, runlocal.Options{Controllers: selected, Nodes: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := live.Stop(); err != nil {
			t.Error(err)
		}
	}()
	prepared, err := os.ReadFile("../../../test/realcluster/plans/testdata/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := manifests(t, string(prepared))[1:] // the node is one of many
	if _, err := live.Apply(ctx, "default", definition); err != nil {
		t.Fatal(err)
	}
	var cases []planCase
	for i, c := range planCases(t, "../../../test/realcluster/plans/testdata/cases/*.yaml") {
		if i%4 == 0 || os.Getenv("COPIES") == "all" {
			cases = append(cases, c)
		}
	}
	for _, c := range cases {
		if err := live.EnsureNamespace(ctx, c.name); err != nil {
			t.Fatal(err)
		}
		var all []runlocal.Manifest
		for _, step := range c.Steps {
			for _, raw := range [][]json.RawMessage{step.Create, step.Apply, step.Kubectl} {
				all = append(all, rawManifests(t, c.name, raw)...)
			}
		}
		if !slices.ContainsFunc(all, isQuota) { // which would limit the second app, too
			all = append(all, manifests(t, otherApp)...)
		}
		if _, err := live.ApplyWith(ctx, c.name, all, runlocal.KubectlApply{}.Write); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
	}
	if err := live.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { compareCopies(t, live, &c, selected) })
	}
}

// compareCopies plans a change on a copy of its namespace, and on one of what is related to it.
func compareCopies(t *testing.T, live *runlocal.Session, c *planCase, selected []controllers.Controller) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	kinds, err := cluster.Discover(ctx, live.Config())
	if err != nil {
		t.Fatal(err)
	}
	reader, err := cluster.NewReader(live.Config())
	if err != nil {
		t.Fatal(err)
	}
	change := rawManifests(t, c.name, c.Change.Kubectl)
	namespaces := []string{c.name}
	var roots []seed.Related
	for _, m := range change {
		kind, ok, err := kinds.Lookup(m.Object.GroupVersionKind())
		if err != nil || !ok {
			t.Fatalf("%s is not served: %v", m, err)
		}
		if kind.Namespaced && m.Object.GetNamespace() == "" {
			m.Object.SetNamespace(c.name)
		}
		if kind.Group != "example.com" { // as diff does with custom resources
			root := seed.Root{Kind: kind, Namespace: m.Object.GetNamespace(), Name: m.Object.GetName()}
			roots = append(roots, seed.Related{Root: root, Object: m.Object})
		}
	}
	options := seed.Options{Reader: reader, Kinds: kinds, Namespaces: namespaces, Neighbours: true}
	whole, err := seed.Read(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	options.Related = roots
	part, err := seed.Read(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	if part.Unrelated == 0 {
		t.Log("all is copied")
		return
	}
	// What is not related may go on by itself, such as an autoscaler whose last recommendation is old enough.
	related := func(id ObjectID) bool {
		_, there := whole.Find(id.Resource.GroupResource(), id.Namespace, id.Name)
		_, copied := part.Find(id.Resource.GroupResource(), id.Namespace, id.Name)
		return copied || !there
	}
	want := planInCopy(t, whole, change, selected, related)
	got := planInCopy(t, part, change, selected, related)
	t.Logf("%d of %d objects; %d writes", len(part.Objects), len(whole.Objects), len(got))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the plan for the whole namespace (-), and for what is related (+), without %d:\n%s", part.Unrelated, diff)
	}
	for _, line := range slices.Concat(want, got) {
		if strings.Contains(line, "/other") {
			t.Errorf("the second app is changed: %s", line)
		}
	}
}

// chance matches what is chance in the lines of planInCopy: uids and versions of what there was, and which of several
// pods that are equal a DaemonSet takes first.
var chance = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[rR]esourceVersion: <none> -> [0-9]+|-<[0-9]*>|` +
	`-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)

// planInCopy plans a change in a copy, all keys of which are reconciled, and returns a line for each write, and for each
// object that is another one at the end, sorted. Writes of a status alone are left out: in which steps it gets to what it
// is at the end depends on which key is next, and so on what else is there. Those of a DaemonSet, or of a pod, do not
// have what is written.
func planInCopy(
	t *testing.T, copied *seed.Copy, change []runlocal.Manifest, selected []controllers.Controller,
	related func(ObjectID) bool,
) (lines []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	planner := New()
	options := runlocal.Options{Controllers: selected, HoldKeys: true, Copy: copied}
	planner.Configure(&options)
	s, err := runlocal.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	planner.Begin(ctx, s)
	o := RunOptions{Namespaces: slices.Clone(copied.Namespaces)}
	for _, m := range change {
		o.Given = append(o.Given, m.Object)
		o.Namespaces = append(o.Namespaces, m.Object.GetName())
	}
	o.Change = func(ctx context.Context) error {
		_, err := s.ApplyWith(ctx, copied.Namespaces[0], change, runlocal.KubectlApply{}.Write)
		return err
	}
	plan, err := planner.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	line := func(format string, id ObjectID, changes []fields.Change, rest ...any) {
		if id.Kind == "DaemonSet" || id.Kind == "Pod" {
			changes = nil
		}
		text := fmt.Sprintf(format, append(rest, id.Kind, id.Namespace, id.Name, changes)...)
		lines = append(lines, chance.ReplaceAllString(text, "-*"))
	}
	for i := range plan.Steps {
		step := &plan.Steps[i]
		for _, w := range step.Writes {
			if w.Refused() || !w.OnlyStatus() {
				line("%s %s: %s %q %s %s/%s %v", w.Object, w.SpecChanges(), step.Controller, step.Key, w.Verb, w.Message)
			}
		}
	}
	for i := range plan.Objects {
		o := &plan.Objects[i]
		changes, err := fields.Changes(o.Before, o.After, fields.Mask{})
		if err != nil {
			t.Fatal(err)
		}
		if related(o.ObjectID) {
			line("end (there %t, before %t): %s %s/%s %v", o.ObjectID, changes, o.After != nil, o.Before != nil)
		}
	}
	slices.Sort(lines)
	return append(lines, string(plan.End))
}
