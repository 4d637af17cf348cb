package cluster

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtInTable has kinds that Kubernetes serves itself: those that clusters have in any case and that explain how
// others are doing, and of the others those that are in no namespace or have short names, which are separated by
// commas, and one of each group. Resources are named as GuessResource does. In the first column, u is for the first of
// these, n for kinds in namespaces and s for those with a status.
var builtInTable = [...]struct{ traits, group, version, kind, shortNames string }{
	{"", "", "v1", "ComponentStatus", "cs"},
	{"un", "", "v1", "ConfigMap", "cm"},
	{"n", "", "v1", "Endpoints", "ep"},
	{"un", "", "v1", "Event", "ev"},
	{"un", "", "v1", "LimitRange", "limits"},
	{"us", "", "v1", "Namespace", "ns"},
	{"us", "", "v1", "Node", "no"},
	{"uns", "", "v1", "PersistentVolumeClaim", "pvc"},
	{"us", "", "v1", "PersistentVolume", "pv"},
	{"uns", "", "v1", "Pod", "po"},
	{"uns", "", "v1", "ReplicationController", "rc"},
	{"uns", "", "v1", "ResourceQuota", "quota"},
	{"un", "", "v1", "Secret", ""},
	{"un", "", "v1", "ServiceAccount", "sa"},
	{"uns", "", "v1", "Service", "svc"},
	{"", "admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy", ""},
	{"", "admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicyBinding", ""},
	{"", "admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", ""},
	{"s", "admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", ""},
	{"", "admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", ""},
	{"", "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", ""},
	{"us", "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "crd,crds"},
	{"s", "apiregistration.k8s.io", "v1", "APIService", ""},
	{"un", "apps", "v1", "ControllerRevision", ""},
	{"uns", "apps", "v1", "DaemonSet", "ds"},
	{"uns", "apps", "v1", "Deployment", "deploy"},
	{"uns", "apps", "v1", "ReplicaSet", "rs"},
	{"uns", "apps", "v1", "StatefulSet", "sts"},
	{"uns", "autoscaling", "v2", "HorizontalPodAutoscaler", "hpa"},
	{"uns", "batch", "v1", "CronJob", "cj"},
	{"uns", "batch", "v1", "Job", ""},
	{"s", "certificates.k8s.io", "v1", "CertificateSigningRequest", "csr"},
	{"", "certificates.k8s.io", "v1", "ClusterTrustBundle", ""},
	{"un", "coordination.k8s.io", "v1", "Lease", ""},
	{"un", "discovery.k8s.io", "v1", "EndpointSlice", ""},
	{"n", "events.k8s.io", "v1", "Event", "ev"},
	{"s", "flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", ""},
	{"s", "flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration", ""},
	{"s", "internal.apiserver.k8s.io", "v1alpha1", "StorageVersion", ""},
	{"ns", "lifecycle.k8s.io", "v1alpha1", "EvictionRequest", ""},
	{"", "networking.k8s.io", "v1", "IPAddress", "ip"},
	{"u", "networking.k8s.io", "v1", "IngressClass", ""},
	{"uns", "networking.k8s.io", "v1", "Ingress", "ing"},
	{"n", "networking.k8s.io", "v1", "NetworkPolicy", "netpol"},
	{"s", "networking.k8s.io", "v1", "ServiceCIDR", ""},
	{"", "node.k8s.io", "v1", "RuntimeClass", ""},
	{"uns", "policy", "v1", "PodDisruptionBudget", "pdb"},
	{"", "rbac.authorization.k8s.io", "v1", "ClusterRole", ""},
	{"", "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", ""},
	{"", "resource.k8s.io", "v1", "DeviceClass", ""},
	{"s", "resource.k8s.io", "v1", "DeviceTaintRule", ""},
	{"s", "resource.k8s.io", "v1alpha3", "ResourcePoolStatusRequest", ""},
	{"", "resource.k8s.io", "v1", "ResourceSlice", ""},
	{"u", "scheduling.k8s.io", "v1", "PriorityClass", "pc"},
	{"", "storage.k8s.io", "v1", "CSIDriver", ""},
	{"s", "storage.k8s.io", "v1", "CSINode", ""},
	{"u", "storage.k8s.io", "v1", "StorageClass", "sc"},
	{"us", "storage.k8s.io", "v1", "VolumeAttachment", ""},
	{"", "storage.k8s.io", "v1", "VolumeAttributesClass", "vac"},
	{"s", "storagemigration.k8s.io", "v1", "StorageVersionMigration", ""},
}

// builtIn has the table as kinds, those that are usual apart in its order.
var builtIn = sync.OnceValue(func() (out struct {
	byKind map[schema.GroupKind]Kind
	groups map[string]bool
	usual  []Kind
}) {
	out.byKind, out.groups = map[schema.GroupKind]Kind{}, map[string]bool{}
	for _, row := range builtInTable {
		kind := Kind{
			GroupVersionKind: schema.GroupVersionKind{Group: row.group, Version: row.version, Kind: row.kind},
			Resource:         GuessResource(row.kind), Singular: strings.ToLower(row.kind),
			Namespaced: strings.Contains(row.traits, "n"), HasStatus: strings.Contains(row.traits, "s"),
			Verbs: []string{"delete", "get", "list", "watch"},
		}
		if row.kind == "Lease" { // hardly anything owns one: a tree is not incomplete without them
			kind.Verbs = kind.Verbs[1:]
		}
		if row.shortNames != "" {
			kind.ShortNames = strings.Split(row.shortNames, ",")
		}
		out.byKind[kind.GroupKind()], out.groups[row.group] = kind, true
		if strings.Contains(row.traits, "u") {
			out.usual = append(out.usual, kind)
		}
	}
	return out
})

// UsualKinds returns the kinds that clusters have in any case and that explain how others are doing, as far as commands
// look at them. The slice belongs to the caller.
func UsualKinds() []Kind { return slices.Clone(builtIn().usual) }

// ShortNames returns the short names of a kind that Kubernetes serves itself; nil if it has none, and for other kinds.
func ShortNames(kind schema.GroupKind) []string { return builtIn().byKind[kind].ShortNames }

// IsNamespaced reports whether objects of a kind are in namespaces. It is known of the groups that Kubernetes serves
// itself.
func IsNamespaced(of schema.GroupKind) (namespaced, known bool) {
	if kind, ok := builtIn().byKind[of]; ok {
		return kind.Namespaced, true
	}
	known = builtIn().groups[of.Group]
	return known, known
}

// GuessResource returns the plural name of a kind of which only the name is known, as Kubernetes' own tools guess it,
// except that a y after a vowel stays, as in gateways. It is right for all kinds that Kubernetes serves itself.
func GuessResource(kind string) string {
	singular := strings.ToLower(kind)
	if before := strings.TrimSuffix(singular, "y"); before != singular && strings.TrimRight(before, "aeou") != before {
		return singular + "s"
	}
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	return plural.Resource
}
