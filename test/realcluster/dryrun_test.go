package realcluster

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

const (
	// dryRunner is the user that the plugin impersonates, by whom the audit log knows it.
	dryRunner = "dry-runner"
	// churned is the namespace that other clients write to meanwhile.
	churned = "churned"
)

// TestDryRunWritesNothing: every controller runs in dry run, on objects that give it something to do, while other
// clients write. By the API server's own audit log the plugin sends no write but as a dry run; and the store has every
// object in the version that it had. A copy of the cluster, on which all controllers run in the sandbox, takes no write at
// all.
func TestDryRunWritesNothing(t *testing.T) {
	t.Parallel()
	for mode, exit := range map[string]int{
		"server": 0,
		"client": 1, // no client can say what an aggregated role's server-side apply would have changed
		"copy":   0,
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			cluster, err := Start(t.Context(), Options{Log: t.Logf})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cluster.Stop() })
			populate(t, cluster)
			request(t, kubernetes.NewForConfigOrDie(cluster.Config()))
			before := stored(t, cluster)
			dryRunAmidChurn(t, cluster, mode, exit)
			after := stored(t, cluster)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the store has changed (-before +after):\n%s", diff)
			}
			judgeAudit(t, cluster, mode)
		})
	}
}

// dryRunAmidChurn runs all controllers for longer than any of their periods that matter here. The run must end with
// that exit code.
func dryRunAmidChurn(t *testing.T, cluster *Cluster, mode string, exit int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var churning sync.WaitGroup
	churning.Go(func() { churn(ctx, t, kubernetes.NewForConfigOrDie(cluster.Config())) })
	defer churning.Wait()
	defer stop()
	args := append([]string{
		"--controller", "*", "--dry-run", mode, "--until", "20s", "--qps=-1", "--as", dryRunner, "--as-group", "system:masters",
	}, cluster.Keys()...)
	if mode == "copy" {
		args = []string{"--sandbox", "--from-cluster", "--all-namespaces", "--controller", "*", "--until", "20s",
			"--as", dryRunner, "--as-group", "system:masters"}
	}
	run, err := cluster.StartRun(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	if _, err := run.Await(limited, "the end of the dry run", regexp.MustCompile(`(?m)^ended after `)); err != nil {
		complaints, _ := run.Complaints()
		printed, _ := run.Output()
		t.Fatalf("%v\n%s\n%s", err, complaints, printed)
	}
	<-run.process.done
	complaints, _ := run.Complaints()
	if code := run.process.cmd.ProcessState.ExitCode(); code != exit && !wasCancelled.MatchString(complaints) {
		t.Errorf("the dry run ended with %d, not %d: %s", code, exit, complaints)
	}
}

// wasCancelled matches what a run prints that has cancelled a write: on a slow machine one may take longer than
// controllers get to come to an end.
var wasCancelled = regexp.MustCompile(
	`(?s)stopping: [^\n]+ still at work.*could not be tried: [^\n]+: context canceled\s*$`)

// churn makes, changes and deletes objects until ctx ends.
func churn(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	t.Helper()
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: churned}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil {
		t.Error(err)
		return
	}
	deployments := client.AppsV1().Deployments(churned)
	for n := 0; ctx.Err() == nil; n++ {
		d := deployment()
		d.Name = fmt.Sprintf("web-%d", n)
		_, err1 := deployments.Create(ctx, d, metav1.CreateOptions{})
		_, err2 := deployments.Patch(ctx, d.Name, "application/merge-patch+json", []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
		err3 := deployments.Delete(ctx, d.Name, metav1.DeleteOptions{})
		for _, err := range []error{err1, err2, err3} {
			if err != nil && ctx.Err() == nil {
				t.Errorf("writing meanwhile: %v", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// populate makes objects that give every controller something to do.
func populate(t *testing.T, cluster *Cluster) {
	t.Helper()
	config := cluster.Config()
	client := dynamic.NewForConfigOrDie(config)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(config)))
	text, err := os.ReadFile("testdata/dryrun.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &obj.Object); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		mapping, err := mapper.RESTMapping(obj.GroupVersionKind().GroupKind(), obj.GroupVersionKind().Version)
		if err != nil {
			t.Fatal(err)
		}
		resource := dynamic.ResourceInterface(client.Resource(mapping.Resource))
		if obj.GetNamespace() != "" {
			resource = client.Resource(mapping.Resource).Namespace(obj.GetNamespace())
		}
		status, deleted := obj.Object["status"], obj.GetAnnotations()["test/deleted"] != ""
		made, err := resource.Create(t.Context(), obj, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("making %s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
		if status != nil {
			made.Object["status"] = status
			if _, err := resource.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
				t.Fatalf("giving %s %s a status: %v", obj.GetKind(), obj.GetName(), err)
			}
		}
		if deleted {
			foreground := metav1.DeletePropagationForeground
			if err := resource.Delete(t.Context(), obj.GetName(), metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
				t.Fatalf("deleting %s %s: %v", obj.GetKind(), obj.GetName(), err)
			}
		}
	}
}

// request makes a certificate signing request that is approved, and begins to delete a namespace that is not empty.
func request(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "somebody"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	requests := client.CertificatesV1().CertificateSigningRequests()
	csr, err := requests.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "somebody"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientSignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
		{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"},
	}
	if _, err := requests.UpdateApproval(t.Context(), csr.Name, csr, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "leaving", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// ownKeys are what kube-apiserver keeps writing for itself, and what the churn leaves.
var ownKeys = []string{
	"/registry/leases/kube-system/apiserver-", "/registry/peerserverleases/", "/registry/masterleases/", "/registry/health", "/registry/ranges/",
	"/registry/namespaces/" + churned, "/registry/configmaps/kube-system/kube-apiserver-legacy-service-account-token-tracking",
	"/registry/endpointslices/default/kubernetes", "/registry/services/endpoints/default/kubernetes",
	"compact_rev_key",
}

// stored are the versions of all objects in the store, by key; those that the API server or the churn writes left out.
func stored(t *testing.T, cluster *Cluster) map[string]int64 {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{cluster.Etcd()}, Context: t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	all, err := client.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, kv := range all.Kvs {
		key := string(kv.Key)
		own := slices.ContainsFunc(ownKeys, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
		if !own && !strings.Contains(key, "/"+churned+"/") {
			out[key] = kv.ModRevision
		}
	}
	return out
}

// audited is an event of the audit log, as far as it matters here.
type audited struct {
	Verb, RequestURI, UserAgent string
	ImpersonatedUser            *struct{ Username string }
	ObjectRef                   struct{ Resource, Subresource, APIGroup, Name string }
	RequestReceivedTimestamp    time.Time
	RequestObject               struct {
		Kind          string
		DryRun        []string
		DeleteOptions *struct{ DryRun []string }
	}
	ResponseStatus struct{ Code int }
}

// questions are creations of which the server keeps nothing.
var questions = []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews", "subjectaccessreviews", "tokenreviews"}

// wet says why an event is not one of a dry run; empty if it is.
func (a *audited) wet() string {
	at, err := url.Parse(a.RequestURI)
	if err != nil {
		return err.Error()
	}
	all := []string{"All"}
	if got := at.Query()["dryRun"]; !slices.Equal(got, all) {
		return fmt.Sprintf("dryRun in the query is %q", got)
	}
	if a.RequestObject.Kind == "DeleteOptions" && !slices.Equal(a.RequestObject.DryRun, all) {
		return fmt.Sprintf("dryRun in the body is %q", a.RequestObject.DryRun)
	}
	if o := a.RequestObject.DeleteOptions; o != nil && !slices.Equal(o.DryRun, all) {
		return fmt.Sprintf("dryRun in the eviction is %q", o.DryRun)
	}
	return ""
}

// mustTry are controllers that testdata/dryrun.yaml gives something to write, by the name in their user agent.
var mustTry = []string{
	"clusterrole-aggregation", "csrsigning", "cronjob", "daemonset", "deployment", "disruption", "endpoint",
	"endpointslice", "endpointslicemirroring", "garbagecollector", "job", "namespace", "node-lifecycle", "podgc", "replicaset",
	"replicationcontroller", "resourcequota", "root-ca-cert-publisher", "serviceaccount", "serviceaccount-token", "statefulset",
	"ttl", "ttl-after-finished",
}

// judgeAudit reads what the plugin's user has sent that may change something.
func judgeAudit(t *testing.T, cluster *Cluster, mode string) {
	t.Helper()
	log, err := os.ReadFile(cluster.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]map[string]int{}
	for line := range bytes.Lines(log) {
		var a audited
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatalf("line %q of the audit log: %v", line, err)
		}
		if a.ImpersonatedUser == nil || a.ImpersonatedUser.Username != dryRunner || slices.Contains(questions, a.ObjectRef.Resource) {
			continue
		}
		if why := a.wet(); why != "" {
			t.Errorf("a write that is no dry run, as %s: %s", why, line)
		}
		_, controller, _ := strings.Cut(a.UserAgent, "kubectl-reconcile ")
		if tried[controller] == nil {
			tried[controller] = map[string]int{}
		}
		tried[controller][fmt.Sprintf("%s %s/%s", a.Verb, a.ObjectRef.Resource, a.ObjectRef.Subresource)]++
	}
	if mode == "client" || mode == "copy" {
		if len(tried) > 0 {
			t.Errorf("writes were sent: %v", tried)
		}
		return
	}
	for _, controller := range slices.Sorted(maps.Keys(tried)) {
		t.Logf("%-28s %v", controller, tried[controller])
	}
	for _, controller := range mustTry {
		if len(tried[controller]) == 0 {
			t.Errorf("%s tried no write: nothing is proven of it", controller)
		}
	}
}
