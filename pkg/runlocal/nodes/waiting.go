package nodes

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
)

// addWaiting notes that the pod of that uid did not fit, and why, and returns its backoff.
func (s *scheduler) addWaiting(r engine.Request, uid types.UID, why *fitError) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.waiting[r]
	if a.uid != uid {
		a = schedulingAttempts{uid: uid}
	}
	a.count, a.last, a.lacksRoom, a.volumes = a.count+1, s.clock.Now(), why.lacksRoom, why.volumes
	s.waiting[r] = a
	return a.backoff()
}

func (s *scheduler) forget(r engine.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, r)
}

func (s *scheduler) isWaiting(r engine.Request, uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.waiting[r]
	return ok && a.uid == uid
}

// retryWaiting tries all pods again that did not fit, because there is a node that they have not seen.
func (s *scheduler) retryWaiting() {
	s.retry(func(engine.Request, schedulingAttempts) bool { return true })
}

// retryLackingRoom tries those again that had no room, because a pod has gone. To the others that makes no difference: of upstream's plugins
// only NodePorts and NodeResourcesFit ask for such events in EventsToRegister.
func (s *scheduler) retryLackingRoom() {
	s.retry(func(_ engine.Request, a schedulingAttempts) bool { return a.lacksRoom })
}

// retry tries the chosen pods again, each when its backoff is over: those first that were tried longest ago, as kube-scheduler's queue
// has them (pkg/scheduler/framework/plugins/queuesort), but for priorities.
func (s *scheduler) retry(chosen func(engine.Request, schedulingAttempts) bool) {
	type pod struct {
		engine.Request
		schedulingAttempts
	}
	var again []pod
	s.mu.Lock()
	for r, a := range s.waiting {
		if chosen(r, a) {
			again = append(again, pod{r, a})
		}
	}
	s.mu.Unlock()
	slices.SortFunc(again, func(a, b pod) int {
		return cmp.Or(a.last.Compare(b.last), strings.Compare(a.String(), b.String()))
	})
	now := s.clock.Now()
	for _, p := range again {
		s.enqueueAfter(p.Request, p.last.Add(p.backoff()).Sub(now))
	}
}

func (a schedulingAttempts) backoff() time.Duration {
	d := firstScheduleBackoff
	for range a.count - 1 {
		if d *= 2; d >= maxScheduleBackoff {
			return maxScheduleBackoff
		}
	}
	return d
}

// sameForScheduling says that nothing changed that could make a pod fit: a pod without a node can have its tolerations,
// nodeSelector and affinity changed, and its labels and conditions, which do not count.
func sameForScheduling(a, b *corev1.Pod) bool {
	return a.UID == b.UID && a.Generation == b.Generation && len(a.Spec.SchedulingGates) == len(b.Spec.SchedulingGates)
}

// sameNodeForScheduling says that nothing changed that could make a pod fit, as heartbeats do not.
func sameNodeForScheduling(a, b *corev1.Node) bool {
	return a.Spec.Unschedulable == b.Spec.Unschedulable &&
		slices.EqualFunc(a.Spec.Taints, b.Spec.Taints, func(x, y corev1.Taint) bool { return x.MatchTaint(&y) && x.Value == y.Value }) &&
		apiequality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		apiequality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable)
}
