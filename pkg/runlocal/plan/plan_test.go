package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api/memstore"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// patience bounds what a test waits for on a busy machine; nothing is timed by it.
const patience = 4 * time.Minute

func manifests(t testing.TB, texts ...string) []runlocal.Manifest {
	t.Helper()
	var out []runlocal.Manifest
	for _, text := range texts {
		for document := range strings.SplitSeq(text, "\n---\n") {
			u := &unstructured.Unstructured{}
			data, err := yaml.YAMLToJSON([]byte(document))
			if err != nil {
				t.Fatal(err)
			}
			if err := u.UnmarshalJSON(data); err != nil {
				t.Fatal(err)
			}
			out = append(out, runlocal.Manifest{Source: "test.yaml", Object: u})
		}
	}
	return out
}

// planOf returns the plan for a change of objects that have settled, or for the objects without a change.
func planOf(t testing.TB, from, change string, o RunOptions) *Plan {
	t.Helper()
	if change == "" {
		return planFor(t, from, nil, o)
	}
	applied := manifests(t, change)
	for _, m := range applied {
		o.Given = append(o.Given, m.Object)
	}
	return planFor(t, from, func(ctx context.Context, s *runlocal.Session) error {
		_, err := s.ApplyWith(ctx, "default", applied, runlocal.KubectlApply{}.Write)
		return err
	}, o)
}

// planFor is planOf for a change that is a function; nil is none.
func planFor(
	t testing.TB, from string, change func(context.Context, *runlocal.Session) error, o RunOptions,
) *Plan {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	planner := New()
	options := runlocal.Options{Controllers: Controllers(), Nodes: 2}
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
	if err := s.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
	planner.Begin(ctx, s)
	s.HoldKeys(true)
	if _, err := s.ApplyWith(ctx, "default", manifests(t, from), runlocal.KubectlApply{}.Write); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		if err := planner.Settle(ctx); err != nil {
			t.Fatal(err)
		}
		o.Change = func(ctx context.Context) error { return change(ctx, s) }
	}
	p, err := planner.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func deployment(replicas int, image string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: %s}]}
`, replicas, image)
}

// outline returns a line for each write of a controller that is not of a status: step, controller, verb and object.
func outline(p *Plan) []string {
	var out []string
	for i := range p.Steps {
		step := &p.Steps[i]
		for _, w := range step.Writes {
			if step.Simulated || w.OnlyStatus() {
				continue
			}
			text := fmt.Sprintf("%s %s %s %s", step.Controller, w.Verb, w.Object.Kind, w.Object.Name)
			if w.Refused() {
				text += " refused"
			}
			for _, c := range w.Changes {
				if c.Path == "spec.replicas" {
					text += fmt.Sprintf(" replicas %v -> %v", c.Old, c.New)
				}
			}
			out = append(out, strings.TrimSpace(text))
		}
	}
	return out
}

func TestControllers(t *testing.T) {
	all := map[string]bool{}
	for _, c := range controllers.All() {
		all[c.Short] = true
	}
	for _, name := range leftOut {
		if !all[name] {
			t.Errorf("no controller is called %q", name)
		}
	}
	if len(Controllers()) < 20 {
		t.Errorf("only %d controllers take part", len(Controllers()))
	}
}

func TestPlanOfARollout(t *testing.T) {
	p := planOf(t, deployment(3, "a"), deployment(3, "b"), RunOptions{})
	if p.End != EndSettled {
		t.Errorf("the plan ends with %q", p.End)
	}
	lines := outline(p)
	if len(lines) == 0 || lines[0] != "update Deployment web" {
		t.Fatalf("the plan does not begin with the change: %q", lines)
	}
	want := `update Deployment web
