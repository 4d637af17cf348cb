package runlocal

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// storageControllers are those that claims and their volumes need.
var storageControllers = []string{"persistentvolume-binder", "pvc-protection", "pv-protection", "ephemeral-volume",
	"garbagecollector"}

const database = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 3
  selector: {matchLabels: {app: db}}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: c, image: i}]
      volumes:
      - name: scratch
        ephemeral:
          volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

func TestStatefulSetGetsVolumes(t *testing.T) {
	s := start(t, Options{Nodes: 3}, append([]string{"statefulset"}, storageControllers...)...)
	ctx := within(t)
	applied, err := s.Apply(ctx, "default", manifests(t, database))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(ctx, applied); err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(s.Config())
	claims, err := client.CoreV1().PersistentVolumeClaims("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(claims.Items) != 6 {
		t.Errorf("there are %d claims, want one of the set and one of the pod itself for each of 3 pods",
			len(claims.Items))
	}
	for _, c := range claims.Items {
		if c.Status.Phase != corev1.ClaimBound || *c.Spec.StorageClassName != nodes.DefaultStorageClass {
			t.Errorf("claim %s of class %s is %s", c.Name, *c.Spec.StorageClassName, c.Status.Phase)
		}
	}
	if err := client.AppsV1().StatefulSets("default").Delete(ctx, "db", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	err = s.poll(ctx, func() (bool, error) {
		volumes, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		return err == nil && len(volumes.Items) == 0, err
	})
	if err != nil {
		t.Errorf("waiting for the volumes to go with the set: %v", err)
	}
}

// TestSettledMeansBound needs that what the binder does beside its queues counts, and that the class, though given
// last, is seen before the claim: the binder would look for it again only 15 s later.
func TestSettledMeansBound(t *testing.T) {
	s := start(t, Options{Nodes: 1}, storageControllers...)
	ctx := within(t)
	applied, err := s.Apply(ctx, "default", manifests(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: now, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`, `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: now}
provisioner: `+nodes.Provisioner+`
`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
	statuses, err := s.Statuses(ctx, applied[1:])
	if err != nil {
		t.Fatal(err)
	}
	if !statuses[0].Status.Current() {
		t.Errorf("the session has settled, and the claim is %+v", statuses[0].Status)
	}
}

func TestNoVolumesWithoutTheirController(t *testing.T) {
	s := start(t, Options{Nodes: 1}, "statefulset")
	ctx := within(t)
	applied, err := s.Apply(ctx, "default", manifests(t, database))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(ctx, applied); err != nil {
		t.Errorf("pods wait for volumes that no controller binds: %v", err)
	}
	client := kubernetes.NewForConfigOrDie(s.Config())
	if _, err := client.StorageV1().StorageClasses().Get(ctx, nodes.DefaultStorageClass,
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("there is a StorageClass, or: %v", err)
	}
}

func TestProvisionerIsTraced(t *testing.T) {
	log := &kept{}
	s := start(t, Options{Nodes: 1, Recorder: trace.NewRecorder(clock.RealClock{}, log)}, storageControllers...)
	ctx := within(t)
	_, err := s.Apply(ctx, "default", manifests(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`, `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: i}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{ // in any order: a controller may see and act on a write before the writer has its answer
		"persistentvolume-binder default/data update persistentvolumeclaims",
		"provisioner default/data create persistentvolumes",
		"scheduler default/web create pods",
		"scheduler default/web update persistentvolumeclaims",
	}
	var got []string
	_ = s.poll(ctx, func() (bool, error) { // what differs is reported below
		got = log.writes(want)
		return len(got) == len(want), nil
	})
	if !slices.Equal(got, want) {
		t.Errorf("want\n%q\ngot\n%q", want, got)
	}
	if err := s.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Pending() {
		if !s.isShort(p) {
			t.Errorf("%s %s is still to come, though all is bound", p.Controller, p.Key)
		}
	}
}

// kept is a sink that keeps everything.
type kept struct {
	mu  sync.Mutex
	all []*trace.Event
}

// Record implements trace.Sink.
func (k *kept) Record(e *trace.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, e)
}

// writes lists "CONTROLLER KEY VERB RESOURCE" of the writes that are among those, each once, sorted.
func (k *kept) writes(among []string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []string
	for _, e := range k.all {
		r, ok := e.Detail.(*trace.Request)
		if !ok || r.Failed() {
			continue
		}
		line := fmt.Sprintf("%s %s %s %s", e.Controller, e.Key, r.Verb, r.Resource)
		if slices.Contains(among, line) && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}
