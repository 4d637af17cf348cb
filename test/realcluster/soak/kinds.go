package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// kind is what a client does to objects of a kind. change is nil for those that it only makes and removes.
type kind struct {
	create func(ctx context.Context, name string) error
	change func(ctx context.Context, name string) error
	remove func(ctx context.Context, name string, o metav1.DeleteOptions) error
}

// api is the part of a typed client that a kind needs.
type api[T any] interface {
	Create(ctx context.Context, o *T, options metav1.CreateOptions) (*T, error)
	Patch(
		ctx context.Context, name string, t types.PatchType, data []byte, options metav1.PatchOptions,
		subresources ...string,
	) (*T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// kindOf is the kind of the objects that fresh makes, which patch changes unless it is nil.
func kindOf[T any](of api[T], fresh func(name string) *T, patch func() []byte) kind {
	k := kind{
		create: func(ctx context.Context, name string) error {
			_, err := of.Create(ctx, fresh(name), metav1.CreateOptions{})
			return err
		},
		remove: of.Delete,
	}
	if patch != nil {
		k.change = func(ctx context.Context, name string) error {
			_, err := of.Patch(ctx, name, types.MergePatchType, patch(), metav1.PatchOptions{})
			return err
		}
	}
	return k
}

// kinds are those that there are.
func (c *churn) kinds() []kind {
	apps, core := c.client.AppsV1(), c.client.CoreV1()
	return []kind{
		kindOf(apps.Deployments(c.namespace), c.deployment, c.scaled),
		kindOf(apps.StatefulSets(c.namespace), c.statefulSet, c.scaled),
		kindOf(apps.DaemonSets(c.namespace), daemonSet, c.rollout),
		c.jobs(),
		kindOf(core.Services(c.namespace), service, nil),
		kindOf(c.client.PolicyV1().PodDisruptionBudgets(c.namespace), budget, nil),
		c.dependents(),
	}
}

// labels select the pods of an object.
func labels(kind, name string) map[string]string { return map[string]string{"app": name, "kind": kind} }

func selector(kind, name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: labels(kind, name)}
}

func template(kind, name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels(kind, name)},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: "image:1"}}, TerminationGracePeriodSeconds: new(int64(1)),
		},
	}
}

func (c *churn) deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(c.random.Int32N(5)), RevisionHistoryLimit: new(int32(2)),
			Selector: selector("deployment", name), Template: template("deployment", name),
		},
	}
}

func (c *churn) statefulSet(name string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(c.random.Int32N(4)), RevisionHistoryLimit: new(int32(2)), ServiceName: name,
			Selector: selector("statefulset", name), Template: template("statefulset", name),
		},
	}
}

func daemonSet(name string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DaemonSetSpec{
			RevisionHistoryLimit: new(int32(2)),
			Selector:             selector("daemonset", name), Template: template("daemonset", name),
		},
	}
}

// jobs have a new name each, and are removed by their time to live, too. A Job that is made again under its name while
// kube-apiserver is away looks to upstream's controller like a change of the one before: updateJob of
// pkg/controller/job/job_controller.go does not compare UIDs, and the finalizers of the earlier one's pods stay for
// ever.
func (c *churn) jobs() kind {
	k := kindOf(c.client.BatchV1().Jobs(c.namespace), job, nil)
	k.remove = removal("job", c.client.BatchV1().Jobs(c.namespace).DeleteCollection)
	return k
}

func job(name string) *batchv1.Job {
	pods := template("job", name)
	pods.Labels = nil
	pods.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-", Labels: labels("job", name)},
		Spec: batchv1.JobSpec{
			Completions: new(int32(2)), Parallelism: new(int32(2)), TTLSecondsAfterFinished: new(int32(5)),
			Template: pods,
		},
	}
}

func service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Selector: labels("deployment", name),
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
}

func budget(name string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(1)), Selector: selector("deployment", name),
		},
	}
}

// dependents are ConfigMaps that belong to a Deployment: when it goes, the garbage collector takes them.
func (c *churn) dependents() kind {
	of := c.client.CoreV1().ConfigMaps(c.namespace)
	return kind{
		create: func(ctx context.Context, name string) error {
			owner, err := c.client.AppsV1().Deployments(c.namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			controller := metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("Deployment"))
			_, err = of.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				GenerateName: name + "-", Labels: labels("dependent", name),
				OwnerReferences: []metav1.OwnerReference{*controller},
			}}, metav1.CreateOptions{})
			return err
		},
		remove: removal("dependent", of.DeleteCollection),
	}
}

// removal removes objects of a kind whose names are unique, all of a slot's at once.
func removal(
	kind string, all func(context.Context, metav1.DeleteOptions, metav1.ListOptions) error,
) func(context.Context, string, metav1.DeleteOptions) error {
	return func(ctx context.Context, name string, o metav1.DeleteOptions) error {
		return all(ctx, o, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(selector(kind, name))})
	}
}
