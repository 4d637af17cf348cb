package plan

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// Rollout is what a plan makes of the pods of one workload, the outermost owner of the pods.
type Rollout struct {
	Object ObjectID
	// Before and After are how many pods are ready at the beginning and at the end, Lowest the fewest meanwhile.
	Before, After, Lowest int
	// Sizes are the numbers of replicas that are asked for, of each object that owns pods, in their order. The first of
	// each owner is that of the beginning, 0 if it is created.
	Sizes []Size
}

// Size is how many replicas an owner of pods is asked to have.
type Size struct {
	// Step is the number of steps before the one that asks for them.
	Step     int
	Owner    ObjectID
	Replicas int64
}

// rollouts follows the pods of workloads. It must begin before it observes. Its methods must not be called
// concurrently.
type rollouts struct {
	owners map[types.UID]owner
	pods   map[types.UID]followedPod
	ready  map[types.UID]int // by workload
	found  map[types.UID]*Rollout
	order  []types.UID // of found

	// refused are the ReplicaSets that were refused pods, which their controller tries to make again and again.
	refused []ObjectID
	budgets []*followedBudget
}

// owner is an object that owns others, and what controls it; empty if nothing does.
type owner struct {
	id         ObjectID
	controller types.UID
}

// followedPod is a pod: its workload, and whether it is ready.
type followedPod struct {
	id       ObjectID // its namespace and name only
	workload types.UID
	ready    bool
}

// begin reads which pods there are.
func (r *rollouts) begin(ctx context.Context, s *runlocal.Session) error {
	r.owners, r.pods = map[types.UID]owner{}, map[types.UID]followedPod{}
	r.ready, r.found, r.order = map[types.UID]int{}, map[types.UID]*Rollout{}, nil
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		return fmt.Errorf("making a client of the API: %w", err)
	}
	sets, err := client.AppsV1().ReplicaSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing ReplicaSets: %w", err)
	}
	r.refused = nil
	for i := range sets.Items {
		set := &sets.Items[i]
		r.addOwner(set, ObjectID{
			Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"},
			Kind:     "ReplicaSet",
		})
		for _, c := range set.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
				r.refused = append(r.refused, r.owners[set.UID].id)
			}
		}
	}
	jobs, err := client.BatchV1().Jobs("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing Jobs: %w", err)
	}
	for i := range jobs.Items {
		r.addOwner(&jobs.Items[i], ObjectID{
			Resource: schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, Kind: "Job",
		})
	}
	if err := r.readBudgets(ctx, client); err != nil {
		return err
	}
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		ready := false
		for _, c := range pod.Status.Conditions {
			ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}
		r.setPod(pod, ready && pod.DeletionTimestamp == nil)
		r.observeBudgets(pod, ready && pod.DeletionTimestamp == nil, true)
	}
	return nil
}

// addOwner takes note of an object and of what controls it.
func (r *rollouts) addOwner(obj metav1.Object, id ObjectID) {
	id.Namespace, id.Name = obj.GetNamespace(), obj.GetName()
	o := owner{id: id}
	if c := metav1.GetControllerOfNoCopy(obj); c != nil {
		o.controller = c.UID
		r.refer(c, obj.GetNamespace())
	}
	r.owners[obj.GetUID()] = o
}

// refer takes note of an object that is known by a reference only.
func (r *rollouts) refer(c *metav1.OwnerReference, namespace string) {
	if _, known := r.owners[c.UID]; known {
		return
	}
	gv, err := schema.ParseGroupVersion(c.APIVersion)
	if err != nil {
		return
	}
	r.owners[c.UID] = owner{id: ObjectID{
		Resource: schema.GroupVersionResource{Group: gv.Group, Version: gv.Version}, Kind: c.Kind,
		Namespace: namespace, Name: c.Name,
	}}
}

// workload returns the outermost owner, from an object up.
func (r *rollouts) workload(uid types.UID) types.UID {
	for range len(r.owners) + 1 { // owners may own each other in a circle
		o, known := r.owners[uid]
		if !known || o.controller == "" {
			break
		}
		uid = o.controller
	}
	return uid
}

// setPod takes note of a pod.
func (r *rollouts) setPod(pod metav1.Object, ready bool) {
	c := metav1.GetControllerOfNoCopy(pod)
	if c == nil {
		r.removePod(pod.GetUID())
		return
	}
	r.refer(c, pod.GetNamespace())
	r.removePod(pod.GetUID())
	p := followedPod{
		id: ObjectID{Namespace: pod.GetNamespace(), Name: pod.GetName()}, workload: r.workload(c.UID), ready: ready,
	}
	r.pods[pod.GetUID()] = p
	if ready {
		r.ready[p.workload]++
	}
}

// removePod forgets a pod.
func (r *rollouts) removePod(uid types.UID) {
	if p, known := r.pods[uid]; known && p.ready {
		r.ready[p.workload]--
	}
	delete(r.pods, uid)
}

