package tap

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/replicaset"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// upstream is a controller of upstream's that runs against a fake client: enough for controllers that cannot write.
type upstream struct {
	tap  *Tap
	sink *eventLog
	stop func()
}

// upstreamDeps is what upstream's constructors take.
type upstreamDeps struct {
	client    kubernetes.Interface
	informers informers.SharedInformerFactory
}

// unable runs the controller that build makes. Every write of resource is refused; retries follow at once.
func unable(t *testing.T, name, resource string, objects []runtime.Object,
	build func(ctx context.Context, u upstreamDeps) (any, func(context.Context, int))) *upstream {
	t.Helper()
	u := &upstream{}
	u.tap, u.sink = recording()
	client := fake.NewClientset(objects...)
	client.PrependReactor("create", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no room for more " + resource)
	})
	f := u.tap.Informers(client, 0)
	c := u.tap.Controller(name)
	var controller any
	var run func(context.Context, int)
	if err := c.Build(t.Context(), func(ctx context.Context) error {
		controller, run = build(ctx, upstreamDeps{client, f})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	original, err := privateField[testQueue](controller, "queue")
	if err != nil {
		t.Fatal(err)
	}
	(*original).ShutDown()
	*original = workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Microsecond, time.Microsecond))
	if err := SwapQueue(c, controller, "queue", text); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.StartWithContext(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { run(c.Context(ctx), 1) })
	u.stop = func() {
		cancel()
		wg.Wait()
		f.Shutdown()
	}
	return u
}

func selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}
}

func TestDeploymentGivesUp(t *testing.T) {
	replicas := int32(1)
	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u", ResourceVersion: "1"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: selector(), Template: template(), RevisionHistoryLimit: &replicas,
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
		},
	}
	u := unable(t, "deployment", "replicasets", []runtime.Object{web},
		func(ctx context.Context, d upstreamDeps) (any, func(context.Context, int)) {
			apps := d.informers.Apps().V1()
			c, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(),
				d.informers.Core().V1().Pods(), d.client)
			if err != nil {
				t.Fatal(err)
			}
			return c, c.Run
		})
	eventually(t, "the controller to give up", func() bool { return len(details[*trace.Dropped](u.sink)) > 0 })
	u.stop()

	const tries, reason = 16, "no room for more replicasets" // maxRetries of upstream is 15
	ends := details[*trace.End](u.sink)
	want := make([]trace.Outcome, tries)
	for n := range want {
		want[n] = trace.Failed
	}
	want[tries-1] = trace.GaveUp
	var got []trace.Outcome
	for _, end := range ends {
		got = append(got, end.Outcome)
		if end.Error != reason {
			t.Errorf("a reconcile failed with %q", end.Error)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]*trace.Dropped{{Retries: tries - 1, Error: reason}},
		details[*trace.Dropped](u.sink)); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	if last := ends[tries-1]; last.Next != nil {
		t.Errorf("after giving up, it comes back: %+v", last.Next)
	}
}

func TestReplicaSetFailsAndTriesAgain(t *testing.T) {
	replicas := int32(1)
	web := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u", ResourceVersion: "1"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector(), Template: template()},
	}
	u := unable(t, "replicaset", "pods", []runtime.Object{web},
		func(ctx context.Context, d upstreamDeps) (any, func(context.Context, int)) {
			c := replicaset.NewReplicaSetController(ctx, d.informers.Apps().V1().ReplicaSets(),
				d.informers.Core().V1().Pods(), d.client, replicaset.BurstReplicas)
			return c, c.Run
		})
	eventually(t, "three tries", func() bool { return len(details[*trace.End](u.sink)) >= 3 })
	u.stop()

	first := details[*trace.End](u.sink)[0]
	want := &trace.End{Outcome: trace.Failed, Error: `sync "default/web" failed with no room for more pods`,
		Next: &trace.Next{Retry: 1}}
	if diff := cmp.Diff(want, first, cmpopts.IgnoreFields(trace.End{}, "Duration"),
		cmpopts.IgnoreFields(trace.Next{}, "After")); diff != "" {
		t.Errorf("first end (-want +got):\n%s", diff)
	}
	if want := (trace.Cause{Type: trace.CauseRetry, Reconcile: 1,
		Retry: 1}); !slices.ContainsFunc(details[*trace.Start](u.sink), func(s *trace.Start) bool {
		return slices.ContainsFunc(s.Causes, func(c trace.Cause) bool {
			return c.Type == want.Type && c.Reconcile == want.Reconcile && c.Retry == want.Retry
		})
	}) {
		t.Errorf("no reconcile is because of %+v", want)
	}
	if dropped := details[*trace.Dropped](u.sink); len(dropped) != 0 {
		t.Errorf("ReplicaSet never gives up, but: %+v", dropped[0])
	}
}
