package scenarios

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// gatekeeper is the field manager of readiness gates.
const gatekeeper = "gatekeeper"

// ready acts as the controller that a readiness gate waits for. What it selects is fixed at the begin, of the pods
// whose gates do not have the status yet; pods that are gone before their turn are left out.
func (p *play) ready(ctx context.Context, r *Ready) error {
	all := r.Selection
	all.First = 0
	client, pods, err := p.selected(all)
	if err != nil {
		return err
	}
	left := r.First
	for _, pod := range pods {
		body, err := gatePatch(pod, r.Status)
		if err != nil {
			return err
		}
		if body == nil || !p.observer.uids(p.scenario.Name)[pod.GetUID()] {
			continue
		}
		options := metav1.PatchOptions{FieldManager: gatekeeper}
		_, err = client(pod).Patch(ctx, pod.GetName(), types.StrategicMergePatchType, body, options, "status")
		if err != nil {
			return fmt.Errorf("opening the gates of pod %q: %w", pod.GetName(), err)
		}
		if left--; left == 0 {
			return nil // the step itself waits for quiet
		}
		if err := p.observer.settle(ctx, p.scenario.Name, nil, quietTicks); err != nil {
			return err
		}
	}
	return nil
}

// gatePatch is nil for a pod whose gates have the status, or that has none.
func gatePatch(pod *unstructured.Unstructured, status string) ([]byte, error) {
	if status == "" {
		status = string(metav1.ConditionTrue)
	}
	var typed struct {
		Spec struct {
			ReadinessGates []struct{ ConditionType string }
		}
		Status struct{ Conditions []metav1.Condition }
	}
	data, err := pod.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(data, &typed)
	}
	if err != nil {
		return nil, fmt.Errorf("reading pod %q: %w", pod.GetName(), err)
	}
	is := map[string]string{}
	for _, c := range typed.Status.Conditions {
		is[c.Type] = string(c.Status)
	}
	var conditions []map[string]any
	for _, gate := range typed.Spec.ReadinessGates {
		if is[gate.ConditionType] != status {
			conditions = append(conditions, map[string]any{
				"type": gate.ConditionType, "status": status, "lastTransitionTime": metav1.Now().Rfc3339Copy(),
			})
		}
	}
	if conditions == nil {
		return nil, nil
	}
	return json.Marshal(map[string]any{"status": map[string]any{"conditions": conditions}})
}
