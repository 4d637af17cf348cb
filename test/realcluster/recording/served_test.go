package recording

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
)

// manifests are what is recorded and asked for. Secrets are left out: a recording has no values of them.
const manifests = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "web:1", env: [{name: LEVEL, value: debug}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {mode: fast, text: "one\ntwo\n"}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: default}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "once:1"}]}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Boat, plural: boats, singular: boat}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {length: {type: integer}}}}}}
    additionalPrinterColumns: [{name: Length, type: integer, jsonPath: .spec.length}]
`

// boat is of a kind that is not there when the recording begins.
const boat = `
apiVersion: example.com/v1
kind: Boat
metadata: {name: one, namespace: default}
spec: {length: 12}
`

// questions are what kubectl is asked, at each moment.
var questions = []string{
	"get pods", "get pods -o wide", "get pods -o yaml", "get pods -o yaml --show-managed-fields", "get pods -A",
	"get deployments,replicasets -o wide", "get deployment web -o yaml --show-managed-fields", "get deployment web -o json",
	"get services,endpointslices", "get service web -o yaml", "get configmap settings -o yaml", "get jobs", "get all",
	"get pods -l app=web --show-labels", "get pods --field-selector status.phase=Running -o name",
	"get nodes", "get nodes -o wide", "get namespaces", "get boats", "get boats -o yaml",
	"describe deployment web", "describe pods", "describe replicasets", "describe service web", "describe job once",
	"describe configmap settings", "describe boats",
}

// podsWatched has kubectl print the pods as they change.
var podsWatched = []string{"get", "pods", "-w", "--output-watch-events"}

// asker asks kubectl.
type asker struct {
	kubectl string
	home    string // for kubectl's cache of what a server has
}

// run runs kubectl, and returns what it printed.
func (a asker) run(ctx context.Context, t *testing.T, kubeconfig, input string, args ...string) string {
	t.Helper()
	cmd := a.command(ctx, kubeconfig, args...)
	cmd.Stdin = strings.NewReader(input)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, &errOut)
	}
	return out.String()
}

func (a asker) command(ctx context.Context, kubeconfig string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, a.kubectl, append([]string{"--kubeconfig", kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+a.home)
	return cmd
}

// answers are what kubectl answers all questions.
func (a asker) answers(ctx context.Context, t *testing.T, kubeconfig string) []string {
	t.Helper()
	out := make([]string, len(questions))
	for i, question := range questions {
		out[i] = withoutAges(a.run(ctx, t, kubeconfig, "", strings.Fields(question)...))
	}
	return out
}

var (
	ages   = regexp.MustCompile(`\b([0-9]+(d|h|m|s|ms|y))+\b|<(unknown|invalid)>`)
	blanks = regexp.MustCompile(` +`)
)

// withoutAges replaces times that have passed, and what is as wide as they are.
func withoutAges(text string) string {
	return blanks.ReplaceAllString(ages.ReplaceAllString(text, "AGE"), " ")
}

// quiet waits until nothing has changed for some time.
func (a asker) quiet(ctx context.Context, t *testing.T, kubeconfig string) {
	t.Helper()
	before := ""
	for deadline := time.Now().Add(patience); ; {
		now := a.run(ctx, t, kubeconfig, "", "get", "all,events,endpointslices,nodes", "-A", "-o", "yaml")
		if now == before {
			return
		}
		if before = now; time.Now().After(deadline) {
			t.Fatal("the cluster does not come to rest")
		}
		select {
		case <-ctx.Done():
		case <-time.After(1500 * time.Millisecond):
		}
	}
}

// TestServed: kubectl is answered by a recording that is served as by the cluster at that time.
func TestServed(t *testing.T) {
	ctx, cluster, program := start(t, realcluster.Options{
		Controllers: []string{"deployment-controller", "replicaset-controller", "endpointslice-controller", "job-controller"},
		Scheduler:   true, Nodes: 2,
	})
	programs, err := realcluster.Build(ctx, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	asked, served := asker{programs.Path("kubectl"), dir}, asker{programs.Path("kubectl"), filepath.Join(dir, "served")}
	live := cluster.Kubeconfig()
	asked.run(ctx, t, live, "", "run", "first", "--image=first:1")
	asked.run(ctx, t, live, "", "wait", "--for=condition=Ready", "pod/first")
	file := filepath.Join(dir, "served.krec")
	r := record(ctx, t, program, live, file, "-A")
	watch := follow(ctx, t, asked, live, podsWatched...)

	asked.run(ctx, t, live, manifests, "apply", "-f", "-")
	asked.run(ctx, t, live, "", "wait", "--for=condition=Established", "crd/boats.example.com")
	asked.run(ctx, t, live, boat, "apply", "-f", "-")
	asked.run(ctx, t, live, "", "rollout", "status", "deployment/web")
	var moments []time.Time
	var want [][]string
	save := func() {
		asked.quiet(ctx, t, live)
		want = append(want, asked.answers(ctx, t, live))
		moments = append(moments, time.Now())
		if again := asked.answers(ctx, t, live); !slices.Equal(again, want[len(want)-1]) {
			t.Logf("the cluster has changed while it was asked")
			want[len(want)-1] = again
			moments[len(moments)-1] = time.Now()
		}
	}
	save()
	asked.run(ctx, t, live, "", "set", "image", "deployment/web", "main=web:2")
	asked.run(ctx, t, live, "", "rollout", "status", "deployment/web")
	asked.run(ctx, t, live, "", "delete", "job/once", "--cascade=foreground", "--wait=false")
	asked.run(ctx, t, live, "", "scale", "deployment/web", "--replicas=2")
	save()
	recorded := watch.end(t)
	if err := r.interrupt(); err != nil {
		t.Fatal(err)
	}
	for i, moment := range moments {
		at := moment.UTC().Format(time.RFC3339Nano)
		kubeconfig, stop := serve(ctx, t, program, file, "--at", at)
		got := served.answers(ctx, t, kubeconfig)
		stop()
		for n, question := range questions {
			if diff := cmp.Diff(want[i][n], got[n]); diff != "" {
				t.Errorf("moment %d, kubectl %s (-cluster +served):\n%s", i+1, question, diff)
			}
		}
	}
	t.Run("watch", func(t *testing.T) {
		kubeconfig, stop := serve(ctx, t, program, file, "--at", "start", "--speed", "20", "--paused")
		defer stop()
		again := follow(ctx, t, served, kubeconfig, podsWatched...)
		served.run(ctx, t, kubeconfig, "", "create", "--raw", "/playback/play", "-f", os.DevNull)
		again.await(t, strings.Count(recorded, "\n"))
		got := again.end(t)
		if diff := cmp.Diff(withoutAges(recorded), withoutAges(got)); diff != "" {
			t.Errorf("kubectl get -w (-cluster +served):\n%s", diff)
		}
	})
	t.Logf("%d answers of kubectl at %d moments, and %d lines of get -w",
		len(questions)*len(moments), len(moments), strings.Count(recorded, "\n"))
}

// follower is a kubectl that watches.
type follower struct {
	cmd  *exec.Cmd
	out  *lockedBuffer
	done chan struct{}
}

// follow starts a kubectl that watches, and returns when it has printed something.
func follow(ctx context.Context, t *testing.T, a asker, kubeconfig string, args ...string) *follower {
	t.Helper()
	f := &follower{cmd: a.command(ctx, kubeconfig, args...), out: &lockedBuffer{}, done: make(chan struct{})}
	f.cmd.Stdout, f.cmd.Stderr = f.out, f.out
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(f.done)
		_ = f.cmd.Wait() // it is killed
	}()
	f.await(t, 1)
	return f
}

// await waits until so many lines are printed.
func (f *follower) await(t *testing.T, lines int) {
	t.Helper()
	printed := func(context.Context) (bool, error) { return strings.Count(f.out.String(), "\n") >= lines, nil }
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, printed); err != nil {
		t.Fatalf("kubectl has not printed %d lines:\n%s", lines, f.out)
	}
}

// end ends kubectl, and returns what it printed.
func (f *follower) end(t *testing.T) string {
	t.Helper()
	if err := f.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-f.done
	return f.out.String()
}

// serve serves a recording, until the returned function is called.
func serve(ctx context.Context, t *testing.T, program, file string, args ...string) (kubeconfig string, stop func()) {
	t.Helper()
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	args = append([]string{"replay", file, "--serve", "--kubeconfig-out", kubeconfig}, args...)
	cmd := exec.CommandContext(ctx, program, args...)
	var out, errOut lockedBuffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // how it ended is in ProcessState
	}()
	for deadline := time.Now().Add(patience); !strings.Contains(out.String(), "export KUBECONFIG"); {
		select {
		case <-done:
			t.Fatalf("serving has ended:\n%s", &errOut)
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("the recording is not served:\n%s", &errOut)
		}
	}
	return kubeconfig, func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(fmt.Errorf("ending what serves: %w", err))
		}
		<-done
	}
}
