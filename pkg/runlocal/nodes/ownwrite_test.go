package nodes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
)

// kubeletAnswering answers every status patch with the pod that a kubelet at epoch would have written, changed by the function. It stands for
// writes of others that come between the kubelet's reading and its write, which an API server cannot be made to do on demand.
func kubeletAnswering(t *testing.T, pod *corev1.Pod, change func(*corev1.Pod)) *kubelet {
	t.Helper()
	pods, nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}), cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	node := newNode(0, DefaultCapacity(), "v0.0.0", epoch)
	for store, object := range map[cache.Indexer]any{pods: pod, nodes: node} {
		if err := store.Add(object); err != nil {
			t.Fatal(err)
		}
	}
	client := fake.NewClientset()
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		answer := pod.DeepCopy()
		m := newPodState(answer, plan{}, 0, epoch)
		m.advance(answer, epoch)
		m.ip = "10.128.0.1"
		answer.Status = m.status(answer, hostIP(0), epoch)
		answer.ResourceVersion = "7"
		change(answer)
		return true, answer, nil
	})
	return &kubelet{
		pods: corelisters.NewPodLister(pods), nodes: corelisters.NewNodeLister(nodes), client: client, clock: fixed(epoch),
		addresses: newPodAddresses(), states: map[types.UID]*podState{},
	}
}

func TestWritesOfOthersMeanwhile(t *testing.T) {
	gated := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/up"}}
	}
	tests := []struct {
		name   string
		reason string
		pod    *corev1.Pod
		change func(*corev1.Pod)
		again  bool
	}{
		{"none", "what was written as it should be is done with", podOf("p"), func(*corev1.Pod) {}, false},
		{"deleted", "a deletion must not be missed", podOf("p"), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: epoch} }, true},
		{"gate", "nor a gate that has opened", podOf("p", gated), func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "example.com/up", Status: corev1.ConditionTrue})
		}, true},
		{"other condition", "a condition that nothing depends on changes nothing", podOf("p"), func(p *corev1.Pod) {
			p.Status.Conditions = append([]corev1.PodCondition{{Type: "example.com/x", Status: corev1.ConditionTrue}}, p.Status.Conditions...)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := bound(tt.pod, "node-1")
			k := kubeletAnswering(t, before, tt.change)
			result, err := k.Reconcile(t.Context(), engine.Request{Namespace: "default", Name: "p"})
			if err != nil {
				t.Fatal(err)
			}
			if again := result.RequeueAfter > 0; again != tt.again {
				t.Errorf("%s: comes back = %t, want %t", tt.reason, again, tt.again)
			}
			written := before.DeepCopy()
			written.ResourceVersion = "7"
			if r := k.onPod(engine.Event{Old: before, New: written}); len(r) != 0 {
				t.Errorf("the event of the kubelet's own write leads to %v", r)
			}
			later := written.DeepCopy()
			later.ResourceVersion = "8"
			if r := k.onPod(engine.Event{Old: written, New: later}); len(r) != 1 {
				t.Errorf("the event of somebody else's write leads to %v, want the pod", r)
			}
		})
	}
}
