package load

import (
	"fmt"
	"hash/fnv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
)

func name(n int) string { return fmt.Sprintf("web-%04d", n) }

// hash takes the place of the hash of the n-th Deployment's pod template: it need not be the one that the controller
// would reckon, as it never sees it.
func hash(n, revision int) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%d/%d", n, revision)
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

func deployment(n int) *appsv1.Deployment {
	replicas := int32(pods)
	labels := map[string]string{"app": name(n)}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: name(n), Labels: labels,
			Annotations: map[string]string{"deployment.kubernetes.io/revision": fmt.Sprint(revisions)},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: template(labels, revisions),
		},
	}
}

// template is of a usual size: pods that are made from it have about 6 KB of JSON.
func template(labels map[string]string, revision int) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{
			"prometheus.io/scrape": "true", "prometheus.io/port": "8080",
		}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				container("web", revision, 8080), container("metrics", revision, 9090),
			},
			Volumes: []corev1.Volume{{
				Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
			}},
		},
	}
}

func container(name string, revision int, port int32) corev1.Container {
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)},
		}}
	}
	podName := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}
	amounts := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
	}
	return corev1.Container{
		Name: name, Image: fmt.Sprintf("example.com/%s:%d", name, revision),
		Ports: []corev1.ContainerPort{{Name: name, ContainerPort: port}},
		Env: []corev1.EnvVar{
			{Name: "REVISION", Value: fmt.Sprint(revision)}, {Name: "LOG_LEVEL", Value: "info"},
			{Name: "POD_NAME", ValueFrom: podName},
		},
		Resources:      corev1.ResourceRequirements{Requests: amounts},
		LivenessProbe:  probe("/livez"),
		ReadinessProbe: probe("/readyz"),
		VolumeMounts:   []corev1.VolumeMount{{Name: "cache", MountPath: "/cache"}},
	}
}

// replicaSet is that of a revision of the n-th Deployment, which is scaled to 0 unless it is the last.
func replicaSet(owner *appsv1.Deployment, n, revision int) *appsv1.ReplicaSet {
	id := hash(n, revision)
	labels := map[string]string{"app": owner.Name, "pod-template-hash": id}
	wanted := int32(0)
	if revision == revisions {
		wanted = pods
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: owner.Name + "-" + id, Labels: labels,
			Annotations:     map[string]string{"deployment.kubernetes.io/revision": fmt.Sprint(revision)},
			OwnerReferences: ownedBy(owner, "Deployment"),
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &wanted,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: template(labels, revision),
		},
	}
}

// pod is the i-th of the ReplicaSet of the family's Deployment.
func pod(owner *appsv1.ReplicaSet, family, i int) *corev1.Pod {
	suffix := rand.SafeEncodeString(fmt.Sprintf("%05d", (family*pods+i)%100_000))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:   owner.Name + "-" + suffix,
			Labels: owner.Spec.Template.Labels, Annotations: owner.Spec.Template.Annotations,
			OwnerReferences: ownedBy(owner, "ReplicaSet"),
		},
		Spec: owner.Spec.Template.Spec,
	}
}

// ownedBy is the reference to an object of the API group apps as the controller of what it owns.
func ownedBy(owner metav1.Object, kind string) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(kind))}
}
