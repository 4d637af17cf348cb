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

// kinds are those that there are.
func (c *churn) kinds() []kind {
	return []kind{c.deployments(), c.statefulSets(), c.daemonSets(), c.jobs(), c.services(), c.budgets(), c.dependents()}
}

// made drops what a request returns beside its error.
func made[T any](_ T, err error) error { return err }

// labels select the pods of an object.
func labels(kind, name string) map[string]string { return map[string]string{"app": name, "kind": kind} }

func template(kind, name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels(kind, name)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image:1"}}, TerminationGracePeriodSeconds: new(int64(1))},
	}
}

func (c *churn) deployments() kind {
	api := c.client.AppsV1().Deployments(c.namespace)
	return kind{
		create: func(ctx context.Context, name string) error {
			return made(api.Create(ctx, &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: appsv1.DeploymentSpec{
					Replicas: new(c.random.Int32N(5)), RevisionHistoryLimit: new(int32(2)),
					Selector: &metav1.LabelSelector{MatchLabels: labels("deployment", name)}, Template: template("deployment", name),
				},
			}, metav1.CreateOptions{}))
		},
		change: func(ctx context.Context, name string) error {
			return made(api.Patch(ctx, name, types.MergePatchType, c.scaled(), metav1.PatchOptions{}))
		},
		remove: api.Delete,
	}
}

func (c *churn) statefulSets() kind {
	api := c.client.AppsV1().StatefulSets(c.namespace)
	return kind{
		create: func(ctx context.Context, name string) error {
			return made(api.Create(ctx, &appsv1.StatefulSet{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: appsv1.StatefulSetSpec{
					Replicas: new(c.random.Int32N(4)), RevisionHistoryLimit: new(int32(2)), ServiceName: name,
					Selector: &metav1.LabelSelector{MatchLabels: labels("statefulset", name)}, Template: template("statefulset", name),
				},
			}, metav1.CreateOptions{}))
		},
		change: func(ctx context.Context, name string) error {
			return made(api.Patch(ctx, name, types.MergePatchType, c.scaled(), metav1.PatchOptions{}))
		},
		remove: api.Delete,
	}
}

func (c *churn) daemonSets() kind {
	api := c.client.AppsV1().DaemonSets(c.namespace)
	return kind{
		create: func(ctx context.Context, name string) error {
			return made(api.Create(ctx, &appsv1.DaemonSet{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: appsv1.DaemonSetSpec{
					RevisionHistoryLimit: new(int32(2)),
					Selector:             &metav1.LabelSelector{MatchLabels: labels("daemonset", name)}, Template: template("daemonset", name),
				},
			}, metav1.CreateOptions{}))
		},
		change: func(ctx context.Context, name string) error {
			return made(api.Patch(ctx, name, types.MergePatchType, c.rollout(), metav1.PatchOptions{}))
		},
		remove: api.Delete,
	}
}

// jobs are removed by their time to live, too.
func (c *churn) jobs() kind {
	api := c.client.BatchV1().Jobs(c.namespace)
	return kind{
		create: func(ctx context.Context, name string) error {
			pods := template("job", name)
			pods.Labels = nil
			pods.Spec.RestartPolicy = corev1.RestartPolicyNever
			return made(api.Create(ctx, &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: batchv1.JobSpec{
					Completions: new(int32(2)), Parallelism: new(int32(2)), TTLSecondsAfterFinished: new(int32(5)), Template: pods,
				},
			}, metav1.CreateOptions{}))
		},
		remove: api.Delete,
	}
}

func (c *churn) services() kind {
	api := c.client.CoreV1().Services(c.namespace)
	return kind{
		create: func(ctx context.Context, name string) error {
			return made(api.Create(ctx, &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: corev1.ServiceSpec{
					Selector: labels("deployment", name), Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
				},
			}, metav1.CreateOptions{}))
		},
		remove: api.Delete,
	}
}

func (c *churn) budgets() kind {
	api := c.client.PolicyV1().PodDisruptionBudgets(c.namespace)
	return kind{
		create: func(ctx context.Context, name string) error {
			return made(api.Create(ctx, &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: policyv1.PodDisruptionBudgetSpec{
					MaxUnavailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels("deployment", name)},
				},
			}, metav1.CreateOptions{}))
		},
		remove: api.Delete,
	}
}

// dependents are ConfigMaps that belong to a Deployment: when it goes, the garbage collector takes them.
func (c *churn) dependents() kind {
	api := c.client.CoreV1().ConfigMaps(c.namespace)
	return kind{
		create: func(ctx context.Context, name string) error {
			owner, err := c.client.AppsV1().Deployments(c.namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			return made(api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				GenerateName: name + "-", Labels: labels("dependent", name),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
			}}, metav1.CreateOptions{}))
		},
		remove: func(ctx context.Context, name string, o metav1.DeleteOptions) error {
			return api.DeleteCollection(ctx, o, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{
				MatchLabels: labels("dependent", name),
			})})
		},
	}
}
