package nodes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
)

// Delays of kube-scheduler's queue: the backoff of a pod that did not fit, and after how long it is tried again without
// an event. They mirror DefaultPodInitialBackoffDuration, DefaultPodMaxBackoffDuration and
// DefaultPodMaxInUnschedulablePodsDuration of k8s.io/kubernetes/pkg/scheduler/backend/queue/scheduling_queue.go.
const (
	firstScheduleBackoff = time.Second
	maxScheduleBackoff   = 10 * time.Second
	unschedulableFlush   = 5 * time.Minute
)

// maxNoteLength is the longest note of an Event that the API accepts, in bytes.
const maxNoteLength = 1024

// scheduler binds pods to nodes. Its event handlers are called by several informers and Reconcile by several workers,
// concurrently. Decisions are made one at a time, under the lock of the cache; binding is concurrent.
type scheduler struct {
	pods   corelisters.PodLister
	nodes  corelisters.NodeLister
	client kubernetes.Interface
	clock  clock.Clock
	events *recorder
	copied *Copied // nil without a copy
	// leaveUndecided is Options.LeaveUndecided.
	leaveUndecided bool

	cache   *schedulerCache
	volumes *volumeBinder // nil if volumes are ignored
	// enqueueAfter is engine.Controller.EnqueueAfter; it is set before the engine is started.
	enqueueAfter func(engine.Request, time.Duration)

	mu      sync.Mutex
	waiting map[engine.Request]schedulingAttempts // pods that did not fit
}

// schedulingAttempts describes the attempts to schedule a pod that did not fit.
type schedulingAttempts struct {
	uid       types.UID // of the pod: another one of that name starts from the beginning
	count     int
	last      time.Time
	lacksRoom bool // as in fitError: the pod may fit when other pods are gone
	volumes   bool // as in fitError: the pod may fit when volumes or claims have changed
	copied    bool // the attempts were made before the pod was copied
}

var _ engine.Reconciler = (*scheduler)(nil)

// onPod updates the cache and enqueues a pod that is to be scheduled. If a pod has left room on a node, it retries
// those that lacked room.
func (s *scheduler) onPod(e engine.Event) []engine.Request {
	pod, ok := e.Object().(*corev1.Pod)
	if !ok {
		return nil
	}
	r := engine.Request{Namespace: pod.Namespace, Name: pod.Name}
	freed := false
	if old, ok := e.Old.(*corev1.Pod); ok && (e.New == nil || old.UID != pod.UID) {
		freed = s.cache.removePod(old.UID)
	}
	if e.New != nil {
		freed = s.cache.setPod(pod) || freed
	}
	if freed {
		s.retryLackingRoom()
	}
	if e.New == nil || !needsScheduling(pod) {
		s.dropPod(r, pod)
		return nil
	}
	if e.Initial && s.copied.waits(pod) {
		s.addCopied(r, pod.UID)
		return nil
	}
	if old, ok := e.Old.(*corev1.Pod); ok && sameForScheduling(old, pod) && s.isWaiting(r, pod.UID) {
		return nil // such as the event of the condition that the scheduler wrote
	}
	return []engine.Request{r}
}

// onNode updates the cache, and retries all waiting pods if the node may have room for them.
func (s *scheduler) onNode(e engine.Event) []engine.Request {
	node, ok := e.New.(*corev1.Node)
	if !ok {
		s.cache.removeNode(e.Old.GetName())
		return nil
	}
	s.cache.setNode(node)
	if old, ok := e.Old.(*corev1.Node); !ok || !sameNodeForScheduling(old, node) {
		s.retryWaiting(e.Initial)
	}
	return nil
}

// needsScheduling reports whether this scheduler has to bind the pod. Of gated pods the API server sets the condition.
func needsScheduling(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.Spec.SchedulerName == corev1.DefaultSchedulerName &&
		len(pod.Spec.SchedulingGates) == 0 &&
		pod.DeletionTimestamp == nil && !podutil.IsPodPhaseTerminal(pod.Status.Phase)
}