deployment create ReplicaSet web-NEW replicas <nil> -> 1
deployment update Deployment web
replicaset create Pod web-NEW-<1>
deployment update ReplicaSet web-OLD replicas 3 -> 2
deployment update ReplicaSet web-NEW replicas 1 -> 2
replicaset delete Pod web-OLD-<3>
replicaset create Pod web-NEW-<2>
deployment update ReplicaSet web-OLD replicas 2 -> 1
deployment update ReplicaSet web-NEW replicas 2 -> 3
replicaset delete Pod web-OLD-<2>
replicaset create Pod web-NEW-<3>
deployment update ReplicaSet web-OLD replicas 1 -> 0
replicaset delete Pod web-OLD-<1>`
	hashes := strings.NewReplacer("856d54cb48", "OLD", "9cd465bfc", "NEW")
	if diff := cmp.Diff(want, hashes.Replace(strings.Join(lines, "\n"))); diff != "" {
		t.Errorf("steps of the rollout (-want +got):\n%s", diff)
	}
	if len(p.Rollouts) != 1 || p.Rollouts[0].Before != 3 || p.Rollouts[0].After != 3 || p.Rollouts[0].Lowest != 3 {
		t.Errorf("with a surge of one, three of three pods stay ready: %+v", p.Rollouts)
	}
	created := 0
	for i := range p.Objects {
		o := &p.Objects[i]
		if o.Kind == "Pod" && o.Verb() == Create && strings.HasSuffix(o.Name, fmt.Sprintf("-<%d>", created+1)) {
			created++
		}
	}
	if created != 3 {
		t.Errorf("%d pods are created with names that count: %+v", created, p.Objects)
	}
}

// TestSamePlanTwice: two plans for the same objects are the same, byte for byte.
func TestSamePlanTwice(t *testing.T) {
	for _, tt := range []struct{ reason, from, change string }{
		{"pods of generated names are created and deleted", deployment(5, "a"), deployment(4, "b")},
		{"which of equal pods go is no matter of chance", deployment(5, "a"), deployment(2, "a")},
		{"without a change", deployment(3, "a"), ""},
		{"the uid of a Job is in its labels and those of its pods", deployment(1, "a"), `
apiVersion: batch/v1
kind: Job
metadata: {name: task}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: task}]}`},
	} {
		var texts [2]string
		for i := range texts {
			p := planOf(t, tt.from, tt.change, RunOptions{})
			text, err := json.MarshalIndent(p, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			texts[i] = string(text)
		}
		if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
			t.Errorf("%s: two plans differ:\n%s", tt.reason, diff)
		}
	}
}

func TestNextAndSteps(t *testing.T) {
	p := planOf(t, deployment(2, "a"), "", RunOptions{Next: true})
	want := []string{"deployment create ReplicaSet web-<>", "deployment update Deployment web"}
	if diff := cmp.Diff(want, shortNames(outline(p))); diff != "" || p.End != EndNext {
		t.Errorf("the next step, and more follows: %q (-want +got):\n%s", p.End, diff)
	}
	p = planOf(t, deployment(2, "a"), "", RunOptions{Steps: 1})
	if diff := cmp.Diff(want, shortNames(outline(p))); diff != "" || p.End != EndSteps {
		t.Errorf("one step was asked for: %q, %q", outline(p), p.End)
	}
}

// TestNextWaits: a key that is put off at the beginning is reconciled when its time has come, and not only waited for.
func TestNextWaits(t *testing.T) {
	job := `
apiVersion: batch/v1
kind: Job
metadata: {name: task}
spec:
  template:
    spec: {restartPolicy: Never, nodeSelector: {no: such}, containers: [{name: c, image: i}]}`
	// Changes of pods have the Job reconciled a second later.
	p := planFor(t, job, func(ctx context.Context, s *runlocal.Session) error {
		pods := kubernetes.NewForConfigOrDie(s.Config()).CoreV1().Pods("default")
		return pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	}, RunOptions{Next: true})
	if !slices.ContainsFunc(p.Steps, func(step Step) bool { return step.Controller == "job" }) {
		t.Errorf("it ends with %s before the Job is reconciled: %q", p.End, outline(p))
	}
}

// TestDelaysJoin: a key that a delay has added waits for another delay of it that ends within a second, as that of a Job
// whose pods change one after the other. On a fast machine it would be the same delay.
func TestDelaysJoin(t *testing.T) {
	job := `
