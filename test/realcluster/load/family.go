package load

import (
	"context"
	"fmt"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// filler makes families. Its methods may be called concurrently.
type filler struct {
	client kubernetes.Interface
	made   func(int)
	count  atomic.Int64
}

// Who is said to have written the fields.
var (
	byController = metav1.CreateOptions{FieldManager: "kube-controller-manager"}
	byUser       = metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}
	statusBy     = metav1.UpdateOptions{FieldManager: "kube-controller-manager"}
	statusByNode = metav1.UpdateOptions{FieldManager: "kubelet"}
)

// family makes the n-th Deployment and all that it owns.
func (f *filler) family(ctx context.Context, namespace string, n int) error {
	deployments := f.client.AppsV1().Deployments(namespace)
	d, err := deployments.Create(ctx, deployment(n), byUser)
	if err != nil {
		return fmt.Errorf("making Deployment %d in %q: %w", n, namespace, err)
	}
	f.add()
	for revision := 1; revision <= oldReplicaSets; revision++ {
		if _, err := f.replicaSet(ctx, d, n, revision, 0); err != nil {
			return err
		}
	}
	owner, err := f.replicaSet(ctx, d, n, oldReplicaSets+1, pods)
	if err != nil {
		return err
	}
	for i := range pods {
		if err := f.pod(ctx, owner, n, i); err != nil {
			return err
		}
	}
	d.Status = deploymentStatus(d)
	if _, err := deployments.UpdateStatus(ctx, d, statusBy); err != nil {
		return fmt.Errorf("setting the status of Deployment %q in %q: %w", d.Name, namespace, err)
	}
	return nil
}

func (f *filler) replicaSet(ctx context.Context, owner *appsv1.Deployment, n, revision, replicas int) (*appsv1.ReplicaSet, error) {
	client := f.client.AppsV1().ReplicaSets(owner.Namespace)
	rs, err := client.Create(ctx, replicaSet(owner, n, revision, replicas), byController)
	if err != nil {
		return nil, fmt.Errorf("making revision %d of Deployment %q in %q: %w", revision, owner.Name, owner.Namespace, err)
	}
	f.add()
	rs.Status = replicaSetStatus(rs)
	rs, err = client.UpdateStatus(ctx, rs, statusBy)
	if err != nil {
		return nil, fmt.Errorf("setting the status of revision %d of Deployment %q in %q: %w", revision, owner.Name, owner.Namespace, err)
	}
	return rs, nil
}

func (f *filler) pod(ctx context.Context, owner *appsv1.ReplicaSet, family, i int) error {
	client := f.client.CoreV1().Pods(owner.Namespace)
	pod, err := client.Create(ctx, pod(owner, family, i), byController)
	if err != nil {
		return fmt.Errorf("making pod %d of ReplicaSet %q in %q: %w", i, owner.Name, owner.Namespace, err)
	}
	f.add()
	pod.Status = podStatus(pod, family*pods+i)
	if _, err := client.UpdateStatus(ctx, pod, statusByNode); err != nil {
		return fmt.Errorf("setting the status of pod %q in %q: %w", pod.Name, owner.Namespace, err)
	}
	return nil
}

func (f *filler) add() {
	n := f.count.Add(1)
	if f.made != nil {
		f.made(int(n))
	}
}
