package diagnosis

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// mostAutoscalers bounds the autoscalers of a namespace that are looked at.
const mostAutoscalers = 200

// scaled is an object with an autoscaler, whose number of replicas another manager may set, too.
type scaled struct {
	target *unstructured.Unstructured
	by     *autoscalingv2.HorizontalPodAutoscaler
}

// autoscalers reads, if the object asked for is scaled by an autoscaler or is one, both.
func (r *situationReader) autoscalers(ctx context.Context) error {
	kind := r.kind("autoscaling", "HorizontalPodAutoscaler")
	if kind == nil {
		return nil
	}
	count := 0
	for _, n := range r.graph.Nodes() {
		if n.Kind.GroupKind() == kind.GroupKind() && n.Namespace == r.Asked.Namespace {
			count++
		}
	}
	if count == 0 || count > mostAutoscalers {
		return nil
	}
	self := r.Asked.Kind.GroupKind() == kind.GroupKind()
	var found []*autoscalingv2.HorizontalPodAutoscaler
	target := cluster.Target{Kind: *kind, Namespace: r.Asked.Namespace}
	err := r.reader.ListTyped(ctx, target, cluster.ListOptions{},
		func() cluster.Typed { return &autoscalingv2.HorizontalPodAutoscaler{} }, func(object cluster.Typed) error {
			h, ok := object.(*autoscalingv2.HorizontalPodAutoscaler)
			if ok && (self && h.Name == r.Asked.Name || !self && scales(h, r.Asked)) {
				found = append(found, h)
			}
			return nil
		})
	if err != nil {
		r.unread = append(r.unread, target.Incomplete(err))
		return nil
	}
	for _, listed := range found {
		h := r.autoscaler(ctx, *kind, listed)
		if h == nil {
			continue
		}
		obj := r.objects[r.Asked.UID]
		if self {
			obj = r.scaledBy(ctx, h)
		}
		if obj != nil {
			r.scaled = append(r.scaled, scaled{obj, h})
		}
	}
	return nil
}

// autoscaler reads one in full, as lists leave out the status; nil if that is not possible.
func (r *situationReader) autoscaler(
	ctx context.Context, kind cluster.Kind, listed *autoscalingv2.HorizontalPodAutoscaler,
) *autoscalingv2.HorizontalPodAutoscaler {
	obj, err := r.reader.Object(ctx, kind, listed.Namespace, listed.Name)
	out := &autoscalingv2.HorizontalPodAutoscaler{}
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, out) != nil {
		return nil // it may have gone; that it scales the object is a matter of the past then
	}
	return out
}

// scales reports whether an autoscaler names the object.
func scales(h *autoscalingv2.HorizontalPodAutoscaler, n *ownertree.Node) bool {
	ref := h.Spec.ScaleTargetRef
	group := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group
	return ref.Name == n.Name && ref.Kind == n.Kind.Kind && group == n.Kind.Group
}

// scaledBy reads what an autoscaler scales; nil if that is not possible.
func (r *situationReader) scaledBy(
	ctx context.Context, h *autoscalingv2.HorizontalPodAutoscaler,
) *unstructured.Unstructured {
	ref := h.Spec.ScaleTargetRef
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	kind := r.kind(gvk.Group, gvk.Kind)
	if kind == nil {
		return nil
	}
	obj, err := r.reader.Object(ctx, *kind, h.Namespace, ref.Name)
	if err != nil {
		return nil // that it does not exist is found by its relation
	}
	return obj
}

const (
	// lately is how short a time ago both must have written.
	lately = 15 * time.Minute
	// fewChanges is up to how many changes of a spec are nothing unusual.
	fewChanges = 10
)

// scalingFights are autoscalers whose number of replicas another manager sets back: both have written lately, and the
// spec has changed often. Who scales by hand, or has applied the number once, is none.
func (d *diagnoser) scalingFights() []inspect.Cause {
	var out []inspect.Cause
	for _, s := range d.scaled {
		by, ok := setsReplicas(s.target, d.now)
		last := s.by.Status.LastScaleTime
		if !ok || s.target.GetGeneration() <= fewChanges || last == nil || d.now.Sub(last.Time) > lately {
			continue
		}
		replicas, _, _ := unstructured.NestedInt64(s.target.Object, "spec", "replicas")
		name := "HorizontalPodAutoscaler/" + s.by.Name
		out = append(out, inspect.Cause{
			Type: inspect.FieldFight, Certainty: inspect.Likely, Weight: inspect.Specific, Part: "spec.replicas",
			Detail: fmt.Sprintf("%s and %s set spec.replicas in turn", name, by.Manager),
			Refers: &inspect.Reference{
				Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Namespace: s.by.Namespace, Name: s.by.Name,
			},
			Evidence: []inspect.Evidence{
				{
					Source: inspect.FromObject, Name: name, Time: last,
					Text: fmt.Sprintf("has scaled it; it wants %d replicas, spec.replicas is %d",
						s.by.Status.DesiredReplicas, replicas),
				},
				{Source: inspect.FromWriter, Name: by.Manager, Text: "applies spec.replicas", Time: by.Time},
				{Source: inspect.FromField, Name: "metadata.generation", Text: fmt.Sprint(s.target.GetGeneration())},
			},
		})
	}
	return out
}

// lastApplied is the annotation of `kubectl apply`, which has what was applied last.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// setsReplicas returns the manager beside the autoscaler that has lately applied an object with a number of replicas:
// it owns the field, or what it applied last has it.
func setsReplicas(obj *unstructured.Unstructured, now time.Time) (inspect.Writer, bool) {
	var applied struct {
		Spec struct {
			Replicas *int64 `json:"replicas"`
		} `json:"spec"`
	}
	text := obj.GetAnnotations()[lastApplied]
	inAnnotation := text != "" && json.Unmarshal([]byte(text), &applied) == nil && applied.Spec.Replicas != nil
	for _, m := range inspect.FieldsByManager(obj) {
		owns := slices.Contains(m.Fields, "spec.replicas") ||
			inAnnotation && slices.ContainsFunc(m.Fields, isLastApplied)
		if owns && m.Subresource == "" && isRecent(m.Time, now) {
			return m.Writer, true
		}
	}
	return inspect.Writer{}, false
}

func isLastApplied(path string) bool {
	return strings.HasPrefix(path, "metadata.annotations") && strings.Contains(path, lastApplied)
}

func isRecent(t *metav1.Time, now time.Time) bool { return t != nil && now.Sub(t.Time) <= lately }
