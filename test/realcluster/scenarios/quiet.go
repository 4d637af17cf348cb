package scenarios

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// The pulse is what time is measured with: every tick is a write whose watch event has arrived. On a machine under
// load ticks take longer, as everything else does, and so a namespace must be quiet for longer.
const (
	tick        = 100 * time.Millisecond // at least
	quietTicks  = 8                      // after a step
	settleTicks = 25                     // at the end, for Events that are recorded late
	stepTimeout = 90 * time.Second
)

const pulseNamespace = "pulse"

// beat writes a tick after the other until ctx ends, and reports the error that ended it.
func (o *observer) beat(ctx context.Context, client dynamic.Interface) error {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	maps := client.Resource(configMaps).Namespace(pulseNamespace)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "pulse"},
	}}
	if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("making the pulse: %w", err)
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for n := 0; ; n++ {
		body := fmt.Sprintf(`{"data":{"tick":"%d"}}`, n)
		written, err := maps.Patch(ctx, "pulse", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		if err == nil {
			err = o.await(ctx, written.GetResourceVersion())
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("writing the pulse: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// await waits until the pulse's version has been seen, and counts the tick.
func (o *observer) await(ctx context.Context, version string) error {
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for !o.counted(version) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
	return nil
}

func (o *observer) counted(version string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.space(pulseNamespace).objects {
		if s.resource.Resource == "configmaps" && s.object.GetResourceVersion() == version {
			o.ticks++
			return true
		}
	}
	return false
}

// settle waits until all conditions hold of the namespace, and nothing in it has changed for so many ticks.
func (o *observer) settle(ctx context.Context, namespace string, conditions []*compiled, ticks int) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	poll := time.NewTicker(tick / 4)
	defer poll.Stop()
	from := o.now()
	for {
		unmet := o.unsettled(namespace, conditions, from, ticks)
		if unmet == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until namespace %q is quiet: %w: %s", namespace, ctx.Err(), unmet)
		case <-poll.C:
		}
	}
}

func (o *observer) now() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ticks
}

// unsettled says what is missing. Quiet counts from the tick on at the earliest.
func (o *observer) unsettled(namespace string, conditions []*compiled, from, ticks int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.space(namespace)
	var unmet []string
	objects := s.all()
	for _, c := range conditions {
		if text := c.unmet(objects); text != "" {
			unmet = append(unmet, text)
		}
	}
	for _, known := range objects {
		if known.current && known.object.GetDeletionTimestamp() == nil && !isCurrent(known.object) {
			unmet = append(unmet, fmt.Sprintf("%s/%s: its status is of an older generation",
				known.resource, known.object.GetName()))
		}
	}
	if still := o.ticks - max(s.changed, from); still < ticks {
		unmet = append(unmet, fmt.Sprintf("no change for %d of %d ticks", still, ticks))
	}
	return strings.Join(unmet, "; ")
}

// all are the objects that are there. The observer's lock must be held.
func (s *space) all() []*seen {
	out := make([]*seen, 0, len(s.objects))
	for _, known := range s.objects {
		out = append(out, known)
	}
	return out
}

// begin says that a step begins.
func (o *observer) begin(namespace string, step int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.space(namespace).step = step
}

// pick returns what the selection means now.
func (o *observer) pick(namespace string, s Selection) []*unstructured.Unstructured {
	o.mu.Lock()
	defer o.mu.Unlock()
	return s.pick(o.space(namespace).all())
}
