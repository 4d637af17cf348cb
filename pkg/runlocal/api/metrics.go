package api

import (
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	metricsfeatures "k8s.io/component-base/metrics/features"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// registerMetrics registers the metrics of /metrics that the generic server does not register. It mirrors
// NewAPIServerCommand of k8s.io/kubernetes/cmd/kube-apiserver/app/server.go and CreateConfig of
// k8s.io/kubernetes/pkg/controlplane/apiserver/config.go. It must be called before histograms are registered: only
// later ones are native. Metrics are those of the process: servers that run at the same time share them.
func registerMetrics() {
	metricsfeatures.ApplyFeatureGates(utilfeature.DefaultFeatureGate)
	serviceaccount.RegisterMetrics()
	utilfeature.DefaultMutableFeatureGate.AddMetrics()
	compatibility.DefaultComponentGlobalsRegistry.AddMetrics()
}
