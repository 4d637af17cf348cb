package seed

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/metrics/pkg/apis/metrics"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// Usage is what pods and nodes of a cluster used when they were copied. It does not change. It may be used
// concurrently.
type Usage struct {
	pods  []metrics.PodMetrics
	nodes []metrics.NodeMetrics
}

var _ api.Metrics = (*Usage)(nil)

// Pods implements api.Metrics.
func (u *Usage) Pods(namespace string, selector labels.Selector) ([]metrics.PodMetrics, error) {
	var out []metrics.PodMetrics
	for i := range u.pods {
		if namespace == "" || u.pods[i].Namespace == namespace {
			if selector.Matches(labels.Set(u.pods[i].Labels)) {
				out = append(out, *u.pods[i].DeepCopy())
			}
		}
	}
	return out, nil
}

// Nodes implements api.Metrics.
func (u *Usage) Nodes(selector labels.Selector) ([]metrics.NodeMetrics, error) {
	var out []metrics.NodeMetrics
	for i := range u.nodes {
		if selector.Matches(labels.Set(u.nodes[i].Labels)) {
			out = append(out, *u.nodes[i].DeepCopy())
		}
	}
	return out, nil
}

var autoscalers = schema.GroupResource{Group: "autoscaling", Resource: "horizontalpodautoscalers"}

// readUsage reads what pods use, if the copy has autoscalers that decide by that. Without it the result has no Usage.
func (r *reading) readUsage(ctx context.Context) error {
	wanted := false
	for k, object := range r.objects {
		if k.resource == autoscalers {
			if wanted = onlyUsage(object.JSON); !wanted {
				return nil
			}
		}
	}
	kind, ok := r.kind(metricsv1beta1.SchemeGroupVersion.WithKind("PodMetrics"))
	if !wanted || !ok {
		return nil
	}
	usage := &Usage{}
	places := r.namespaces
	if r.o.AllNamespaces {
		places = []string{""}
	}
	for _, namespace := range places {
		target := cluster.Target{Kind: kind, Namespace: namespace}
		_, err := r.o.Reader.ListJSON(ctx, target, cluster.ListOptions{}, func(data json.RawMessage) error {
			var one metricsv1beta1.PodMetrics
			if err := json.Unmarshal(data, &one); err != nil {
				return fmt.Errorf("decoding the usage of a pod: %w", err)
			}
			internal := metrics.PodMetrics{
				TypeMeta: one.TypeMeta, ObjectMeta: one.ObjectMeta, Timestamp: one.Timestamp, Window: one.Window,
			}
			for _, c := range one.Containers {
				internal.Containers = append(internal.Containers,
					metrics.ContainerMetrics{Name: c.Name, Usage: c.Usage})
			}
			usage.pods = append(usage.pods, internal)
			return nil
		})
		if err != nil {
			r.fail(ctx, target, err)
			return nil
		}
	}
	r.usage = usage
	return nil
}

// onlyUsage reports whether an autoscaler decides by what pods use alone, and by no metrics that other API servers
// have.
func onlyUsage(autoscaler json.RawMessage) bool {
	type metric struct {
		Type string `json:"type"`
	}
	var fields struct {
		Spec struct {
			Metrics []metric `json:"metrics"`
		} `json:"spec"`
	}
	if json.Unmarshal(autoscaler, &fields) != nil {
		return false
	}
	return !slices.ContainsFunc(fields.Spec.Metrics, func(m metric) bool {
		return m.Type != "Resource" && m.Type != "ContainerResource"
	})
}
