package nodes

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
)

// kubelet runs the pods of all simulated nodes: it advances what their containers would do, and writes their status.
// Its event handlers are called by two informers and Reconcile by several workers, concurrently, but never for one pod
// at once.
type kubelet struct {
	pods   corelisters.PodLister
	nodes  corelisters.NodeLister
	client kubernetes.Interface
	clock  clock.Clock
	events *recorder // nil without Events

	// readyAfter, stopAfter and runFor are Options.PodReadyAfter, PodStopAfter and RunFor.
	readyAfter, stopAfter, runFor time.Duration

	copied *Copied // nil without a copy
	assume Assumption

	reportNow chan<- struct{} // sent to when conditions are to be reported at once
	addresses *podAddresses

	mu     sync.Mutex              // guards states
	states map[types.UID]*podState // the fields of a podState belong to the reconcile of its pod
}

var _ engine.Reconciler = (*kubelet)(nil)

// onPod drops the state of a pod that is gone, and enqueues a pod that is bound.
func (k *kubelet) onPod(e engine.Event) []engine.Request {
	if old, ok := e.Old.(*corev1.Pod); ok && (e.New == nil || old.UID != e.New.GetUID()) {
		k.forget(old.UID)
	}
	pod, ok := e.New.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil
	}
	if e.Old == nil || e.Initial {
		k.addresses.reserve(pod.Status.PodIP)
	}
	if k.copied.keeps(pod) || e.Old != nil && k.isOwnWrite(pod) {
		return nil
	}
	return engine.Self(e)
}

// onNode enqueues the pods of a node whose kubelet has become active, and has it report conditions that are new.
func (k *kubelet) onNode(e engine.Event) []engine.Request {
	node, ok := e.New.(*corev1.Node)
	if !ok || !k.copied.hasActiveKubelet(node) {
		return nil
	}
	if e.Old == nil || !k.copied.hasNode(node) && len(missingConditions(node, time.Time{})) > 0 {
		select {
		case k.reportNow <- struct{}{}:
		default: // a report is requested already
		}
	}
	if old, ok := e.Old.(*corev1.Node); ok && k.copied.hasActiveKubelet(old) {
		return nil
	}
	all, err := k.pods.List(labels.Everything())
	if err != nil {
		return nil // cannot happen: a lister reads a cache
	}
	var requests []engine.Request
	for _, pod := range all {
		if pod.Spec.NodeName == node.Name && !k.copied.keeps(pod) {
			requests = append(requests, engine.Request{Namespace: pod.Namespace, Name: pod.Name})
		}
	}
	return requests
}

// setLatest keeps the pod that the API answered with, or the informer's copy of it if that has arrived.
func (k *kubelet) setLatest(ps *podState, pod *corev1.Pod) {
	cached, err := k.pods.Pods(pod.Namespace).Get(pod.Name)
	if err == nil && cached.ResourceVersion == pod.ResourceVersion {
		pod = cached
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	ps.latest = pod
}

// isOwnWrite reports whether the event is that of the kubelet's own last write, after which nothing is left to do. It
// keeps the informer's copy in place of that write: a second copy of every pod would be a sixth of all memory.
func (k *kubelet) isOwnWrite(pod *corev1.Pod) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	ps := k.states[pod.UID]
	if ps == nil || ps.latest == nil || ps.latest.ResourceVersion != pod.ResourceVersion {
		return false
	}
	ps.latest = pod
	return true
}

// forget drops the state of a pod that is gone, and releases its address.
func (k *kubelet) forget(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ps := k.states[uid]; ps != nil {
		k.addresses.release(ps.ip)
		delete(k.states, uid)
	}
}

// Reconcile implements engine.Reconciler: it advances the pod to its state at this time.
func (k *kubelet) Reconcile(ctx context.Context, r engine.Request) (engine.Result, error) {
	pod, err := k.pods.Pods(r.Namespace).Get(r.Name)
	if apierrors.IsNotFound(err) {
		return engine.Result{}, nil
	}
	if err != nil {
		return engine.Result{}, fmt.Errorf("reading pod %q: %w", r, err)
	}
	node, err := k.nodes.Get(pod.Spec.NodeName)
	if apierrors.IsNotFound(err) || err == nil && (!k.copied.hasActiveKubelet(node) || k.leaves(pod)) {
		return engine.Result{}, nil
	}
	if err != nil {
		return engine.Result{}, fmt.Errorf("reading node %q: %w", pod.Spec.NodeName, err)
	}
	result, err := k.sync(ctx, pod, node)
	if apierrors.IsNotFound(err) {
		return engine.Result{}, nil // deleted meanwhile
	}
	return result, err
}

// leaves reports whether the pod stays as it is.
func (k *kubelet) leaves(pod *corev1.Pod) bool {
	return k.copied.keeps(pod) || k.assume == AssumePending && pod.DeletionTimestamp == nil
}

