package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	volumehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
)

// decision is the result of an attempt to schedule a pod: the node that it is assumed on, or why there is none.
type decision struct {
	node         string
	fitError     *fitError
	request      *volumeRequest
	volumesBound bool // whether the pod has no claims that are to be bound first
}

// decide chooses a node, and assumes the pod and its volumes on it.
func (s *scheduler) decide(ctx context.Context, pod *corev1.Pod) (decision, error) {
	seen := s.cache.currentChanges()
	if s.volumes == nil {
		node, unfit := s.cache.schedule(pod, nil, seen)
		return decision{node: node, fitError: unfit, volumesBound: true}, nil
	}
	s.volumes.deciding.Lock()
	defer s.volumes.deciding.Unlock()
	w, rejected, err := s.volumes.requestFor(ctx, pod)
	if err != nil {
		return decision{}, err
	}
	if rejected != "" {
		return decision{fitError: s.cache.rejectAll(pod, rejected, seen)}, nil
	}
	d := decision{request: w}
	if d.node, d.fitError = s.cache.schedule(pod, w, seen); d.fitError != nil {
		return d, nil
	}
	if d.volumesBound, err = w.reserve(d.node); err != nil {
		s.unassume(pod)
	}
	return d, err
}

// unassume frees the node that the pod is assumed on.
func (s *scheduler) unassume(pod *corev1.Pod) {
	if s.cache.unassume(pod.UID) {
		s.retryLackingRoom()
	}
}

// bindVolumes starts to bind the pod's claims. It mirrors Scheduler.bindingCycle of
// k8s.io/kubernetes/pkg/scheduler/schedule_one.go, but does not wait: the events of the claims enqueue the pod again.
func (s *scheduler) bindVolumes(
	ctx context.Context, r engine.Request, pod *corev1.Pod, d decision,
) (engine.Result, error) {
	klog.FromContext(ctx).V(2).Info("Binding the pod's volumes first", "pod", klog.KObj(pod), "node", d.node)
	if err := s.nominate(ctx, pod, d.node); err != nil {
		d.request.release(d.node)
		s.unassume(pod)
		return engine.Result{}, err
	}
	if err := s.volumes.startBinding(ctx, r, d.request, d.node); err != nil {
		s.unassume(pod)
		return engine.Result{}, err
	}
	return engine.Result{}, nil
}

// nominate writes the node that the pod is about to be bound to into its status, or removes it if the name is empty.
func (s *scheduler) nominate(ctx context.Context, pod *corev1.Pod, node string) error {
	status := pod.Status.DeepCopy()
	status.NominatedNodeName = node
	_, err := patchStatus(ctx, s.client, pod, status)
	return err
}

// pendingBinding returns the binding of the pod of that UID; nil if the pod waits for no claims. That of another pod of
// the name is dropped: the pod is gone, and an attempt may have ended after the event of its deletion.
func (s *scheduler) pendingBinding(r engine.Request, uid types.UID) *pendingBinding {
	if s.volumes == nil {
		return nil
	}
	u := s.volumes.get(r)
	if u != nil && u.pod.UID != uid {
		s.volumes.forget(r)
		s.unassume(u.pod)
		return nil
	}
	return u
}

// finishBinding binds a pod if its claims are bound, and schedules it again if they cannot be bound.
func (s *scheduler) finishBinding(
	ctx context.Context, r engine.Request, pod *corev1.Pod, u *pendingBinding,
) (engine.Result, error) {
	name := u.pod.Spec.NodeName
	node, err := s.nodes.Get(name)
	bound := false
	if err == nil {
		bound, err = s.volumes.isBound(ctx, u, node)
	}
	switch {
	case err != nil:
		s.volumes.forget(r)
		s.unassume(pod)
		retried := pod.DeepCopy()
		retried.Status.NominatedNodeName = ""
		if err := s.nominate(ctx, pod, ""); err != nil {
			return engine.Result{}, err
		}
		why := &fitError{volumes: true, seen: s.cache.currentChanges()}
		why.bindError = `running PreBind plugin "VolumeBinding": binding volumes: ` + err.Error()
		if result, err := s.unschedulable(ctx, r, retried, corev1.PodReasonSchedulerError, why); err != nil {
			return result, err
		}
		return engine.Result{RequeueAfter: firstScheduleBackoff}, nil
	case !bound:
		return engine.Result{}, nil
	}
	s.volumes.forget(r)
	return engine.Result{}, s.bindToNode(ctx, r, pod, name)
}

// dropPod drops what is kept of a pod that is gone, or is no longer to be scheduled.
func (s *scheduler) dropPod(r engine.Request, pod *corev1.Pod) {
	s.forget(r)
	if s.volumes == nil {
		return
	}
	if u := s.volumes.get(r); u != nil && u.pod.UID == pod.UID {
		s.volumes.forget(r)
		s.unassume(pod)
	}
}

