package api

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/metrics/pkg/apis/metrics"
)

// metricsTable prints usage as metrics-server does.
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
		row(o, o.Name, ofAllContainers(o), o.Window)
	case *metrics.PodMetricsList:
		for i := range o.Items {
			row(&o.Items[i], o.Items[i].Name, ofAllContainers(&o.Items[i]), o.Items[i].Window)
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

// ofAllContainers is what a pod uses.
func ofAllContainers(pod *metrics.PodMetrics) corev1.ResourceList {
	var cpu, memory resource.Quantity
	for _, c := range pod.Containers {
		cpu.Add(*c.Usage.Cpu())
		memory.Add(*c.Usage.Memory())
	}
	return corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory}
}
