package api

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/metrics/pkg/apis/metrics"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Metrics is the source of the API group metrics.k8s.io: what pods and nodes use. Its methods may be called
// concurrently. What they return is sorted and owned by the caller. The server answers 503 if they fail.
type Metrics interface {
	// Pods returns the usage of the running pods of a namespace, or of all namespaces if it is empty.
	Pods(namespace string, selector labels.Selector) ([]metrics.PodMetrics, error)
	// Nodes returns the usage of nodes.
	Nodes(selector labels.Selector) ([]metrics.NodeMetrics, error)
}

// metricsGroup returns the API group metrics.k8s.io as metrics-server serves it: one version, read-only.
func (a *assembly) metricsGroup() genericapiserver.APIGroupInfo {
	codecs := serializer.NewCodecFactory(a.metricsScheme)
	info := genericapiserver.NewDefaultAPIGroupInfo(metrics.GroupName, a.metricsScheme, metav1.ParameterCodec, codecs)
	// the scheme also has v1, which it prefers
	info.PrioritizedVersions = []schema.GroupVersion{metricsv1beta1.SchemeGroupVersion}
	info.VersionedResourcesStorageMap[metricsv1beta1.SchemeGroupVersion.Version] = map[string]rest.Storage{
		"pods":  &podMetrics{source: a.options.Metrics},
		"nodes": &nodeMetrics{source: a.options.Metrics},
	}
	return info
}

// podMetrics is the storage of the usage of pods.
type podMetrics struct {
	metricsTable
	source Metrics
}

var (
	_ rest.Storage              = (*podMetrics)(nil)
	_ rest.Scoper               = (*podMetrics)(nil)
	_ rest.KindProvider         = (*podMetrics)(nil)
	_ rest.SingularNameProvider = (*podMetrics)(nil)
	_ rest.Lister               = (*podMetrics)(nil)
	_ rest.Getter               = (*podMetrics)(nil)
)

// New implements rest.Storage.
func (*podMetrics) New() runtime.Object { return &metrics.PodMetrics{} }

// Destroy implements rest.Storage.
func (*podMetrics) Destroy() {}

// Kind implements rest.KindProvider.
func (*podMetrics) Kind() string { return "PodMetrics" }

// NamespaceScoped implements rest.Scoper.
func (*podMetrics) NamespaceScoped() bool { return true }

// GetSingularName implements rest.SingularNameProvider, with the name that metrics-server has.
func (*podMetrics) GetSingularName() string { return "" }

// NewList implements rest.Lister.
func (*podMetrics) NewList() runtime.Object { return &metrics.PodMetricsList{} }

// List implements rest.Lister.
func (p *podMetrics) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	byLabel, byField := selectors(options)
	all, err := p.source.Pods(genericapirequest.NamespaceValue(ctx), byLabel)
	if err != nil {
		return nil, unavailable("pods", err)
	}
	list := &metrics.PodMetricsList{Items: []metrics.PodMetrics{}}
	for i := range all {
		if byField.Matches(fields.Set{"metadata.name": all[i].Name, "metadata.namespace": all[i].Namespace}) {
			list.Items = append(list.Items, all[i])
		}
	}
	return list, nil
}

// Get implements rest.Getter.
func (p *podMetrics) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	all, err := p.source.Pods(genericapirequest.NamespaceValue(ctx), labels.Everything())
	if err != nil {
		return nil, unavailable("pods", err)
	}
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	return nil, apierrors.NewNotFound(metrics.Resource("podmetrics"), genericapirequest.NamespaceValue(ctx)+"/"+name)
}

// nodeMetrics is the storage of the usage of nodes.
type nodeMetrics struct {
	metricsTable
	source Metrics
}

var (
	_ rest.Storage              = (*nodeMetrics)(nil)
	_ rest.Scoper               = (*nodeMetrics)(nil)
	_ rest.KindProvider         = (*nodeMetrics)(nil)
	_ rest.SingularNameProvider = (*nodeMetrics)(nil)
	_ rest.Lister               = (*nodeMetrics)(nil)
	_ rest.Getter               = (*nodeMetrics)(nil)
)