apiVersion: batch/v1
kind: Job
metadata: {name: task}
spec:
  template:
    spec: {restartPolicy: Never, nodeSelector: {no: such}, containers: [{name: c, image: i}]}`
	joined := false
	planFor(t, job, func(ctx context.Context, s *runlocal.Session) error {
		pods := kubernetes.NewForConfigOrDie(s.Config()).CoreV1().Pods("default")
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		p, c := &Planner{session: s}, candidate{}
		for n := 0; n < 20 && !joined; n++ { // a second is over soon on a busy machine
			label := fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, n)
			if _, err := pods.Patch(ctx, list.Items[0].Name, types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
				return err
			}
			if err := s.WaitHeld(ctx); err != nil {
				return err
			}
			if n == 0 {
				c = candidate{queueKey: awaitHeldDelay(ctx, t, s, "job"), ready: true}
				continue
			}
			c.delayed = true
			_, joined = p.waits(c)
			c.delayed = false
			if _, waits := p.waits(c); waits {
				t.Error("a key that a watch event has added waits for a delay")
			}
		}
		return nil
	}, RunOptions{})
	if !joined {
		t.Error("a key that a delay has added does not wait for another delay of it")
	}
}

// awaitHeldDelay waits until a key of the controller is held that a delay has added, and returns it.
func awaitHeldDelay(ctx context.Context, t testing.TB, s *runlocal.Session, controller string) queueKey {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for ctx.Err() == nil {
		for _, c := range s.State().Controllers {
			for _, q := range c.Queues {
				for _, k := range q.Held {
					if c.Name == controller && k.Delayed {
						return queueKey{c.Name, q.Queue, k.Key}
					}
				}
			}
		}
		<-ticker.C
	}
	t.Fatalf("no delayed key of %s is held: %v", controller, ctx.Err())
	return queueKey{}
}

// shortNames replaces hashes of templates.
func shortNames(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		if at := strings.Index(line, "ReplicaSet web-"); at >= 0 {
			rest := line[at+len("ReplicaSet web-"):]
			_, after, _ := strings.Cut(rest, " ")
			line = strings.TrimSpace(line[:at] + "ReplicaSet web-<> " + strings.TrimPrefix(after, "replicas <nil> -> 2"))
		}
		out[i] = line
	}
	return out
}

// TestManyObjects: there may be more objects than an API server keeps writes by default.
func TestManyObjects(t *testing.T) {
	var from strings.Builder
	for i := range memstore.DefaultHistory * 3 / 2 {
		fmt.Fprintf(&from, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings-%d}\n---\n", i)
	}
	p := planOf(t, from.String()+deployment(1, "a"), deployment(1, "b"), RunOptions{})
	if p.End != EndSettled || len(p.Rollouts) != 1 {
		t.Errorf("it ends with %s, rollouts %+v", p.End, p.Rollouts)
	}
}

func TestNothingToDo(t *testing.T) {
	p := planOf(t, deployment(1, "a"), deployment(1, "a"), RunOptions{})
	if len(p.Steps) != 0 || len(p.Objects) != 0 || p.End != EndSettled {
		t.Errorf("a change that changes nothing: %+v", p)
	}
}

// TestProgressDeadlineIsLater: what is due in ten minutes is listed and not waited for.
func TestProgressDeadlineIsLater(t *testing.T) {
	stuck := strings.Replace(deployment(1, "b"), "spec: {containers", "spec: {nodeSelector: {no: such}, containers", 1)
	p := planOf(t, deployment(1, "a"), stuck, RunOptions{})
	want := []Later{{Controller: "deployment", Key: "default/web", In: 10 * time.Minute, What: "ProgressDeadlineExceeded"}}
	if diff := cmp.Diff(want, p.Later); diff != "" {
		t.Errorf("what is due later (-want +got):\n%s", diff)
	}
}

// TestRefusedWrites: a quota in the way is a refused write, once, and no plan without an end.
func TestRefusedWrites(t *testing.T) {
	quota := `
apiVersion: v1
kind: ResourceQuota
metadata: {name: few}
spec: {hard: {pods: "2"}}
---`
	p := planOf(t, quota+deployment(2, "a"), deployment(4, "a"), RunOptions{})
	refused := 0
	for i := range p.Steps {
		for _, w := range p.Steps[i].Writes {
			if w.Refused() {
				refused++
				if !strings.Contains(w.Message, "exceeded quota: few") {
					t.Errorf("refused with %q", w.Message)
				}
			}
		}
	}
	if refused != 1 || p.End != EndSettled {
		t.Errorf("%d refused writes, and the plan ends with %q:\n%s", refused, p.End, strings.Join(outline(p), "\n"))
	}
}

// TestWritesOfAdmission: what the API server counts when it admits a pod is no write of the controller that creates it.
func TestWritesOfAdmission(t *testing.T) {
	quota := `
