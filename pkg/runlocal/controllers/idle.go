package controllers

import "k8s.io/kubernetes/cmd/kube-controller-manager/names"

// Why controllers do not run here.
const (
	notIncluded = "this build does not include it"
	needsKey    = "it signs with a private key that only the cluster's control plane has"
	needsDriver = "it has the drivers of real storage attach volumes to real nodes"
	needsRanges = "it hands out network ranges that only the cluster's control plane is configured with"
	needsNodes  = "it acts on what real kubelets and their drivers report"
	needsCA     = "it publishes the certificate that the cluster's own API server was started with"
)

// idle are the controllers of kube-controller-manager that do not run here, in the order of its names package.
func idle() []Controller {
	return []Controller{
		no(names.ServiceAccountTokenController, needsKey, "serviceaccount-token"),
		dangerous(no(names.PodGarbageCollectorController, notIncluded, "podgc"), "deletes pods whose node it does not see"),
		no(names.ResourceQuotaController, notIncluded, "resourcequota"),
		dangerous(no(names.NamespaceController, notIncluded, "namespace"), "takes a namespace for empty whose content it does not see"),
		no(names.ServiceAccountController, notIncluded, "serviceaccount"),
		no(names.HorizontalPodAutoscalerController, notIncluded, "horizontalpodautoscaling"),
		no(names.CertificateSigningRequestSigningController, needsKey, "csrsigning"),
		no(names.CertificateSigningRequestApprovingController, notIncluded, "csrapproving"),
		no(names.CertificateSigningRequestCleanerController, notIncluded, "csrcleaner"),
		no(names.PodCertificateRequestCleanerController, notIncluded),
		no(names.TTLController, notIncluded, "ttl"),
		off(no(names.BootstrapSignerController, notIncluded, "bootstrapsigner")),
		off(no(names.TokenCleanerController, notIncluded, "tokencleaner")),
		no(names.NodeIpamController, needsRanges, "nodeipam"),
		dangerous(no(names.NodeLifecycleController, notIncluded, "nodelifecycle"), "takes a node for dead whose lease it does not see, and evicts its pods"),
		dangerous(no(names.TaintEvictionController, notIncluded), "deletes pods by taints that it may see late"),
		no(names.DeviceTaintEvictionController, needsNodes),
		no(names.PersistentVolumeAttachDetachController, needsDriver, "attachdetach"),
		no(names.ClusterRoleAggregationController, notIncluded, "clusterrole-aggregation"),
		no(names.PodGroupProtectionController, notIncluded),
		no(names.RootCACertificatePublisherController, needsCA, "root-ca-cert-publisher"),
		no(names.KubeAPIServerClusterTrustBundlePublisherController, needsCA),
		dangerous(no(names.StorageVersionGarbageCollectorController, notIncluded, "storage-version-gc"), "deletes the storage versions of API servers that it does not see"),
		no(names.ResourceClaimController, notIncluded, "resource-claim-controller"),
		no(names.ResourcePoolStatusRequestController, needsNodes),
		no(names.LegacyServiceAccountTokenCleanerController, notIncluded, "legacy-service-account-token-cleaner"),
		no(names.ValidatingAdmissionPolicyStatusController, notIncluded),
		no(names.ServiceCIDRController, notIncluded),
		no(names.StorageVersionMigratorController, notIncluded, "svm"),
		off(no(names.SELinuxWarningController, needsNodes)),
	}
}

// no is a row of a controller that does not run here.
func no(name, reason string, aliases ...string) Controller {
	return Controller{Name: name, Aliases: aliases, NotRun: reason}
}

func dangerous(c Controller, danger string) Controller {
	c.Danger = danger
	return c
}

func off(c Controller) Controller {
	c.OffByDefault = true
	return c
}