// observe takes a write into account, after that many steps.
func (r *rollouts) observe(w api.Write, step int) {
	obj := w.After
	if obj == nil {
		obj = w.Before
	}
	if w.Resource.GroupResource() == (schema.GroupResource{Resource: "pods"}) {
		r.observePod(w, obj)
		return
	}
	if w.After == nil {
		return
	}
	if _, known := r.owners[obj.GetUID()]; !known || metav1.GetControllerOfNoCopy(obj) != nil {
		r.addOwner(obj, ObjectID{Resource: w.Resource, Kind: obj.GetKind()})
	}
	r.observeSize(w, step)
}

func (r *rollouts) observePod(w api.Write, pod *unstructured.Unstructured) {
	if c := metav1.GetControllerOfNoCopy(pod); c != nil {
		r.refer(c, pod.GetNamespace())
		r.rollout(r.workload(c.UID))
	}
	ready := w.After != nil && isReady(pod) && pod.GetDeletionTimestamp() == nil
	r.observeBudgets(pod, ready, false)
	if w.After == nil {
		r.removePod(pod.GetUID())
	} else {
		r.setPod(pod, ready)
	}
	for uid, rollout := range r.found {
		rollout.Lowest = min(rollout.Lowest, r.ready[uid])
	}
}

// rollout returns that of a workload, which begins with the first write of one of its objects.
func (r *rollouts) rollout(workload types.UID) *Rollout {
	found := r.found[workload]
	if found == nil {
		n := r.ready[workload]
		found = &Rollout{Object: r.owners[workload].id, Before: n, Lowest: n}
		r.found[workload] = found
		r.order = append(r.order, workload)
	}
	return found
}

// observeSize takes note of a change of the number of replicas of what owns pods.
func (r *rollouts) observeSize(w api.Write, step int) {
	switch w.Resource.GroupResource().String() {
	case "replicasets.apps", "statefulsets.apps", "replicationcontrollers":
	default:
		return
	}
	after, _, err := unstructured.NestedInt64(w.After.Object, "spec", "replicas")
	if err != nil {
		return
	}
	var before int64 // of what is created
	if w.Before != nil {
		before, _, err = unstructured.NestedInt64(w.Before.Object, "spec", "replicas")
	}
	if err != nil || before == after {
		return
	}
	rollout := r.rollout(r.workload(w.After.GetUID()))
	id := ObjectID{
		Resource: w.Resource, Kind: w.After.GetKind(), Namespace: w.After.GetNamespace(), Name: w.After.GetName(),
	}
	known := false
	for _, size := range rollout.Sizes {
		known = known || size.Owner == id
	}
	if !known {
		rollout.Sizes = append(rollout.Sizes, Size{Step: step, Owner: id, Replicas: before})
	}
	rollout.Sizes = append(rollout.Sizes, Size{Step: step, Owner: id, Replicas: after})
}

func isReady(pod *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(pod.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, c := range conditions {
		m, ok := c.(map[string]any)
		if ok && m["type"] == string(corev1.PodReady) && m["status"] == string(corev1.ConditionTrue) {
			return true
		}
	}
	return false
}

// related returns the queue keys of the objects, of their owners, and of what they own. To a quota or a range of limits
// belong the ReplicaSets of its namespace that were refused pods.
func (r *rollouts) related(of []ObjectID) map[string]bool {
	out := map[string]bool{}
	add := func(id ObjectID) { out[strings.TrimPrefix(id.Namespace+"/"+id.Name, "/")] = true }
	wanted := map[types.UID]bool{}
	for _, id := range of {
		add(id)
		for _, set := range r.refused {
			if (id.Kind == "ResourceQuota" || id.Kind == "LimitRange") && id.Namespace == set.Namespace {
				add(set)
			}
		}
		for uid, o := range r.owners {
			if o.id.Kind == id.Kind && o.id.Namespace == id.Namespace && o.id.Name == id.Name {
				wanted[r.workload(uid)] = true
			}
		}
		for uid, p := range r.pods {
			if id.Kind == "Pod" && p.id.Namespace == id.Namespace && p.id.Name == id.Name {
				wanted[r.pods[uid].workload] = true
			}
		}
	}
	for uid, o := range r.owners {
		if wanted[r.workload(uid)] {
			add(o.id)
		}
	}
	for _, p := range r.pods {
		if wanted[p.workload] {
			add(p.id)
		}
	}
	return out
}

// list returns the rollouts at the end, in the order of their beginnings.
func (r *rollouts) list(n *names) []Rollout {
	var out []Rollout
	for _, uid := range r.order {
		rollout := *r.found[uid]
		rollout.After = r.ready[uid]
		rollout.Object.Name = n.replace(rollout.Object.Name)
		for i := range rollout.Sizes {
			rollout.Sizes[i].Owner.Name = n.replace(rollout.Sizes[i].Owner.Name)
		}
		out = append(out, rollout)
	}
	return out
}
