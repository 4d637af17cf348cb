package realcluster

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// reading is a command that only reads.
type reading struct {
	name string
	args string // separated by blanks
	exit int
	says string // in what it prints to stdout or stderr
	// by is the group that its user is in; the default is that of users who may do everything.
	by string
	// tries is what it must try in dry run: a verb and a resource; empty if nothing must be.
	tries string
	// during is the request during which it is interrupted: its answer is held back until the command has ended. Its URL
	// contains this, after the method.
	during string
	// serves is what it prints when it serves, whereupon it is interrupted.
	serves string
}

const (
	// readerPrefix begins the names of the users that the commands impersonate, by which the audit log knows them.
	readerPrefix = "reader-"
	// viewers may read what most users may, but no Secrets, and change nothing.
	viewers = "viewers"
	// strangers may not even read.
	strangers = "strangers"
	// deployments is where the Deployments of the namespace shop are.
	deploymentsOfShop = "/apis/apps/v1/namespaces/shop/deployments"
)

// readOnly are the commands beside `run`, `tree` and `status` that read a cluster, and what can go wrong with them.
var readOnly = []reading{
	{name: "diff", args: "diff -n shop", exit: 1, says: "to create"},
	{name: "diff-all", args: "diff -A", exit: 1, says: "to create"},
	{name: "diff-type", args: "diff deployments -n shop", exit: 1, says: "to create"},
	{name: "diff-name", args: "diff deploy/web -n shop --until settled", exit: 1, says: "to create"},
	{name: "diff-file", args: "diff -n shop -f web.yaml", exit: 1, says: "~ Deployment web", tries: "patch deployments"},
	{
		name: "diff-file-server-side", exit: 1, says: "~ Deployment web", tries: "patch deployments",
		args: "diff -n shop -f web.yaml --server-side --force-conflicts --field-manager ci",
	},
	{
		name: "diff-file-new", exit: 1, says: `"name": "new"`, tries: "create deployments",
		args: "diff -n shop -f new.yaml -o json",
	},
	{
		name: "diff-file-admission", exit: 1, says: "the cluster's admission refuses", tries: "create pods",
		args: "diff -n shop -f judged.yaml",
	},
	{
		name: "diff-prune", args: "diff -n shop -f new.yaml --prune", exit: 1, says: "+ Deployment new",
		tries: "create deployments",
	},
	{name: "diff-kustomize", args: "diff -n shop -k .", exit: 1, says: "~ Deployment web", tries: "patch deployments"},
	{
		name: "run-copy", says: "ended after",
		args: "run --sandbox --from-cluster -n shop --controller * --until 1s",
	},
	{
		name: "run-copy-apply", says: "ended after",
		args: "run --sandbox --from-cluster -n shop --controller * --until 1s -f new.yaml",
	},
	{
		name: "sandbox-copy", args: "sandbox --from-cluster -A --controller * --kubeconfig-out sandbox.kubeconfig",
		serves: "sandbox.kubeconfig",
	},
	{name: "why", args: "why deploy/web -n shop", says: "has not converged"},
	{
		name: "why-try", args: "why deploy/web -n shop --try always", says: "has not converged",
		tries: "create replicasets",
	},
	{name: "why-json", args: "why pod/unscheduled -n shop -o json", says: "example.com/hold"},
	{name: "why-node", args: "why node/node-1", says: "Node node-1"},
	{name: "why-namespace", args: "why namespace/leaving", says: "is being deleted"},
	{name: "why-field", args: "why deploy/web -n shop --field spec.replicas", says: "spec.replicas is 3"},
	{
		name: "why-watch", args: "why deploy/web -n shop -w --timeout 3s", exit: 1,
		says: "has not converged within 3s",
	},

	{name: "why-nothing", args: "why deploy/nothing -n shop", exit: 1, says: `error: `},
	{name: "why-no-kind", args: "why deploymnt/web -n shop", exit: 1, says: "did you mean"},
	{name: "why-no-field", args: "why deploy/web -n shop --field spec.replica", exit: 1, says: "replicas"},
	{name: "diff-nothing", args: "diff deploy/nothing -n shop", exit: 2, says: "error: "},
	{name: "diff-no-namespace", args: "diff -n nowhere", exit: 2, says: "nowhere"},
	{
		name: "diff-invalid", args: "diff -n shop -f invalid.yaml", exit: 2, says: "invalid.yaml",
		tries: "patch deployments",
	},
	{name: "diff-no-file", args: "diff -n shop -f nothing.yaml", exit: 2, says: "nothing.yaml"},
	{name: "diff-too-many", args: "diff -n shop --max-objects 3", exit: 2, says: "--max-objects"},
	{
		name: "run-copy-nothing", args: "run --sandbox --from-cluster -n nowhere --controller * --until 1s",
		exit: 1, says: "nowhere",
	},

	{name: "why-viewer", args: "why deploy/web -n shop", by: viewers, says: "has not converged"},
	{name: "diff-viewer", args: "diff -n shop", by: viewers, exit: 1, says: "secrets"},
	{
		name: "diff-file-viewer", args: "diff -n shop -f web.yaml", by: viewers,
		exit: 2, says: "cannot patch", tries: "patch deployments",
	},
	{name: "why-stranger", args: "why deploy/web -n shop", by: strangers, exit: 1, says: "no permission to get"},
	{
		name: "why-field-stranger", args: "why deploy/web -n shop --field spec", by: strangers, exit: 1,
		says: "no permission to get",
	},
	{name: "diff-stranger", args: "diff -n shop", by: strangers, exit: 2, says: "forbidden"},

	{name: "why-interrupted", args: "why deploy/web -n shop", exit: 1, during: "GET /api/v1/namespaces/shop/pods"},
	{
		name: "why-watch-interrupted", args: "why deploy/web -n shop -w", exit: 1,
		serves: "has not converged",
	},
	{name: "diff-interrupted", args: "diff -n shop", exit: 2, during: "GET /api/v1/namespaces/shop/pods"},
	{
		name: "diff-file-interrupted", args: "diff -n shop -f web.yaml", exit: 2,
		during: "PATCH " + deploymentsOfShop, tries: "patch deployments",
	},
	{
		name: "run-copy-interrupted", exit: 1, during: "GET /api/v1/namespaces/shop/configmaps",
		args: "run --sandbox --from-cluster -n shop --controller * --until 1s",
	},
	{
		name: "sandbox-copy-interrupted", exit: 1, during: "GET /api/v1/namespaces/shop/configmaps",
		args: "sandbox --from-cluster -n shop --controller *",
	},
}

