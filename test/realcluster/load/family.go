package load

import (
	"context"
	"fmt"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// filler makes families. Its methods may be called concurrently.
type filler struct {
	client kubernetes.Interface
	made   func(int)
	owners func(int) []metav1.OwnerReference
	count  atomic.Int64
}

// Who is said to have written the fields.
var (
	byController = metav1.CreateOptions{FieldManager: "kube-controller-manager"}
	byUser       = metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}
	statusBy     = metav1.UpdateOptions{FieldManager: "kube-controller-manager"}
	statusByNode = metav1.UpdateOptions{FieldManager: "kubelet"}
)

// family is a Deployment with all that it owns, as the API server answered.
type family struct {
	deployment *appsv1.Deployment
	sets       []*appsv1.ReplicaSet // by revision; the last has the pods
	pods       []*corev1.Pod
}

// family makes the n-th.
func (f *filler) family(ctx context.Context, namespace string, n int) (*family, error) {
	deployments := f.client.AppsV1().Deployments(namespace)
	d, err := deployments.Create(ctx, f.deployment(n), byUser)
	if err != nil {
		return nil, fmt.Errorf("making Deployment %d in %q: %w", n, namespace, err)
	}
	f.add(1)
	made := &family{}
	for revision := 1; revision <= revisions; revision++ {
		rs, err := f.replicaSet(ctx, d, n, revision)
		if err != nil {
			return nil, err
		}
		made.sets = append(made.sets, rs)
	}
	for i := range pods {
		pod, err := f.pod(ctx, made.sets[revisions-1], n, i)
		if err != nil {
			return nil, err
		}
		made.pods = append(made.pods, pod)
	}
	d.Status = deploymentStatus(d)
	if made.deployment, err = deployments.UpdateStatus(ctx, d, statusBy); err != nil {
		return nil, fmt.Errorf("setting the status of Deployment %q in %q: %w", d.Name, namespace, err)
	}
	return made, nil
}

// deployment is the n-th, owned as the options say.
func (f *filler) deployment(n int) *appsv1.Deployment {
	d := deployment(n)
	if f.owners != nil {
		d.OwnerReferences = f.owners(n)
	}
	return d
}

func (f *filler) replicaSet(
	ctx context.Context, owner *appsv1.Deployment, n, revision int,
) (*appsv1.ReplicaSet, error) {
	client := f.client.AppsV1().ReplicaSets(owner.Namespace)
	rs, err := client.Create(ctx, replicaSet(owner, n, revision), byController)
	if err != nil {
		return nil, fmt.Errorf("making revision %d of Deployment %q in %q: %w",
			revision, owner.Name, owner.Namespace, err)
	}
	f.add(1)
	rs.Status = replicaSetStatus(rs)
	rs, err = client.UpdateStatus(ctx, rs, statusBy)
	if err != nil {
		return nil, fmt.Errorf("setting the status of revision %d of Deployment %q in %q: %w",
			revision, owner.Name, owner.Namespace, err)
	}
	return rs, nil
}

func (f *filler) pod(ctx context.Context, owner *appsv1.ReplicaSet, family, i int) (*corev1.Pod, error) {
	client := f.client.CoreV1().Pods(owner.Namespace)
	pod, err := client.Create(ctx, pod(owner, family, i), byController)
	if err != nil {
		return nil, fmt.Errorf("making pod %d of ReplicaSet %q in %q: %w", i, owner.Name, owner.Namespace, err)
	}
	f.add(1)
	pod.Status = podStatus(pod, family*pods+i)
	if pod, err = client.UpdateStatus(ctx, pod, statusByNode); err != nil {
		return nil, fmt.Errorf("setting the status of a pod of ReplicaSet %q in %q: %w",
			owner.Name, owner.Namespace, err)
	}
	return pod, nil
}

func (f *filler) add(objects int) {
	n := f.count.Add(int64(objects))
	if f.made != nil {
		f.made(int(n))
	}
}