// onClaim enqueues the pods that wait for the claim to be bound, and retries those that did not fit because of it.
func (s *scheduler) onClaim(e engine.Event) []engine.Request {
	claim := e.Object()
	s.cache.changedVolumes()
	if e.New != nil {
		s.retry(e.Initial, func(r engine.Request, a schedulingAttempts) bool {
			if !a.volumes || r.Namespace != claim.GetNamespace() {
				return false
			}
			pod, err := s.pods.Pods(r.Namespace).Get(r.Name)
			return err == nil && uses(pod, claim.GetName())
		})
	}
	return s.volumes.podsUsing(claim.GetNamespace(), claim.GetName())
}

// onVolume enqueues all pods that wait for claims to be bound, and retries those that did not fit because of volumes.
func (s *scheduler) onVolume(e engine.Event) []engine.Request {
	s.onClass(e)
	return s.volumes.podsUsing("", "")
}

// onClass retries pods that did not fit because of volumes: the class may let claims wait for a consumer, or allow more
// nodes.
func (s *scheduler) onClass(e engine.Event) []engine.Request {
	s.cache.changedVolumes()
	if e.New != nil {
		s.retry(e.Initial, func(_ engine.Request, a schedulingAttempts) bool { return a.volumes })
	}
	return nil
}

// volumeBinder considers volumes by kube-scheduler's own plugin VolumeBinding. The plugin waits for claims to be bound,
// ten minutes at most; here its timeout is 0, and watch events bring the pod back, however long that takes.
type volumeBinder struct {
	plugin *volumebinding.VolumeBinding
	claims corelisters.PersistentVolumeClaimLister
	// deciding is held from reading a pod's claims until its volumes are assumed.
	deciding sync.Mutex

	mu       sync.Mutex // guards bindings
	bindings map[engine.Request]*pendingBinding
}

// pendingBinding is a pod that has a node and waits for its claims to be bound.
type pendingBinding struct {
	pod     *corev1.Pod // with its node
	volumes *volumebinding.PodVolumes
}

// newVolumeBinder makes the plugin, which registers handlers with informers of volumes, claims and others.
func newVolumeBinder(
	ctx context.Context, client kubernetes.Interface, f informers.SharedInformerFactory,
) (*volumeBinder, error) {
	core, storage := f.Core().V1(), f.Storage().V1()
	binder, err := volumebinding.NewVolumeBinder(
		klog.FromContext(ctx), client, feature.Features{EnableVolumeAttributesClass: true},
		core.Pods(), core.Nodes(), storage.CSINodes(),
		core.PersistentVolumeClaims(), core.PersistentVolumes(), storage.StorageClasses(),
		volumebinding.CapacityCheck{
			CSIDriverInformer: storage.CSIDrivers(), CSIStorageCapacityInformer: storage.CSIStorageCapacities(),
		},
		0,
	)
	if err != nil {
		return nil, fmt.Errorf("making the scheduler's volume binder: %w", err)
	}
	claims := core.PersistentVolumeClaims().Lister()
	return &volumeBinder{
		plugin: &volumebinding.VolumeBinding{Binder: binder, PVCLister: claims}, claims: claims,
		bindings: map[engine.Request]*pendingBinding{},
	}, nil
}

// volumeRequest holds a pod's claims, and the volumes that each node would meet them with. A nil volumeRequest is that
// of a pod without claims.
type volumeRequest struct {
	ctx    context.Context
	binder volumebinding.SchedulerVolumeBinder
	pod    *corev1.Pod
	claims *volumebinding.PodVolumeClaims
	found  map[string]*volumebinding.PodVolumes
}

// requestFor reads the pod's claims. The request is nil for a pod without any. rejected is why no node fits, "" if some
// may.
func (v *volumeBinder) requestFor(ctx context.Context, pod *corev1.Pod) (w *volumeRequest, rejected string, err error) {
	_, status := v.plugin.PreFilter(ctx, framework.NewCycleState(), pod, nil)
	switch {
	case status.IsSkip():
		return nil, "", nil
	case status.IsRejected():
		return nil, status.Message(), nil
	case !status.IsSuccess():
		return nil, "", fmt.Errorf("looking at the claims of pod %q: %w", pod.Name, status.AsError())
	}
	claims, err := v.plugin.Binder.GetPodVolumeClaims(klog.FromContext(ctx), pod)
	if err != nil {
		return nil, "", fmt.Errorf("looking at the claims of pod %q: %w", pod.Name, err)
	}
	w = &volumeRequest{ctx: ctx, binder: v.plugin.Binder, pod: pod, claims: claims,
		found: map[string]*volumebinding.PodVolumes{}}
	return w, "", nil
}

// reject returns why the node does not fit; nil if it does.
func (w *volumeRequest) reject(node *corev1.Node) *rejection {
	if w == nil {
		return nil
	}
	found, reasons, err := w.binder.FindPodVolumes(klog.FromContext(w.ctx), w.pod, w.claims, node)
	if err != nil {
		return &rejection{reasons: []string{err.Error()}, volumes: true}
	}
	if len(reasons) > 0 {
		r := &rejection{volumes: true}
		for _, reason := range reasons {
			r.reasons = append(r.reasons, string(reason))
		}
		return r
	}
	w.found[node.Name] = found
	return nil
}

