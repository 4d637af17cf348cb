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

// decision is what the scheduler has decided of a pod: a node, where it is assumed, or why there is none.
type decision struct {
	node         string
	fitError     *fitError
	request      *volumeRequest
	volumesBound bool // its claims are, if it has any
}

// decide chooses a node, and assumes the pod and its volumes there.
func (s *scheduler) decide(ctx context.Context, pod *corev1.Pod) (decision, error) {
	seen := s.cache.currentChanges()
	if s.volumes == nil {
		node, unfit := s.cache.schedule(pod, nil, seen)
		return decision{node: node, fitError: unfit, volumesBound: true}, nil
	}
	s.volumes.deciding.Lock()
	defer s.volumes.deciding.Unlock()
	w, refused, err := s.volumes.requestFor(ctx, pod)
	if err != nil {
		return decision{}, err
	}
	if refused != "" {
		return decision{fitError: s.cache.rejectAll(pod, refused, seen)}, nil
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

// unassume gives up the node that the pod is assumed on.
func (s *scheduler) unassume(pod *corev1.Pod) {
	if s.cache.unassume(pod.UID) {
		s.retryLackingRoom()
	}
}

// bindVolumes begins to bind the pod's claims, as bindingCycle in pkg/scheduler/schedule_one.go does. What it waits for
// then brings the pod back.
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

// nominate tells in the pod's status which node it is about to be bound to; an empty name takes that back.
func (s *scheduler) nominate(ctx context.Context, pod *corev1.Pod, node string) error {
	status := pod.Status.DeepCopy()
	status.NominatedNodeName = node
	_, err := patchStatus(ctx, s.client, pod, status)
	return err
}

// pendingBinding returns the pod of that uid as far as it is; nil if it does not wait for claims to be bound. Another
// one of the name is gone, and is forgotten: an attempt may have ended after its deletion was seen.
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

// finishBinding binds a pod whose claims are bound, and schedules it anew if they cannot be.
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
		anew := pod.DeepCopy()
		anew.Status.NominatedNodeName = ""
		if err := s.nominate(ctx, pod, ""); err != nil {
			return engine.Result{}, err
		}
		why := &fitError{volumes: true, seen: s.cache.currentChanges()}
		why.bindError = `running PreBind plugin "VolumeBinding": binding volumes: ` + err.Error()
		if result, err := s.unschedulable(ctx, r, anew, corev1.PodReasonSchedulerError, why); err != nil {
			return result, err
		}
		return engine.Result{RequeueAfter: firstScheduleBackoff}, nil
	case !bound:
		return engine.Result{}, nil
	}
	s.volumes.forget(r)
	return engine.Result{}, s.bindToNode(ctx, r, pod, name)
}

// dropPod forgets a pod that is gone, or is not to be scheduled any more.
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

// onClaim tells of pods that wait for the claim.
func (s *scheduler) onClaim(e engine.Event) []engine.Request {
	claim := e.Object()
	s.cache.changedVolumes()
	if e.New != nil {
		s.retry(func(r engine.Request, a schedulingAttempts) bool {
			if !a.volumes || r.Namespace != claim.GetNamespace() {
				return false
			}
			pod, err := s.pods.Pods(r.Namespace).Get(r.Name)
			return err == nil && uses(pod, claim.GetName())
		})
	}
	return s.volumes.podsUsing(claim.GetNamespace(), claim.GetName())
}

// onVolume tells of pods that may wait for the volume.
func (s *scheduler) onVolume(e engine.Event) []engine.Request {
	s.onClass(e)
	return s.volumes.podsUsing("", "")
}

// onClass tries pods again that may need the class: it may let claims wait for them, and allow more nodes.
func (s *scheduler) onClass(e engine.Event) []engine.Request {
	s.cache.changedVolumes()
	if e.New != nil {
		s.retry(func(_ engine.Request, a schedulingAttempts) bool { return a.volumes })
	}
	return nil
}

// volumeBinder are what the scheduler knows of volumes, by kube-scheduler's own plugin VolumeBinding. The plugin waits
// for claims to be bound, ten minutes at most; here that is left to watch events, for as long as it takes: the plugin's
// time to wait is none.
type volumeBinder struct {
	plugin *volumebinding.VolumeBinding
	claims corelisters.PersistentVolumeClaimLister
	// deciding keeps one pod's decision, from looking at volumes to assuming them, apart from another's.
	deciding sync.Mutex

	mu       sync.Mutex
	bindings map[engine.Request]*pendingBinding
}

