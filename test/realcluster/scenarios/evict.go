package scenarios

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Evict asks for pods to be evicted, as kubectl drain does, one after the other.
type Evict struct {
	Selection
	// Refused is the reason of the status with which the API must refuse it, such as TooManyRequests; nothing means
	// that it must grant it.
	Refused string `json:"refused,omitempty"`
}

func (p *play) evict(ctx context.Context, e *Evict) error {
	client, pods, err := p.selected(e.Selection)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		eviction := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": pod.GetName()},
		}}
		_, err := client(pod).Create(ctx, eviction, metav1.CreateOptions{FieldManager: user}, "eviction")
		switch reason := string(apierrors.ReasonForError(err)); {
		case err == nil && e.Refused != "":
			return fmt.Errorf("evicting pod %q: it was granted, not refused as %s", pod.GetName(), e.Refused)
		case err != nil && reason != e.Refused:
			return fmt.Errorf("evicting pod %q: %w", pod.GetName(), err)
		}
	}
	return nil
}
