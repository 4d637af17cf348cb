package controllers

import "k8s.io/kubernetes/cmd/kube-controller-manager/names"

// Credentials returns the name of the credentials with which kube-controller-manager runs the controller, such as
// "deployment-controller": that of its service account in kube-system, of its role, without "system:controller:", and
// the end of its user agent. Some controllers share them.
func (c Controller) Credentials() string {
	if name, ok := credentialNames()[c.Name]; ok {
		return name
	}
	return c.Name
}

// credentialNames are the names of credentials that differ from the controller's name: see the calls of NewClient in
// cmd/kube-controller-manager/app.
func credentialNames() map[string]string {
	return map[string]string{
		names.ReplicationControllerController:                    "replication-controller",
		names.DaemonSetController:                                "daemon-set-controller",
		names.EndpointsController:                                "endpoint-controller",
		names.EndpointSliceMirroringController:                   "endpointslicemirroring-controller",
		names.GarbageCollectorController:                         "generic-garbage-collector",
		names.ServiceAccountTokenController:                      "tokens-controller",
		names.ServiceAccountController:                           "service-account-controller",
		names.RootCACertificatePublisherController:               "root-ca-cert-publisher",
		names.KubeAPIServerClusterTrustBundlePublisherController: "kube-apiserver-serving-clustertrustbundle-publisher",
		names.PodGarbageCollectorController:                      "pod-garbage-collector",
		names.HorizontalPodAutoscalerController:                  "horizontal-pod-autoscaler",
		names.NodeLifecycleController:                            "node-controller",
		names.TaintEvictionController:                            "node-controller",
		names.PersistentVolumeBinderController:                   "persistent-volume-binder",
		names.PersistentVolumeExpanderController:                 "expand-controller",
		names.PersistentVolumeAttachDetachController:             "attachdetach-controller",
		names.PersistentVolumeClaimProtectionController:          "pvc-protection-controller",
		names.PersistentVolumeProtectionController:               "pv-protection-controller",
		names.CertificateSigningRequestApprovingController:       "certificate-controller",
		names.CertificateSigningRequestSigningController:         "certificate-controller",
		names.CertificateSigningRequestCleanerController:         "certificate-controller",
		names.PodCertificateRequestCleanerController:             "podcertificaterequestcleaner",
		names.BootstrapSignerController:                          "bootstrap-signer",
		names.TokenCleanerController:                             "token-cleaner",
		names.ResourceClaimController:                            "resource-claim-controller",
		names.ServiceCIDRController:                              "service-cidrs-controller",
		names.StorageVersionGarbageCollectorController:           "storage-version-garbage-collector",
		names.LegacyServiceAccountTokenCleanerController:         "legacy-service-account-token-cleaner",
	}
}
