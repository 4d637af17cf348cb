package nodes

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// conditionTexts are conditions in short.
func conditionTexts(conditions []corev1.NodeCondition) []string {
	var out []string
	for _, c := range conditions {
		out = append(out, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
	}
	return out
}

func TestUnreported(t *testing.T) {
	healthy := []string{
		"MemoryPressure=False KubeletHasSufficientMemory", "DiskPressure=False KubeletHasNoDiskPressure",
		"PIDPressure=False KubeletHasSufficientPID", "Ready=True KubeletReady",
	}
	unknown := nodeConditions(epoch)
	for i := range unknown {
		unknown[i].Status, unknown[i].Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
	}
	for _, test := range []struct {
		reason     string
		annotation string
		has        []corev1.NodeCondition
		want       []string
	}{
		{"a node of another client", "", nil, healthy},
		{"a node of which all is known", "", nodeConditions(epoch), nil},
		{"a node that was silent", "", unknown, healthy},
		{"a node that is not to be ready", "not-ready", nodeConditions(epoch), []string{"Ready=False KubeletNotReady"}},
		{"a value that is not understood is none", "sleepy", nodeConditions(epoch), nil},
	} {
		node := &corev1.Node{Status: corev1.NodeStatus{Conditions: test.has}}
		node.Annotations = map[string]string{SimulateAnnotation: test.annotation}
		if diff := cmp.Diff(test.want, conditionTexts(missingConditions(node, epoch))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// simulate sets the annotation of a node; an empty value takes it away.
func (s *sandbox) simulate(node string, f NodeFailure) {
	s.t.Helper()
	value := "null"
	if f != "" {
		value = fmt.Sprintf("%q", f)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, SimulateAnnotation, value)
	patched, err := s.CoreV1().Nodes().Patch(s.t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(s.t.Context(), time.Millisecond, waitTimeout, true,
		func(context.Context) (bool, error) {
			return s.sawNode(patched.ResourceVersion), nil
		})
	if err != nil {
		s.t.Fatalf("waiting for the simulation to see node %q: %v", node, err)
	}
}

// sawNode reports whether the informer has shown that version of a node.
func (s *sandbox) sawNode(version string) bool {
	return slices.ContainsFunc(s.trace.list(), func(e *trace.Event) bool {
		w, ok := e.Detail.(*trace.Watch)
		return ok && w.Kind == "Node" && w.ResourceVersion == version
	})
}

// untilNode waits until the node has the condition Ready in that status.
func (s *sandbox) untilNode(node string, ready corev1.ConditionStatus) {
	s.t.Helper()
	var last []string
	err := wait.PollUntilContextTimeout(s.t.Context(), 5*time.Millisecond, waitTimeout, true,
		func(ctx context.Context) (bool, error) {
			n, err := s.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			last = conditionTexts(n.Status.Conditions)
			return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == ready
			}), nil
		})
	if err != nil {
		s.t.Fatalf("waiting for node %q to be ready=%s: %v; it has %q", node, ready, err, last)
	}
}

func TestNodeThatIsNotReady(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1})
	s.simulate("node-1", NotReady)
	s.untilNode("node-1", corev1.ConditionFalse)
	s.simulate("node-1", "")
	s.untilNode("node-1", corev1.ConditionTrue)
}

func TestNodeOfAnotherClientGetsConditions(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{})
	mine := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "mine", Labels: map[string]string{SimulatedLabel: "true"}}}
	if _, err := s.CoreV1().Nodes().Create(t.Context(), mine, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.untilNode("mine", corev1.ConditionTrue)
}

func TestSilentNode(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1})
	s.create(podOf("before"))
	s.until("before", "running", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	s.simulate("node-1", Silent)
	node, err := s.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// What a controller writes in the kubelet's absence stays.
	node.Status.Conditions[3].Status, node.Status.Conditions[3].Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
	if _, err := s.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.CoreV1().Pods("default").Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.create(podOf("meanwhile"))
	s.until("meanwhile", "bound", func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
	pods, err := s.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 2 || pods.Items[1].Status.Phase != corev1.PodPending {
		t.Errorf("the deleted pod is there, and the other does not run: %v, %+v", err, pods.Items)
	}
	s.untilNode("node-1", corev1.ConditionUnknown)

	s.simulate("node-1", "")
	s.untilNode("node-1", corev1.ConditionTrue)
	s.untilGone("before")
	s.until("meanwhile", "running", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
}