apiVersion: v1
kind: ResourceQuota
metadata: {name: many}
spec: {hard: {pods: "9"}}
---`
	p := planOf(t, quota+deployment(1, "a"), deployment(2, "a"), RunOptions{})
	for i := range p.Steps {
		for _, w := range p.Steps[i].Writes {
			if w.Object.Kind == "ResourceQuota" && p.Steps[i].Controller != "resourcequota" {
				t.Errorf("%s writes ResourceQuota %s: %v", p.Steps[i].Controller, w.Object.Name, w.Changes)
			}
		}
	}
	counted := slices.ContainsFunc(p.Objects, func(o Object) bool {
		return o.Kind == "ResourceQuota" && strings.Contains(fmt.Sprint(o.After.Object["status"]), "used:map[pods:2]")
	})
	if !counted {
		t.Errorf("at the end the quota does not count two pods: %+v", p.Objects)
	}
}

// TestDeletedOnce: a pod without a node is gone at once, which the API server writes twice, and is one deletion.
func TestDeletedOnce(t *testing.T) {
	stuck := func(replicas int) string {
		return strings.Replace(deployment(replicas, "a"), "spec: {containers", "spec: {nodeSelector: {no: such}, containers", 1)
	}
	deleted := slices.DeleteFunc(outline(planOf(t, stuck(1), stuck(0), RunOptions{})), func(line string) bool {
		return !strings.Contains(line, " delete ")
	})
	if len(deleted) != 1 {
		t.Errorf("one pod is deleted %d times: %q", len(deleted), deleted)
	}
}

// TestSecretsAreHidden: no value of a Secret is in a plan.
func TestSecretsAreHidden(t *testing.T) {
	secret := func(value, more string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: " + value + ", same: constant" + more + "}\n"
	}
	p := planOf(t, secret("hunter1", ""), secret("hunter2", ", b: hunter3"), RunOptions{})
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"hunter", "constant", "aHVudGVy", "Y29uc3RhbnQ"} {
		if strings.Contains(string(text), value) {
			t.Errorf("the plan has a value of the Secret: %s", text)
		}
	}
	if len(p.Objects) != 1 || !p.Objects[0].Changed() {
		t.Errorf("that it changes is no secret: %+v", p.Objects)
	}
}

// TestBudgets: a rollout that makes fewer pods ready than a budget needs.
func TestBudgets(t *testing.T) {
	budget := `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: most}
spec: {minAvailable: 3, selector: {matchLabels: {app: web}}}
---`
	down := func(image string) string {
		return strings.Replace(deployment(4, image), "  replicas: 4", "  replicas: 4\n  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 2}}", 1)
	}
	p := planOf(t, budget+down("a"), down("b"), RunOptions{})
	if len(p.Budgets) != 1 || p.Budgets[0].Needs != 3 || p.Budgets[0].Lowest != 2 || p.Budgets[0].Before != 4 {
		t.Errorf("a budget of three of four, and two at a time: %+v", p.Budgets)
	}
	if len(p.Rollouts) != 1 || p.Rollouts[0].Lowest != 2 || p.Rollouts[0].After != 4 {
		t.Errorf("the rollout: %+v", p.Rollouts)
	}
}

// TestUnscheduled: where no node fits, that is said.
func TestUnscheduled(t *testing.T) {
	stuck := strings.Replace(deployment(1, "b"), "spec: {containers", "spec: {nodeSelector: {no: such}, containers", 1)
	p := planOf(t, deployment(1, "a"), stuck, RunOptions{})
	why := ""
	for i := range p.Objects {
		why += p.Objects[i].Unscheduled()
	}
	if !strings.Contains(why, "0/2 nodes are available") {
		t.Errorf("why the pod is not scheduled: %q", why)
	}
}