// reserve assumes the volumes that were found on the node. done is true if nothing is left to be bound.
func (w *volumeRequest) reserve(node string) (done bool, err error) {
	if w == nil {
		return true, nil
	}
	done, err = w.binder.AssumePodVolumes(klog.FromContext(w.ctx), w.pod, node, w.found[node])
	if err != nil {
		return false, fmt.Errorf("reserving the volumes of pod %q on node %q: %w", w.pod.Name, node, err)
	}
	return done, nil
}

// release reverts reserve.
func (w *volumeRequest) release(node string) { w.binder.RevertAssumedPodVolumes(w.found[node]) }

// startBinding writes what is to be bound into claims and volumes. The pod has a pendingBinding until forget.
func (v *volumeBinder) startBinding(ctx context.Context, r engine.Request, w *volumeRequest, node string) error {
	pod := *w.pod
	pod.Spec.NodeName = node
	u := &pendingBinding{pod: &pod, volumes: w.found[node]}
	v.mu.Lock()
	v.bindings[r] = u // before the events of the claims
	v.mu.Unlock()
	err := v.plugin.Binder.BindPodVolumes(ctx, &pod, u.volumes)
	if err == nil || wait.Interrupted(err) && ctx.Err() == nil {
		return nil
	}
	v.forget(r)
	return fmt.Errorf("binding the volumes of pod %q: %w", pod.Name, err)
}

// get returns the binding of the pod of that name; nil if there is none.
func (v *volumeBinder) get(r engine.Request) *pendingBinding {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.bindings[r]
}

// forget drops the binding of the pod, and reverts what was assumed of volumes for it.
func (v *volumeBinder) forget(r engine.Request) {
	v.mu.Lock()
	u := v.bindings[r]
	delete(v.bindings, r)
	v.mu.Unlock()
	if u != nil {
		v.plugin.Binder.RevertAssumedPodVolumes(u.volumes)
	}
}

// podsUsing returns the pods with a pendingBinding that use the claim, sorted; all of them if claim is empty.
func (v *volumeBinder) podsUsing(namespace, claim string) []engine.Request {
	v.mu.Lock()
	defer v.mu.Unlock()
	var requests []engine.Request
	for r, u := range v.bindings {
		if claim == "" || r.Namespace == namespace && uses(u.pod, claim) {
			requests = append(requests, r)
		}
	}
	slices.SortFunc(requests, func(a, b engine.Request) int { return strings.Compare(a.String(), b.String()) })
	return requests
}

// errProvisioningFailed is why a pod with a pendingBinding must be scheduled again; the text is kube-scheduler's.
var errProvisioningFailed = errors.New("provisioning failed")

// isBound reports whether all claims that the pod waits for are bound. It mirrors volumeBinder.checkBindings of
// k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding/binder.go. An error is why the pod must be scheduled
// again.
func (v *volumeBinder) isBound(ctx context.Context, u *pendingBinding, node *corev1.Node) (bool, error) {
	for _, p := range u.volumes.DynamicProvisions {
		claim, err := v.claims.PersistentVolumeClaims(p.PVC.Namespace).Get(p.PVC.Name)
		if err != nil {
			return false, fmt.Errorf("failed to check provisioning pvc: %w", err)
		}
		seen := claim.ResourceVersion != p.PVC.ResourceVersion // that is: what startBinding wrote
		if seen && claim.Annotations[volumehelpers.AnnSelectedNode] != u.pod.Spec.NodeName {
			return false, fmt.Errorf("%w for PVC %q", errProvisioningFailed, claim.Name)
		}
	}
	for i := range u.pod.Spec.Volumes {
		name := claimName(u.pod, &u.pod.Spec.Volumes[i])
		if name == "" {
			continue
		}
		claim, err := v.claims.PersistentVolumeClaims(u.pod.Namespace).Get(name)
		if err != nil {
			return false, fmt.Errorf("failed to check binding: %w", err)
		}
		if claim.Spec.VolumeName == "" || !metav1.HasAnnotation(claim.ObjectMeta, volumehelpers.AnnBindCompleted) {
			return false, nil
		}
	}
	w, rejected, err := v.requestFor(ctx, u.pod)
	if err == nil && rejected != "" {
		err = errors.New(rejected)
	}
	if err != nil {
		return false, err
	}
	if r := w.reject(node); r != nil {
		return false, errors.New(r.reasons[0])
	}
	return true, nil
}

// claimName returns the name of the claim of a pod's volume; "" if the volume has none.
func claimName(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return ephemeral.VolumeClaimName(pod, volume)
	}
	return ""
}

// uses reports whether the pod has a volume with the claim.
func uses(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return claimName(pod, &v) == claim })
}