// New implements rest.Storage.
func (*nodeMetrics) New() runtime.Object { return &metrics.NodeMetrics{} }

// Destroy implements rest.Storage.
func (*nodeMetrics) Destroy() {}

// Kind implements rest.KindProvider.
func (*nodeMetrics) Kind() string { return "NodeMetrics" }

// NamespaceScoped implements rest.Scoper.
func (*nodeMetrics) NamespaceScoped() bool { return false }

// GetSingularName implements rest.SingularNameProvider, with the name that metrics-server has.
func (*nodeMetrics) GetSingularName() string { return "" }

// NewList implements rest.Lister.
func (*nodeMetrics) NewList() runtime.Object { return &metrics.NodeMetricsList{} }

// List implements rest.Lister.
func (n *nodeMetrics) List(_ context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	byLabel, byField := selectors(options)
	all, err := n.source.Nodes(byLabel)
	if err != nil {
		return nil, unavailable("nodes", err)
	}
	list := &metrics.NodeMetricsList{Items: []metrics.NodeMetrics{}}
	for i := range all {
		if byField.Matches(fields.Set{"metadata.name": all[i].Name}) {
			list.Items = append(list.Items, all[i])
		}
	}
	return list, nil
}

// Get implements rest.Getter.
func (n *nodeMetrics) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	all, err := n.source.Nodes(labels.Everything())
	if err != nil {
		return nil, unavailable("nodes", err)
	}
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	return nil, apierrors.NewNotFound(metrics.Resource("nodemetrics"), name)
}

// selectors returns the selectors of a list, which select everything if it has none.
func selectors(o *internalversion.ListOptions) (labels.Selector, fields.Selector) {
	byLabel, byField := labels.Everything(), fields.Everything()
	if o != nil && o.LabelSelector != nil {
		byLabel = o.LabelSelector
	}
	if o != nil && o.FieldSelector != nil {
		byField = o.FieldSelector
	}
	return byLabel, byField
}

// unavailable returns "503 Service Unavailable" because of err.
func unavailable(what string, err error) error {
	return apierrors.NewServiceUnavailable(fmt.Sprintf("measuring %s: %v", what, err))
}

// metricsTable converts usage to the table that metrics-server prints.
type metricsTable struct{}

var _ rest.TableConvertor = metricsTable{}

// ConvertToTable implements rest.TableConvertor.
func (metricsTable) ConvertToTable(_ context.Context, object, _ runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: "Name of the resource"},
		{Name: "cpu", Type: "string", Format: "quantity"},
		{Name: "memory", Type: "string", Format: "quantity"},
		{Name: "Window", Type: "string", Format: "duration"},
	}}
	row := func(object runtime.Object, name string, usage corev1.ResourceList, window metav1.Duration) {
		table.Rows = append(table.Rows, metav1.TableRow{
			Cells:  []any{name, usage.Cpu().String(), usage.Memory().String(), window.Duration.String()},
			Object: runtime.RawExtension{Object: object},
		})
	}
	switch o := object.(type) {
	case *metrics.PodMetrics:
		row(o, o.Name, podUsage(o), o.Window)
	case *metrics.PodMetricsList:
		for i := range o.Items {
			row(&o.Items[i], o.Items[i].Name, podUsage(&o.Items[i]), o.Items[i].Window)
		}
	case *metrics.NodeMetrics:
		row(o, o.Name, o.Usage, o.Window)
	case *metrics.NodeMetricsList:
		for i := range o.Items {
			row(&o.Items[i], o.Items[i].Name, o.Items[i].Usage, o.Items[i].Window)
		}
	}
	return table, nil
}

// podUsage returns the sum of the usage of a pod's containers.
func podUsage(pod *metrics.PodMetrics) corev1.ResourceList {
	var cpu, memory resource.Quantity
	for _, c := range pod.Containers {
		cpu.Add(*c.Usage.Cpu())
		memory.Add(*c.Usage.Memory())
	}
	return corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory}
}