// TestReadingWritesNothing: by the API server's own audit log, the commands that only read send no write but as a dry
// run, whatever goes wrong; and the store has every object in the version that it had.
func TestReadingWritesNothing(t *testing.T) {
	t.Parallel()
	program, err := BuildPlugin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := Start(context.WithoutCancel(t.Context()), Options{Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Stop() })
	populate(t, cluster)
	client := kubernetes.NewForConfigOrDie(cluster.Config())
	request(t, client)
	letView(t, client)
	refusePods(t, client)
	writeManifests(t, cluster.Dir())
	before := stored(t, cluster)
	t.Run("commands", func(t *testing.T) {
		for _, a := range readOnly {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				a.ask(t, cluster, program)
			})
		}
	})
	if diff := cmp.Diff(before, stored(t, cluster)); diff != "" {
		t.Errorf("the store has changed (-before +after):\n%s", diff)
	}
	tried := triedBy(t, cluster)
	for _, a := range readOnly {
		if a.tries != "" && !slices.Contains(tried[readerPrefix+a.name], a.tries) {
			t.Errorf("%s did not try to %s: nothing is proven of it; it tried %v", a.name, a.tries, tried[readerPrefix+a.name])
		}
	}
}

// letView lets viewers view.
func letView(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: viewers}, Rules: []rbacv1.PolicyRule{
		{
			APIGroups: []string{""}, Verbs: []string{"get", "list", "watch"},
			Resources: []string{"configmaps", "events", "namespaces", "nodes", "pods", "serviceaccounts", "services"},
		},
		{APIGroups: []string{"apps", "batch"}, Verbs: []string{"get", "list", "watch"}, Resources: []string{"*"}},
	}}
	if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: viewers},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: viewers},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: viewers}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// refusePods makes a webhook that refuses the pods of judged.yaml, as it does not answer.
