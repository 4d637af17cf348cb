package moment

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// usualTable has the kinds that clusters have and that explain how others are doing: version, kind, resource and short
// names, which are separated by commas. In the first column, n is for kinds in namespaces and s for those with a
// status.
var usualTable = []struct{ scope, groupVersion, kind, resource, shortNames string }{
	{"n", "v1", "ConfigMap", "configmaps", "cm"},
	{"n", "v1", "Event", "events", "ev"},
	{"n", "v1", "LimitRange", "limitranges", "limits"},
	{"s", "v1", "Namespace", "namespaces", "ns"},
	{"s", "v1", "Node", "nodes", "no"},
	{"ns", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc"},
	{"s", "v1", "PersistentVolume", "persistentvolumes", "pv"},
	{"ns", "v1", "Pod", "pods", "po"},
	{"ns", "v1", "ReplicationController", "replicationcontrollers", "rc"},
	{"ns", "v1", "ResourceQuota", "resourcequotas", "quota"},
	{"n", "v1", "Secret", "secrets", ""},
	{"n", "v1", "ServiceAccount", "serviceaccounts", "sa"},
	{"ns", "v1", "Service", "services", "svc"},
	{"s", "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", "crd,crds"},
	{"n", "apps/v1", "ControllerRevision", "controllerrevisions", ""},
	{"ns", "apps/v1", "DaemonSet", "daemonsets", "ds"},
	{"ns", "apps/v1", "Deployment", "deployments", "deploy"},
	{"ns", "apps/v1", "ReplicaSet", "replicasets", "rs"},
	{"ns", "apps/v1", "StatefulSet", "statefulsets", "sts"},
	{"ns", "autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa"},
	{"ns", "batch/v1", "CronJob", "cronjobs", "cj"},
	{"ns", "batch/v1", "Job", "jobs", ""},
	{"n", "coordination.k8s.io/v1", "Lease", "leases", ""},
	{"n", "discovery.k8s.io/v1", "EndpointSlice", "endpointslices", ""},
	{"", "networking.k8s.io/v1", "IngressClass", "ingressclasses", ""},
	{"ns", "networking.k8s.io/v1", "Ingress", "ingresses", "ing"},
	{"ns", "policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb"},
	{"", "scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", "pc"},
	{"", "storage.k8s.io/v1", "StorageClass", "storageclasses", "sc"},
	{"s", "storage.k8s.io/v1", "VolumeAttachment", "volumeattachments", ""},
}

// usualKinds returns the kinds that clusters have in any case, as far as commands look at them.
func usualKinds() []cluster.Kind {
	var out []cluster.Kind
	for _, u := range usualTable {
		version, err := schema.ParseGroupVersion(u.groupVersion)
		if err != nil {
			continue // a test shows it
		}
		kind := cluster.Kind{
			GroupVersionKind: version.WithKind(u.kind), Resource: u.resource, Singular: strings.ToLower(u.kind),
			Namespaced: strings.Contains(u.scope, "n"), HasStatus: strings.Contains(u.scope, "s"),
			Verbs: []string{"delete", "get", "list", "watch"},
		}
		if u.kind == "Lease" { // hardly anything owns one: a tree is not incomplete without them
			kind.Verbs = kind.Verbs[1:]
		}
		if u.shortNames != "" {
			kind.ShortNames = strings.Split(u.shortNames, ",")
		}
		out = append(out, kind)
	}
	return out
}
