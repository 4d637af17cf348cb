package moment

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// usualTable has the kinds that clusters have and that explain how others are doing: version, kind, resource and short
// names, which are separated by commas. The first column is n for kinds in namespaces.
var usualTable = []struct{ scope, groupVersion, kind, resource, shortNames string }{
	{"n", "v1", "ConfigMap", "configmaps", "cm"},
	{"n", "v1", "Event", "events", "ev"},
	{"n", "v1", "LimitRange", "limitranges", "limits"},
	{"", "v1", "Namespace", "namespaces", "ns"},
	{"", "v1", "Node", "nodes", "no"},
	{"n", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc"},
	{"", "v1", "PersistentVolume", "persistentvolumes", "pv"},
	{"n", "v1", "Pod", "pods", "po"},
	{"n", "v1", "ReplicationController", "replicationcontrollers", "rc"},
	{"n", "v1", "ResourceQuota", "resourcequotas", "quota"},
	{"n", "v1", "Secret", "secrets", ""},
	{"n", "v1", "ServiceAccount", "serviceaccounts", "sa"},
	{"n", "v1", "Service", "services", "svc"},
	{"", "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", "crd,crds"},
	{"n", "apps/v1", "ControllerRevision", "controllerrevisions", ""},
	{"n", "apps/v1", "DaemonSet", "daemonsets", "ds"},
	{"n", "apps/v1", "Deployment", "deployments", "deploy"},
	{"n", "apps/v1", "ReplicaSet", "replicasets", "rs"},
	{"n", "apps/v1", "StatefulSet", "statefulsets", "sts"},
	{"n", "autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa"},
	{"n", "batch/v1", "CronJob", "cronjobs", "cj"},
	{"n", "batch/v1", "Job", "jobs", ""},
	{"n", "coordination.k8s.io/v1", "Lease", "leases", ""},
	{"n", "discovery.k8s.io/v1", "EndpointSlice", "endpointslices", ""},
	{"", "networking.k8s.io/v1", "IngressClass", "ingressclasses", ""},
	{"n", "networking.k8s.io/v1", "Ingress", "ingresses", "ing"},
	{"n", "policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb"},
	{"", "scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", "pc"},
	{"", "storage.k8s.io/v1", "StorageClass", "storageclasses", "sc"},
	{"", "storage.k8s.io/v1", "VolumeAttachment", "volumeattachments", ""},
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
			Namespaced: u.scope == "n", Verbs: []string{"delete", "get", "list", "watch"},
		}
		if u.shortNames != "" {
			kind.ShortNames = strings.Split(u.shortNames, ",")
		}
		out = append(out, kind)
	}
	return out
}
