package api

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/metrics/pkg/apis/metrics"
)

// podMetrics serves what pods use.
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

// GetSingularName implements rest.SingularNameProvider: the name of the resource that metrics-server gives.
func (*podMetrics) GetSingularName() string { return "" }

// NewList implements rest.Lister.
func (*podMetrics) NewList() runtime.Object { return &metrics.PodMetricsList{} }

// List implements rest.Lister.
func (p *podMetrics) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	byLabel, byField := selectors(options)
	all, err := p.source.Pods(genericapirequest.NamespaceValue(ctx), byLabel)
	if err != nil {
		return nil, unmeasured("pods", err)
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
		return nil, unmeasured("pods", err)
	}
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	return nil, apierrors.NewNotFound(metrics.Resource("podmetrics"), genericapirequest.NamespaceValue(ctx)+"/"+name)
}

// nodeMetrics serves what nodes use.
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

// GetSingularName implements rest.SingularNameProvider: the name of the resource that metrics-server gives.
func (*nodeMetrics) GetSingularName() string { return "" }

// NewList implements rest.Lister.
func (*nodeMetrics) NewList() runtime.Object { return &metrics.NodeMetricsList{} }

// List implements rest.Lister.
func (n *nodeMetrics) List(_ context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	byLabel, byField := selectors(options)
	all, err := n.source.Nodes(byLabel)
	if err != nil {
		return nil, unmeasured("nodes", err)
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
		return nil, unmeasured("nodes", err)
	}
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	return nil, apierrors.NewNotFound(metrics.Resource("nodemetrics"), name)
}

// selectors are those of a list; everything if it has none.
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

func unmeasured(what string, err error) error {
	return apierrors.NewServiceUnavailable(fmt.Sprintf("measuring %s: %v", what, err))
}
