package controllerruntime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// buildOperator builds the operator, and returns its file.
func buildOperator(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "website-controller")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./operator").CombinedOutput(); err != nil {
		t.Fatalf("building the operator: %v\n%s", err, out)
	}
	return path
}

// start runs a program until the returned function is called, which interrupts it and returns what it printed.
func start(t *testing.T, kubeconfig, name string, args ...string) (stop func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	endWithParent(cmd)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stopped := false
	stop = func() string {
		if stopped {
			return out.String()
		}
		stopped = true
		cancel()
		if err := <-ended; !cmd.ProcessState.Success() {
			t.Errorf("%s: %v\n%s", filepath.Base(name), err, &out)
		}
		return out.String()
	}
	t.Cleanup(func() { stop() })
	return stop
}

// writeKubeconfig writes a kubeconfig, and returns its file.
func writeKubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	kubeconfig := api.NewConfig()
	kubeconfig.Clusters["c"] = &api.Cluster{
		Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile,
	}
	kubeconfig.AuthInfos["c"] = &api.AuthInfo{
		Token: config.BearerToken, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData,
	}
	kubeconfig.Contexts["c"] = &api.Context{Cluster: "c", AuthInfo: "c"}
	kubeconfig.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// recordOperator records the operator while it works through the life of a Website, and returns the file. Flags are
// those of the sandbox: with a controller of Deployments, these get ready by themselves.
func recordOperator(t *testing.T, operator string, deploys bool, flags ...string) string {
	t.Helper()
	config := startSandbox(t, flags...)
	kubeconfig := writeKubeconfig(t, config)
	file := filepath.Join(t.TempDir(), "website.rec")
	stopRecorder := start(t, kubeconfig, "kubectl-reconcile", "record", "-A", "-o", file)
	eventually(t, func(context.Context) error {
		_, err := os.Stat(file)
		return err
	})
	stopOperator := start(t, kubeconfig, operator)
	c := newClient(t, config)

	blog, wiki := newSite("blog"), newSite("wiki")
	create(t, c, blog)
	eventuallyObject(t, c, blog, wantReady("ContentMissing"))
	create(t, c, newContent("files"))
	reason := "AllReady"
	if !deploys {
		reason = "Progressing"
	}
	eventuallyObject(t, c, blog, wantReady(reason))
	create(t, c, wiki)
	eventuallyObject(t, c, wiki, wantReady(reason))
	deployed := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "blog", Namespace: namespace}}
	if !deploys {
		updateStatus(t, c, deployed, func() {
			deployed.Status = appsv1.DeploymentStatus{ObservedGeneration: deployed.Generation, Replicas: 1, ReadyReplicas: 1}
		})
	}
	eventuallyObject(t, c, blog, wantReady("AllReady"))
	update(t, c, blog, func() { blog.Spec.Replicas = new(int32(3)) })
	eventuallyObject(t, c, deployed, wantReplicas(3))
	if deploys {
		eventuallyObject(t, c, blog, wantReady("AllReady"))
	}
	update(t, c, deployed, func() { deployed.Spec.Replicas = new(int32(7)) })
	eventuallyObject(t, c, deployed, wantReplicas(3))
	if err := c.Delete(t.Context(), wiki); err != nil {
		t.Fatal(err)
	}
	eventuallyGone(t, c, wiki)
	if deploys {
		eventuallyObject(t, c, deployed, func(d *appsv1.Deployment) error {
			get(t, c, blog)
			s := &d.Status
			if s.ObservedGeneration != d.Generation || s.Replicas != 3 || s.ReadyReplicas != 3 || blog.Status.ReadyReplicas != 3 {
				return fmt.Errorf("deployment %+v, website %+v", s, blog.Status)
			}
			return wantReady("AllReady")(blog)
		})
	}
	stopOperator()
	t.Log(stopRecorder())
	return file
}

// comparison is what `replay --serve -- COMMAND -o json` prints, as far as the tests read it.
type comparison struct {
	Same   bool
	Counts struct{ Keys, Different, Same, Other, Missing, Extra, Uncompared, NotCompared int }
	Keys   []struct {
		Key     string
		Other   *struct{ Recorded, Replayed comparedWrite }
		Missing []comparedWrite
		Extra   []comparedWrite
		Repeats *struct{ Writes int }
	}
}

type comparedWrite struct {
	Verb   string
	Object struct{ ObjectKind, Name string }
	Causes []struct {
		Watch struct{ Event, ObjectKind, Name string }
	}
}

// replay lets the operator run on a recording, and returns the result and the exit code.
func replay(t *testing.T, file string, flags []string, command ...string) (comparison, int) {
	t.Helper()
	args := append([]string{"replay", file, "--serve", "-o", "json", "--manager", "website-controller,website-operator"}, flags...)
	cmd := exec.CommandContext(t.Context(), "kubectl-reconcile", append(append(args, "--"), command...)...)
	endWithParent(cmd)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := cmd.Output()
	exited := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	var got comparison
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&got); err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("exit code %d; %s%s", cmd.ProcessState.ExitCode(), out, &messages)
	return got, cmd.ProcessState.ExitCode()
}