// pendingBinding is a pod that has a node and waits for its claims to be bound.
type pendingBinding struct {
	pod     *corev1.Pod // with its node
	volumes *volumebinding.PodVolumes
}

// newVolumeBinder registers handlers with informers of volumes, claims and more.
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

// request are a pod's claims, and how each node that was looked at would meet them.
type volumeRequest struct {
	ctx    context.Context
	binder volumebinding.SchedulerVolumeBinder
	pod    *corev1.Pod
	claims *volumebinding.PodVolumeClaims
	found  map[string]*volumebinding.PodVolumes
}

// requestFor looks at the pod's claims. They are nil for a pod without any. refused is why no node will do.
func (v *volumeBinder) requestFor(ctx context.Context, pod *corev1.Pod) (w *volumeRequest, refused string, err error) {
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

// reject says why the node does not do; nil if it does. A nil receiver wishes for nothing.
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

// reserve assumes that the node's volumes are the pod's. done says that nothing is left to be bound.
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

// release takes back what reserve has assumed.
func (w *volumeRequest) release(node string) { w.binder.RevertAssumedPodVolumes(w.found[node]) }

// startBinding writes what is to be bound into claims and volumes. The pod is under way then, until end.
func (v *volumeBinder) startBinding(ctx context.Context, r engine.Request, w *volumeRequest, node string) error {
	pod := *w.pod
	pod.Spec.NodeName = node
	u := &pendingBinding{pod: &pod, volumes: w.found[node]}
	v.mu.Lock()
	v.bindings[r] = u // before claims tell of it
	v.mu.Unlock()
	err := v.plugin.Binder.BindPodVolumes(ctx, &pod, u.volumes)
	if err == nil || wait.Interrupted(err) && ctx.Err() == nil {
		return nil
	}
	v.forget(r)
	return fmt.Errorf("binding the volumes of pod %q: %w", pod.Name, err)
}

// get returns how far the pod of that name is; nil if none is under way.
func (v *volumeBinder) get(r engine.Request) *pendingBinding {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.bindings[r]
}

// forget forgets the pod, and what was assumed of volumes for it.
func (v *volumeBinder) forget(r engine.Request) {
	v.mu.Lock()
	u := v.bindings[r]
	delete(v.bindings, r)
	v.mu.Unlock()
	if u != nil {
		v.plugin.Binder.RevertAssumedPodVolumes(u.volumes)
	}
}

// podsUsing lists the pods that are under way and use the claim, by name; with an empty name of the claim, all.
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

// errProvisioningFailed is why a pod under way has to be scheduled anew; its text is that of kube-scheduler.
var errProvisioningFailed = errors.New("provisioning failed")

// isBound reports whether all that the pod waits for is bound. It mirrors checkBindings in
// pkg/scheduler/framework/plugins/volumebinding/binder.go; an error is why the pod has to be scheduled anew.
func (v *volumeBinder) isBound(ctx context.Context, u *pendingBinding, node *corev1.Node) (bool, error) {
	for _, p := range u.volumes.DynamicProvisions {
		claim, err := v.claims.PersistentVolumeClaims(p.PVC.Namespace).Get(p.PVC.Name)
		if err != nil {
			return false, fmt.Errorf("failed to check provisioning pvc: %w", err)
		}
		seen := claim.ResourceVersion != p.PVC.ResourceVersion // what we have written
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
	w, refused, err := v.requestFor(ctx, u.pod)
	if err == nil && refused != "" {
		err = errors.New(refused)
	}
	if err != nil {
		return false, err
	}
	if r := w.reject(node); r != nil {
		return false, errors.New(r.reasons[0])
	}
	return true, nil
}

// claimName is the claim of a pod's volume; empty if it has none.
func claimName(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return ephemeral.VolumeClaimName(pod, volume)
	}
	return ""
}

func uses(pod *corev1.Pod, claim string) bool {
	for i := range pod.Spec.Volumes {
		if claimName(pod, &pod.Spec.Volumes[i]) == claim {
			return true
		}
	}
	return false
}
