package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/metrics/pkg/apis/metrics"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Metrics tells what pods and nodes use, for the API group metrics.k8s.io. Its methods may be called concurrently. What
// they return is sorted, and the server's own. An error makes the server say that it is unavailable.
type Metrics interface {
	// Pods returns what the pods that run use, of a namespace, or of all if it is empty.
	Pods(namespace string, selector labels.Selector) ([]metrics.PodMetrics, error)
	// Nodes returns what nodes use.
	Nodes(selector labels.Selector) ([]metrics.NodeMetrics, error)
}

// metricsGroup is the API group metrics.k8s.io, as metrics-server serves it: one version, to be read only.
func (a *assembly) metricsGroup() genericapiserver.APIGroupInfo {
	codecs := serializer.NewCodecFactory(a.metrics)
	info := genericapiserver.NewDefaultAPIGroupInfo(metrics.GroupName, a.metrics, metav1.ParameterCodec, codecs)
	info.PrioritizedVersions = []schema.GroupVersion{metricsv1beta1.SchemeGroupVersion} // the scheme has v1 too, and before it
	info.VersionedResourcesStorageMap[metricsv1beta1.SchemeGroupVersion.Version] = map[string]rest.Storage{
		"pods":  &podMetrics{source: a.options.Metrics},
		"nodes": &nodeMetrics{source: a.options.Metrics},
	}
	return info
}