// TestReplay: the operator on a recording of itself makes the same writes; with a bug the first that differs is named,
// with what it was made for.
func TestReplay(t *testing.T) {
	t.Parallel()
	operator := buildOperator(t)
	file := recordOperator(t, operator, false, apiAlone()...)

	got, code := replay(t, file, nil, operator)
	if code != 0 || !got.Same || got.Counts.Same < 12 {
		t.Errorf("The operator differs from itself, or too little was compared: exit code %d, %+v", code, got.Counts)
	}
	for _, test := range []struct{ bug, want string }{
		{"replicas", "Website default/blog other create Deployment blog, create Deployment blog for ADDED ConfigMap files"},
		{"status", "Website default/blog missing update status Website blog for ADDED Website blog"},
		{"extra", "ConfigMap default/blog-extra extra create ConfigMap blog-extra for ADDED ConfigMap files"},
	} {
		t.Run(test.bug, func(t *testing.T) {
			t.Parallel()
			got, code := replay(t, file, nil, operator, "-bug", test.bug)
			if code != 1 || got.Same {
				t.Fatalf("exit code %d, want 1: %+v", code, got.Counts)
			}
			if text := got.first(); text != test.want {
				t.Errorf("first difference: %s\nwant: %s", text, test.want)
			}

			accepted := copyFile(t, file)
			got, code = replay(t, accepted, []string{"--accept"}, operator, "-bug", test.bug)
			if code != 0 || !got.Same {
				t.Errorf("what was accepted differs: exit code %d: %+v", code, got.Counts)
			}
			if got, code = replay(t, accepted, nil, operator); code != 1 || got.Same {
				t.Errorf("the operator without the bug is the same as with it: exit code %d: %+v", code, got.Counts)
			}
		})
	}
}

// TestReplayBugs: each bug that can be seen in writes is named by a recording of the operator without it, whether its
// pods get ready at once or later. It takes minutes, most of which the replays wait for what does not come.
func TestReplayBugs(t *testing.T) {
	t.Parallel()
	operator := buildOperator(t)
	for _, ready := range []string{"0s", "2500ms"} {
		t.Run("pods ready after "+ready, func(t *testing.T) {
			t.Parallel()
			file := recordOperator(t, operator, true, "--controller", "deployment,replicaset,garbagecollector", "--nodes", "1",
				"--pod-ready-after", ready, "--disable-admission-plugins", "ServiceAccount")
			var running errgroup.Group
			running.SetLimit(4)
			for _, test := range replayedBugs {
				running.Go(func() error {
					got, code := replay(t, file, nil, operator, "-bug", test.bug)
					if text := got.all(); code != test.code || !strings.Contains(text, test.want) {
						t.Errorf("%s: %s: exit code %d, want %d, and %s in:\n%s", test.bug, test.reason, code, test.code, test.want, text)
					}
					return nil
				})
			}
			_ = running.Wait() // what fails is reported
		})
	}
}

// replayedBugs are what the operator may do wrong, with a part of what is said of it.
var replayedBugs = []struct {
	bug    string
	code   int
	want   string
	reason string
}{
	{"", 0, "", "the operator is the same as itself"},
	{"replicas", 1, "Website default/blog other create Deployment blog", "a wrong field"},
	{"owner-uid", 1, "Website default/blog other create Deployment blog", "a wrong owner"},
	{"extra", 1, "extra create ConfigMap blog-extra", "an object too many"},
	{"duplicates", 1, "extra create ConfigMap ", "objects with generated names, again and again"},
	{"fight", 1, "Website default/blog other create Deployment blog", "two contents in turn, each of which is refused"},
	{"status", 1, "missing update status Website blog", "no status"},
	{"no-generation", 1, "other update status Website ", "a status without the generation that it is about"},
	{"early", 1, "update status Website blog", "a status that is right later, and was made before what it is about"},
	{"unready", 1, "other update status Website ", "a status that is wrong, and within a second before the right one"},
	{"no-finalizer", 1, "missing update Website blog", "no finalizer"},
	{"keep-finalizer", 1, "missing update Website wiki", "a finalizer that is not removed"},
	{"no-clean-up", 1, "missing delete ConfigMap host-wiki.example.com", "what has no owner is left"},
	{"no-watch", 1, "missing ", "what happens to what it has made goes unnoticed"},
	{"hot-loop", 1, "extra update Website blog", "a write again and again"},
	{"requeue", 0, "repeats", "writes that change nothing can be seen; whether they were recorded cannot"},
	// The API refuses the writes of an old version, and records none: they cannot be seen but in what does not come.
	{"storm", 0, "", "what the API itself refuses is no write"},
}

func copyFile(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.rec")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// first describes the first difference.
func (c *comparison) first() string { return strings.Split(c.all()+"none", "\n")[0] }

// all describes all differences, a line each.
func (c *comparison) all() string {
	var out []string
	for _, k := range c.Keys {
		if k.Other != nil {
			out = append(out, fmt.Sprintf("%s other %s, %s", k.Key, k.Other.Recorded.what(), &k.Other.Replayed))
		}
		for _, w := range k.Missing {
			out = append(out, fmt.Sprintf("%s missing %s", k.Key, &w))
		}
		for _, w := range k.Extra {
			out = append(out, fmt.Sprintf("%s extra %s", k.Key, &w))
		}
		if k.Repeats != nil {
			out = append(out, k.Key+" repeats")
		}
	}
	return strings.Join(append(out, ""), "\n")
}

func (w *comparedWrite) what() string {
	return w.Verb + " " + w.Object.ObjectKind + " " + w.Object.Name
}

// String returns what was written, and for what.
func (w *comparedWrite) String() string {
	if len(w.Causes) == 0 {
		return w.what() + " for nothing"
	}
	watch := w.Causes[0].Watch
	return fmt.Sprintf("%s for %s %s %s", w.what(), watch.Event, watch.ObjectKind, watch.Name)
}