func refusePods(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	address, none := "https://127.0.0.1:1/", admissionv1.SideEffectClassNone
	hooks := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := hooks.Create(t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "judge"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "pods.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: &address},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "judged"}},
			SideEffects:    &none, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// writeManifests writes what the commands apply: the Deployment of testdata/dryrun.yaml with another image, one that is
// not there yet, and one that is refused.
func writeManifests(t *testing.T, dir string) {
	t.Helper()
	const manifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: LABEL}}
    spec: {containers: [{name: c, image: j}]}
`
	for file, text := range map[string]string{
		"web.yaml":           strings.NewReplacer("NAME", "web", "LABEL", "web").Replace(manifest),
		"judged.yaml":        strings.NewReplacer("NAME", "judged", "LABEL", "judged").Replace(manifest),
		"new.yaml":           strings.NewReplacer("NAME", "new", "LABEL", "new").Replace(manifest),
		"invalid.yaml":       strings.NewReplacer("NAME", "web", "LABEL", "other").Replace(manifest),
		"kustomization.yaml": "resources: [web.yaml]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// readTimeout bounds a command.
const readTimeout = 2 * time.Minute

// ask runs the command to its end.
func (a *reading) ask(t *testing.T, cluster *Cluster, program string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readTimeout)
	defer cancel()
	group := a.by
	if group == "" {
		group = "system:masters"
	}
	args := append(strings.Fields(a.args),
		"--as", readerPrefix+a.name, "--as-group", group, "--as-group", "system:authenticated")
	var reached <-chan struct{}
	if a.during != "" {
		var address string
		address, reached = held(t, cluster, a.during)
		args = append(args, "--server", address)
	}
	printed := &awaited{text: a.serves, found: make(chan struct{})}
	if a.serves != "" {
		reached = printed.found
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = cluster.Dir(), printed, printed
	cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig(), "HOME="+cluster.Dir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if reached != nil {
		select {
		case <-reached:
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		case <-ctx.Done():
			t.Errorf("what it is to be interrupted in does not come: %q", a.during+a.serves)
		}
	}
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != a.exit || !strings.Contains(printed.String(), a.says) {
		t.Errorf("%q ended with %d, want %d and %q:\n%s", a.args, code, a.exit, a.says, printed)
	}
}

// awaited is a buffer that closes a channel when it has a text.
type awaited struct {
	text  string
	found chan struct{}

	mu     sync.Mutex
	buffer bytes.Buffer
	closed bool
}

func (w *awaited) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.buffer.Write(data)
	if w.text != "" && !w.closed && bytes.Contains(w.buffer.Bytes(), []byte(w.text)) {
		w.closed = true
		close(w.found)
	}
	return n, err
}

func (w *awaited) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buffer.String()
}

// held is the address of a server that answers as the control plane does, but for the first request whose method and
// path begin with a text: when that has been answered the channel is closed, and the answer is held back until its
// client has gone.
func held(t *testing.T, cluster *Cluster, during string) (address string, reached <-chan struct{}) {
	t.Helper()
	answered := make(chan struct{})
	var once sync.Once
	proxy := proxyTo(t, cluster)
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) {} // its client has gone
	proxy.ModifyResponse = func(r *http.Response) error {
		if !strings.HasPrefix(r.Request.Method+" "+r.Request.URL.Path, during) {
			return nil
		}
		once.Do(func() {
			close(answered)
			<-r.Request.Context().Done()
		})
		return nil
	}
	return serve(t, proxy), answered
}

// triedBy are the verbs and resources that users of the commands have tried in dry run, by user. A write that is not
// one is an error.
func triedBy(t *testing.T, cluster *Cluster) map[string][]string {
	t.Helper()
	tried := map[string][]string{}
	for _, a := range audit(t, cluster) {
		if a.ImpersonatedUser == nil || !strings.HasPrefix(a.ImpersonatedUser.Username, readerPrefix) ||
			slices.Contains(questions, a.ObjectRef.Resource) {
			continue
		}
		user := a.ImpersonatedUser.Username
		if why := a.wet(); why != "" {
			t.Errorf("%s wrote, and not in dry run: %s: %s %s", user, why, a.Verb, a.RequestURI)
		}
		tried[user] = append(tried[user], a.Verb+" "+a.ObjectRef.Resource)
	}
	return tried
}