// Reconcile implements engine.Reconciler: it binds the pod, or writes why it cannot be bound.
func (s *scheduler) Reconcile(ctx context.Context, r engine.Request) (engine.Result, error) {
	pod, err := s.pods.Pods(r.Namespace).Get(r.Name)
	if apierrors.IsNotFound(err) {
		s.forget(r) // an attempt may have ended after the event of the deletion
		s.pendingBinding(r, "")
		return engine.Result{}, nil
	}
	if err != nil {
		return engine.Result{}, fmt.Errorf("reading pod %q: %w", r, err)
	}
	if u := s.pendingBinding(r, pod.UID); u != nil && needsScheduling(pod) {
		return s.finishBinding(ctx, r, pod, u)
	}
	if !needsScheduling(pod) || s.cache.has(pod.UID) {
		s.forget(r)
		return engine.Result{}, nil
	}
	s.logIgnoredFields(ctx, pod)
	if fields := RequiredIgnoredFields(&pod.Spec); s.leaveUndecided && len(fields) > 0 {
		return engine.Result{}, s.leave(ctx, pod, fields)
	}
	d, err := s.decide(ctx, pod)
	switch {
	case err != nil:
		return engine.Result{}, err
	case d.fitError != nil:
		return s.unschedulable(ctx, r, pod, corev1.PodReasonUnschedulable, d.fitError)
	case !d.volumesBound:
		return s.bindVolumes(ctx, r, pod, d)
	}
	return engine.Result{}, s.bindToNode(ctx, r, pod, d.node)
}

// bindToNode binds the pod to the node that it is assumed on, and frees the node if that fails.
func (s *scheduler) bindToNode(ctx context.Context, r engine.Request, pod *corev1.Pod, node string) error {
	err := s.bind(ctx, pod, node)
	if err != nil && s.cache.unassume(pod.UID) {
		s.retryLackingRoom()
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	s.forget(r) // bound, or deleted meanwhile
	return nil
}

// bind creates the binding and records the Event of it.
func (s *scheduler) bind(ctx context.Context, pod *corev1.Pod, node string) error {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	klog.FromContext(ctx).V(3).Info("Attempting to bind pod to node", "pod", klog.KObj(pod), "node", node)
	err := s.client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("binding pod %q to node %q: %w", pod.Name, node, err)
	}
	s.events.record(&eventRecord{
		regarding: regarding(pod, ""), reason: "Scheduled", at: s.clock.Now(),
		message: fmt.Sprintf("Successfully assigned %v/%v to %v", pod.Namespace, pod.Name, node),
	})
	return nil
}

// unschedulable writes why the pod stays pending, in an Event and a condition. It mirrors
// Scheduler.handleSchedulingFailure of k8s.io/kubernetes/pkg/scheduler/schedule_one.go.
func (s *scheduler) unschedulable(
	ctx context.Context, r engine.Request, pod *corev1.Pod, reason string, why *fitError,
) (engine.Result, error) {
	logger := klog.FromContext(ctx)
	switch {
	case why.bindError != "":
		logger.Info("Error scheduling pod; retrying", "pod", klog.KObj(pod), "err", why.bindError)
	case why.nodes == 0:
		logger.V(2).Info("Unable to schedule pod; no nodes are registered to the cluster; waiting",
			"pod", klog.KObj(pod))
	default:
		logger.V(2).Info("Unable to schedule pod; no fit; waiting", "pod", klog.KObj(pod), "err", why.String())
	}
	backoff := s.addWaiting(r, pod.UID, why)
	message := why.String()
	if len(message) > maxNoteLength {
		message = message[:maxNoteLength-len(" ...")] + " ..."
	}
	s.events.record(&eventRecord{
		regarding: regarding(pod, ""), warning: true, reason: "FailedScheduling", message: message, at: s.clock.Now(),
	})
	status := pod.Status.DeepCopy()
	observed := podutil.CalculatePodConditionObservedGeneration(&pod.Status, pod.Generation, corev1.PodScheduled)
	changed := podutil.UpdatePodCondition(status, &corev1.PodCondition{
		Type:               corev1.PodScheduled,
		ObservedGeneration: observed,
		Status:             corev1.ConditionFalse,
		Reason:             reason,
		Message:            why.String(),
	})
	if changed {
		_, err := patchStatus(ctx, s.client, pod, status)
		if apierrors.IsNotFound(err) {
			s.forget(r) // deleted meanwhile
			return engine.Result{}, nil
		}
		if err != nil {
			return engine.Result{}, err
		}
	}
	if s.cache.mayFit(why) {
		return engine.Result{RequeueAfter: backoff}, nil // the change came before the pod was among those that wait
	}
	return engine.Result{RequeueAfter: unschedulableFlush}, nil
}