// sync advances a pod that is bound to an active node, writes its status, and returns when the pod changes next. Events
// are recorded even if the write fails: the transitions are made, and are not made again.
func (k *kubelet) sync(ctx context.Context, pod *corev1.Pod, node *corev1.Node) (engine.Result, error) {
	now := k.clock.Now()
	ps := k.stateOf(pod, node, now)
	pod = k.newest(ps, pod)
	if podutil.IsPodPhaseTerminal(pod.Status.Phase) {
		return engine.Result{}, k.finish(ctx, ps, pod)
	}
	var notes []containerEvent
	if pod.DeletionTimestamp != nil {
		notes = ps.stop(now.Add(k.stopTime(pod)))
	}
	notes = append(notes, ps.advance(pod, now)...)
	if ps.ip == "" && ps.hasSandbox() {
		if err := k.assignIP(ps, pod, node); err != nil {
			return engine.Result{}, err
		}
	}
	k.recordEvents(pod, notes, now)
	status := ps.status(pod, internalIP(node), now)
	updated, err := patchStatus(ctx, k.client, pod, &status)
	if err != nil {
		return engine.Result{}, err
	}
	k.setLatest(ps, updated)
	if podutil.IsPodPhaseTerminal(updated.Status.Phase) {
		return engine.Result{}, k.finish(ctx, ps, updated)
	}
	if again := ps.status(updated, internalIP(node), now); updated.DeletionTimestamp != nil && ps.stopAt.IsZero() ||
		!apiequality.Semantic.DeepEqual(again, updated.Status) {
		// Another client wrote meanwhile, and isOwnWrite may have dropped the event.
		return engine.Result{RequeueAfter: 1}, nil
	}
	if next := ps.nextChange(pod, now); !next.IsZero() {
		return engine.Result{RequeueAfter: max(next.Sub(k.clock.Now()), 1)}, nil
	}
	return engine.Result{}, nil
}

// stateOf returns the pod's state, which is made when the pod is first reconciled.
func (k *kubelet) stateOf(pod *corev1.Pod, node *corev1.Node, now time.Time) *podState {
	k.mu.Lock()
	ps := k.states[pod.UID]
	k.mu.Unlock()
	if ps != nil {
		return ps
	}
	p, errs := parsePlan(pod, k.runFor)
	for _, err := range errs {
		k.events.record(&eventRecord{
			regarding: regarding(pod, ""), warning: true, reason: InvalidAnnotation, host: node.Name, at: now,
			message: fmt.Sprintf("Not simulated as asked for: %v", err),
		})
	}
	readyAfter := k.readyAfter
	if k.assume == AssumeReady {
		p.failure, readyAfter = "", 0
	}
	ps = newPodState(pod, p, readyAfter, now)
	k.mu.Lock()
	k.states[pod.UID] = ps
	k.mu.Unlock()
	if latest, err := k.pods.Pods(pod.Namespace).Get(pod.Name); err != nil || latest.UID != pod.UID {
		k.forget(pod.UID) // its deletion was handled before the state was stored
	}
	return ps
}

// newest returns the pod of the informer, or that of the API's last answer if it is newer: a cache that lags must not
// revert what was written.
func (k *kubelet) newest(ps *podState, pod *corev1.Pod) *corev1.Pod {
	k.mu.Lock()
	latest := ps.latest
	k.mu.Unlock()
	if latest == nil {
		return pod
	}
	if snapshot.IsNewer(latest.ResourceVersion, pod.ResourceVersion) {
		return latest
	}
	return pod
}

// assignIP gives the pod an address: the node's if it uses the node's network.
func (k *kubelet) assignIP(ps *podState, pod *corev1.Pod, node *corev1.Node) error {
	if pod.Spec.HostNetwork {
		k.mu.Lock()
		defer k.mu.Unlock()
		ps.ip = internalIP(node)
		return nil
	}
	ip, err := k.addresses.take(node)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.states[pod.UID] != ps {
		k.addresses.release(ip) // the pod is gone, so forget does not release it
		return nil
	}
	ps.ip = ip
	return nil
}

// stopTime returns how long the containers of a deleted pod take to stop: no longer than its grace period.
func (k *kubelet) stopTime(pod *corev1.Pod) time.Duration {
	if pod.DeletionGracePeriodSeconds == nil {
		return k.stopAfter
	}
	return min(k.stopAfter, time.Duration(*pod.DeletionGracePeriodSeconds)*time.Second)
}

// finish removes a deleted pod whose containers have ended. It mirrors manager.syncPod of
// k8s.io/kubernetes/pkg/kubelet/status/status_manager.go. With a grace period of 0 that was done before, and the pod is
// kept by a finalizer.
func (k *kubelet) finish(ctx context.Context, ps *podState, pod *corev1.Pod) error {
	grace := pod.DeletionGracePeriodSeconds
	if ps.removed || pod.DeletionTimestamp == nil || grace != nil && *grace == 0 {
		return nil
	}
	err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing pod %q: %w", pod.Name, err)
	}
	ps.removed = true
	klog.FromContext(ctx).V(3).Info("Pod fully terminated and removed", "pod", klog.KObj(pod))
	return nil
}

// recordEvents records the events of the pod's containers.
func (k *kubelet) recordEvents(pod *corev1.Pod, notes []containerEvent, now time.Time) {
	for _, n := range notes {
		list := "containers"
		if n.init {
			list = "initContainers"
		}
		k.events.record(&eventRecord{
			regarding: regarding(pod, fmt.Sprintf("spec.%s{%s}", list, n.container)), warning: n.warning,
			reason: n.reason, message: n.message, host: pod.Spec.NodeName, at: now,
		})
	}
}
