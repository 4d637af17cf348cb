package nodes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

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

// bindVolumes begins to bind the pod's claims, as bindingCycle in pkg/scheduler/schedule_one.go does. What it waits for then
// brings the pod back.
func (s *scheduler) bindVolumes(ctx context.Context, r engine.Request, pod *corev1.Pod, d decision) (engine.Result, error) {
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

// pendingBinding returns the pod of that uid as far as it is; nil if it does not wait for claims to be bound. Another one of the
// name is gone, and is forgotten: an attempt may have ended after its deletion was seen.
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
func (s *scheduler) finishBinding(ctx context.Context, r engine.Request, pod *corev1.Pod, u *pendingBinding) (engine.Result, error) {
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