// addWaiting records that the pod of that UID did not fit, and returns its backoff.
func (s *scheduler) addWaiting(r engine.Request, uid types.UID, why *fitError) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.waiting[r]
	if a.uid != uid {
		a = schedulingAttempts{uid: uid}
	}
	a.count, a.last, a.lacksRoom, a.volumes = a.count+1, s.clock.Now(), why.lacksRoom, why.volumes
	a.copied = false
	s.waiting[r] = a
	return a.backoff()
}

// addCopied records that the pod of that UID did not fit before it was copied, for reasons that are not known.
func (s *scheduler) addCopied(r engine.Request, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[r] = schedulingAttempts{uid: uid, lacksRoom: true, volumes: true, copied: true}
}

// forget removes the pod from those that wait.
func (s *scheduler) forget(r engine.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, r)
}

// isWaiting reports whether the pod of that UID waits after a failed attempt.
func (s *scheduler) isWaiting(r engine.Request, uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.waiting[r]
	return ok && a.uid == uid
}

// retryWaiting retries all pods that did not fit, because a node was added or changed. initial is as for retry.
func (s *scheduler) retryWaiting(initial bool) {
	s.retry(initial, func(engine.Request, schedulingAttempts) bool { return true })
}

// retryLackingRoom retries the pods that lacked room, because a pod is gone. For the others that makes no difference:
// of upstream's plugins only NodePorts and NodeResourcesFit have such events in EventsToRegister.
func (s *scheduler) retryLackingRoom() {
	s.retry(false, func(_ engine.Request, a schedulingAttempts) bool { return a.lacksRoom })
}

// retry enqueues the chosen pods, each when its backoff is over, in the order of their last attempts. That mirrors
// PrioritySort.Less of k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort/priority_sort.go, without
// priorities. With initial, because of an object that was there before, pods are left out that did not fit then
// already.
func (s *scheduler) retry(initial bool, chosen func(engine.Request, schedulingAttempts) bool) {
	type pod struct {
		engine.Request
		schedulingAttempts
	}
	var again []pod
	s.mu.Lock()
	for r, a := range s.waiting {
		if (!initial || !a.copied) && chosen(r, a) {
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

// backoff returns how long the pod waits after its last attempt: twice as long after each, up to maxScheduleBackoff.
func (a schedulingAttempts) backoff() time.Duration {
	d := firstScheduleBackoff
	for range a.count - 1 {
		if d *= 2; d >= maxScheduleBackoff {
			return maxScheduleBackoff
		}
	}
	return d
}

// sameForScheduling reports whether nothing changed that could make the pod fit. Of a pod without a node, tolerations,
// nodeSelector, affinity and scheduling gates can be changed; labels and conditions make no difference.
func sameForScheduling(a, b *corev1.Pod) bool {
	return a.UID == b.UID && a.Generation == b.Generation && len(a.Spec.SchedulingGates) == len(b.Spec.SchedulingGates)
}

// sameNodeForScheduling reports whether nothing changed that could make a pod fit, as by a heartbeat.
func sameNodeForScheduling(a, b *corev1.Node) bool {
	return a.Spec.Unschedulable == b.Spec.Unschedulable &&
		slices.EqualFunc(a.Spec.Taints, b.Spec.Taints,
			func(x, y corev1.Taint) bool { return x.MatchTaint(&y) && x.Value == y.Value }) &&
		apiequality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		apiequality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable)
}
