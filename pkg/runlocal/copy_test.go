package runlocal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// quiet is for how long a copy that is left alone is watched after it has settled.
const quiet = 3 * time.Second

// healthyNamespace is one of everything that controllers look after, and that can be healthy.
const healthyNamespace = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: limits, namespace: shop}
spec: {hard: {pods: "50", requests.cpu: "20", count/deployments.apps: "5", persistentvolumeclaims: "9"}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: defaults, namespace: shop}
spec: {limits: [{type: Container, default: {cpu: 100m}, defaultRequest: {cpu: 100m}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {mode: fast}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: shop}
data: {password: c2VjcmV0}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1"}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 3
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: "db:1", volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec: {clusterIP: None, selector: {app: db}, ports: [{port: 5432}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: shop}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: "agent:1"}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: shop}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: "job:1"}]}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: yearly, namespace: shop}
spec: {schedule: "0 0 1 1 *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "job:1"}]}}}}}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: shop, finalizers: [example.com/hold]}
spec: {size: 3}
`

// copyOf reads a copy of a session's API.
func copyOf(t *testing.T, s *Session, o seed.Options) *seed.Copy {
	t.Helper()
	return copyAs(t, s, "", o)
}

// copyAs reads a copy as a user, or with an empty name as the administrator.
func copyAs(t *testing.T, s *Session, user string, o seed.Options) *seed.Copy {
	t.Helper()
	ctx := within(t)
	config := s.Config()
	config.Impersonate.UserName = user
	kinds, err := cluster.Discover(ctx, config)
	for apierrors.IsForbidden(err) { // until the role that lets all users discover is in force
		kinds, err = cluster.Discover(ctx, config)
	}
	if err != nil {
		t.Fatal(err)
	}
	reader, err := cluster.NewReader(config)
	if err != nil {
		t.Fatal(err)
	}
	o.Kinds, o.Reader = kinds, reader
	c, err := seed.Read(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// writes is a trace.Sink of the writes of all controllers, Leases left out, which nodes renew.
type writes struct {
	mu  sync.Mutex
	all []string
}

func (w *writes) Record(e *trace.Event) {
	r, ok := e.Detail.(*trace.Request)
	if !ok || !r.ChangesObjects() || r.Resource == "leases" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, fmt.Sprintf("%s: %s %s/%s %s/%s: %d %s", e.Controller, r.Verb, r.Resource, r.Subresource,
		r.Namespace, r.Name, r.Code, r.Message))
}

func (w *writes) list() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all)
}

// staysQuiet waits until the session has settled, and then until it has been quiet for long enough, or has written.
func staysQuiet(ctx context.Context, t *testing.T, s *Session, w *writes) {
	t.Helper()
	if err := s.WaitSettled(ctx); err != nil {
		t.Fatalf("settling: %v; busy are %v", err, s.State().Busy())
	}
	since := time.Now()
	err := s.poll(ctx, func() (bool, error) { return len(w.list()) > 0 || time.Since(since) > quiet, nil })
	if err != nil {
		t.Fatal(err)
	}
}

// changed returns what differs between two copies, Leases left out.
func changed(t *testing.T, before, after *seed.Copy) string {
	t.Helper()
	fields := func(c *seed.Copy) map[string]any {
		out := map[string]any{}
		for i := range c.Objects {
			o := &c.Objects[i]
			if o.Kind.Resource == "leases" || o.Kind.Group == "rbac.authorization.k8s.io" {
				continue // written by components, and by the API server for some time after its start
			}
			var decoded any
			if err := json.Unmarshal(o.JSON, &decoded); err != nil {
				t.Fatal(err)
			}
			out[o.Kind.GroupResource().String()+" "+o.Namespace+"/"+o.Name] = decoded
		}
		return out
	}
	return cmp.Diff(fields(before), fields(after))
}

// TestCopyStaysStill copies a healthy namespace from one session to another, where all controllers run: none of them
// writes, and every object stays as it was read.
func TestCopyStaysStill(t *testing.T) {
	source := start(t, Options{Nodes: 3, PodReadyAfter: time.Millisecond}, "*")
	ctx := within(t)
	applied, err := source.Apply(ctx, "shop", manifests(t, strings.Split(healthyNamespace, "\n---\n")...))
	if err != nil {
		t.Fatal(err)
	}
	if err := source.WaitReady(ctx, applied); err != nil {
		t.Fatal(err)
	}
	if err := source.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
	before := copyOf(t, source, seed.Options{Namespaces: []string{"shop"}, WithSecrets: true})
	if len(before.Incomplete) > 0 {
		t.Errorf("could not be read: %v", before.Incomplete)
	}
	if len(before.Objects) < 60 || before.Usage == nil {
		t.Errorf("the copy has %d objects, with the usage of pods: %t", len(before.Objects), before.Usage != nil)
	}

	written := &writes{}
	copied := startCopy(t, before, written, "*")
	staysQuiet(within(t), t, copied, written)
	for _, w := range written.list() {
		t.Errorf("written: %s", w)
	}
	after := copyOf(t, copied, seed.Options{Namespaces: []string{"shop"}, WithSecrets: true})
	if diff := changed(t, before, after); diff != "" {
		t.Errorf("objects of the copy have changed (-before +after):\n%s", diff)
	}
	report := copied.CopyReport()
	if len(report.Unloaded) > 0 {
		t.Errorf("not loaded: %v", report.Unloaded)
	}
	for _, c := range report.Controllers {
		if !NeverInCopy(c.Controller) {
			t.Errorf("%s does not run: %s", c.Name, c.Reason)
		}
	}
}

// TestUnhealthyCopyStaysStill copies pods in states that the simulated kubelet and scheduler would lead them out of.
func TestUnhealthyCopyStaysStill(t *testing.T) {
	source := start(t, Options{NoScheduling: true}, "*")
	ctx := within(t)
	client := kubernetes.NewForConfigOrDie(source.Config())
	addNode(t, client, "real")
	if _, err := source.Apply(ctx, "default", manifests(t, deployment("pull", 1), deployment("nowhere", 1), `
apiVersion: batch/v1
kind: Job
metadata: {name: long}
spec: {template: {metadata: {labels: {app: long}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
`)); err != nil {
		t.Fatal(err)
	}
	if err := source.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
	pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		setUnhealthy(t, client, &pods.Items[i])
	}
	if err := source.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
	before := copyOf(t, source, seed.Options{Namespaces: []string{"default"}})
	written := &writes{}
	copied := startCopy(t, before, written, "*")
	staysQuiet(within(t), t, copied, written)
	for _, w := range written.list() {
		t.Errorf("written: %s", w)
	}
	if diff := changed(t, before, copyOf(t, copied, seed.Options{Namespaces: []string{"default"}})); diff != "" {
		t.Errorf("objects of the copy have changed (-before +after):\n%s", diff)
	}
}

// addNode adds a node that is ready, and that no simulation knows.
func addNode(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	node, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure,
		corev1.NodePIDPressure} {
		status := corev1.ConditionFalse
		if kind == corev1.NodeReady {
			status = corev1.ConditionTrue
		}
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: kind, Status: status,
			Reason: "AsInTheCluster", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()})
	}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}
	node.ResourceVersion = "" // controllers may have written it since
	if _, err := client.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// setUnhealthy plays the scheduler and the kubelet for a pod of TestUnhealthyCopyStaysStill.
func setUnhealthy(t *testing.T, client kubernetes.Interface, pod *corev1.Pod) {
	t.Helper()
	pods := client.CoreV1().Pods(pod.Namespace)
	state := corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}
	switch pod.Labels["app"] {
	case "nowhere":
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: as kube-scheduler says it"}}
	case "long":
		pod.Status.Phase = corev1.PodRunning
		started := metav1.NewTime(time.Now().Add(-time.Hour))
		state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}
	}
	if pod.Labels["app"] != "nowhere" {
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name},
			Target: corev1.ObjectReference{Kind: "Node", Name: "real"}}
		if err := pods.Bind(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Image: "i", State: state}}
	}
	pod.ResourceVersion = "" // controllers may have written it since
	if _, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestCopyGoesOn: what is changed in a copy leads on from there, and the rest stays as it is.
func TestCopyGoesOn(t *testing.T) {
	source := start(t, Options{Nodes: 2, PodReadyAfter: time.Millisecond}, "deployment", "replicaset")
	ctx := within(t)
	applied, err := source.Apply(ctx, "default", manifests(t, deployment("web", 2), deployment("same", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := source.WaitReady(ctx, applied); err != nil {
		t.Fatal(err)
	}
	if err := source.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
	before := copyOf(t, source, seed.Options{Namespaces: []string{"default"}})
	written := &writes{}
	copied := startCopy(t, before, written, "deployment", "replicaset", "garbagecollector")
	client := kubernetes.NewForConfigOrDie(copied.Config())
	var deleted string
	for i := range before.Objects {
		if o := &before.Objects[i]; o.Kind.Kind == "Pod" && strings.HasPrefix(o.Name, "web-") {
			deleted = o.Name
		}
	}
	if err := client.CoreV1().Pods("default").Delete(ctx, deleted, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(deployment("web", 3), "image: i", "image: j", 1)
	applied, err = copied.Apply(ctx, "default", manifests(t, changed))
	if err != nil {
		t.Fatal(err)
	}
	if err := copied.WaitReady(ctx, applied); err != nil {
		t.Fatal(err)
	}
	if err := copied.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
	pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for i := range pods.Items {
		pod := &pods.Items[i]
		was, ok := before.Find(schema.GroupResource{Resource: "pods"}, "default", pod.Name)
		switch {
		case ok && was.ResourceVersion != pod.ResourceVersion:
			t.Errorf("pod %q was changed", pod.Name)
		case !ok:
			made++
			if _, copied := before.Find(schema.GroupResource{Resource: "nodes"}, "", pod.Spec.NodeName); !copied {
				t.Errorf("pod %q is on node %q, which was not copied", pod.Name, pod.Spec.NodeName)
			}
		}
	}
	if len(written.list()) == 0 {
		t.Error("no write was seen of all that")
	}
	if made != 3 || len(pods.Items) != 4 {
		t.Errorf("there are %d pods, %d of them new, want 4 and 3", len(pods.Items), made)
	}
}

// TestCopyInPart copies what a user may read who sees a namespace and no nodes.
func TestCopyInPart(t *testing.T) {
	source := start(t, Options{Nodes: 2, PodReadyAfter: time.Millisecond}, "*")
	ctx := within(t)
	applied, err := source.Apply(ctx, "default", manifests(t, deployment("web", 2), `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: view, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}]`, `
apiVersion: v1
kind: Secret
metadata: {name: owner}`))
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(source.Config())
	secret, err := client.CoreV1().Secrets("default").Get(ctx, "owner", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Secret", Name: secret.Name, UID: secret.UID}}}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := source.WaitReady(ctx, applied[:1]); err != nil {
		t.Fatal(err)
	}
	if err := source.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
	before := copyAs(t, source, "jane", seed.Options{Namespaces: []string{"default"}})
	written := &writes{}
	copied := startCopy(t, before, written, "*")
	staysQuiet(within(t), t, copied, written)
	for _, w := range written.list() {
		t.Errorf("written: %s", w)
	}
	left := map[string]bool{}
	for _, c := range copied.CopyReport().Controllers {
		left[c.Short] = true
	}
	for _, name := range []string{"daemonset", "podgc", "node-lifecycle", "persistentvolume-binder", "namespace"} {
		if !left[name] {
			t.Errorf("%s runs, though it does not see what it decides by", name)
		}
	}
	for _, name := range []string{"deployment", "replicaset", "garbagecollector"} {
		if left[name] {
			t.Errorf("%s does not run, though all that it decides by is there", name)
		}
	}
}

// startCopy starts a session that begins with a copy.
func startCopy(t *testing.T, c *seed.Copy, sink trace.Sink, names ...string) *Session {
	t.Helper()
	s, err := Start(within(t), Options{
		Controllers: Names(names...), Copy: c, Nodes: NoNodes, Recorder: trace.NewRecorder(clock.RealClock{}, sink),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return s
}
