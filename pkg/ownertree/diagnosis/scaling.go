package diagnosis

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
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
	if r.Asked.Kind.GroupKind() == kind.GroupKind() {
		if h := r.autoscaler(ctx, *kind, r.Asked.Name); h != nil {
			if obj := r.scaledBy(ctx, h); obj != nil {
				r.scaled = append(r.scaled, scaled{obj, h})
			}
		}
		return nil
	}
	obj := r.objects[r.Asked.UID]
	if obj == nil || !hasReplicas(obj) {
		return nil
	}
	for _, name := range r.autoscalersOf(ctx, *kind) {
		if h := r.autoscaler(ctx, *kind, name); h != nil {
			r.scaled = append(r.scaled, scaled{obj, h})
		}
	}
	return nil
}

// hasReplicas reports whether the spec of an object has the number that autoscalers and others may set in turn.
func hasReplicas(obj *unstructured.Unstructured) bool {
	_, found, err := unstructured.NestedInt64(obj.Object, "spec", "replicas")
	return found && err == nil
}

// autoscalersOf returns the names of the autoscalers that scale the object asked for, unless its namespace has too
// many.
func (r *situationReader) autoscalersOf(ctx context.Context, kind cluster.Kind) []string {
	count := 0
	for _, n := range r.graph.Nodes() {
		if n.Kind.GroupKind() == kind.GroupKind() && n.Namespace == r.Asked.Namespace {
			count++
		}
	}
	target := cluster.Target{Kind: kind, Namespace: r.Asked.Namespace}
	switch {
	case count == 0:
		return nil
	case count > mostAutoscalers:
		r.leaveOut(target, fmt.Sprintf("%d objects, which were not read for what they scale", count))
		return nil
	}
	var names []string
	err := r.reader.ListTyped(ctx, target, cluster.ListOptions{},
		func() cluster.Typed { return &autoscalingv2.HorizontalPodAutoscaler{} }, func(object cluster.Typed) error {
			if h, ok := object.(*autoscalingv2.HorizontalPodAutoscaler); ok && scales(h, r.Asked) {
				names = append(names, h.Name)
			}
			return nil
		})
	if err != nil {
		r.unread = append(r.unread, target.Incomplete(err))
		return nil
	}
	slices.Sort(names)
	return names
}

// autoscaler reads one of the namespace of the object asked for in full, as lists leave out the status; nil if it has
// gone, or could not be read.
func (r *situationReader) autoscaler(
	ctx context.Context, kind cluster.Kind, name string,
) *autoscalingv2.HorizontalPodAutoscaler {
	obj := r.object(ctx, kind, r.Asked.Namespace, name)
	if obj == nil {
		return nil // that it scales the object is a matter of the past
	}
	out := &autoscalingv2.HorizontalPodAutoscaler{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, out); err != nil {
		r.unread = append(r.unread, cluster.Target{Kind: kind, Namespace: r.Asked.Namespace}.Incomplete(err))
		return nil
	}
	return out
}

// scales reports whether an autoscaler names the object.
func scales(h *autoscalingv2.HorizontalPodAutoscaler, n *ownertree.Node) bool {
	ref := h.Spec.ScaleTargetRef
	group := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group
	return ref.Name == n.Name && ref.Kind == n.Kind.Kind && group == n.Kind.Group
}

// scaledBy reads what an autoscaler scales; nil if it does not exist, which its relation shows, or could not be read.
func (r *situationReader) scaledBy(
	ctx context.Context, h *autoscalingv2.HorizontalPodAutoscaler,
) *unstructured.Unstructured {
	ref := h.Spec.ScaleTargetRef
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	kind := r.kind(gvk.Group, gvk.Kind)
	if kind == nil {
		return nil
	}
	return r.object(ctx, *kind, h.Namespace, ref.Name)
}

const (
	// lately is how short a time ago both must have written.
	lately = 15 * time.Minute
	// fewChanges is up to how many changes of a spec are nothing unusual.
	fewChanges = 10
)

// scalingFights are autoscalers whose number of replicas another manager sets back: both have written lately, and the
// spec has changed often, or was set back. Who scales by hand, or has applied the number once, is none.
func (d *diagnoser) scalingFights(severity int) {
	for _, s := range d.scaled {
		by, last := AppliesReplicas(s.target), s.by.Status.LastScaleTime
		if by == nil || !isRecent(by.Time, d.now) || !isRecent(last, d.now) {
			continue
		}
		replicas, _, _ := unstructured.NestedInt64(s.target.Object, "spec", "replicas")
		setBack := !by.Time.Before(last) && int64(s.by.Status.DesiredReplicas) != replicas
		if s.target.GetGeneration() <= fewChanges && !setBack && !d.scaledAgain() {
			continue
		}
		name := "HorizontalPodAutoscaler/" + s.by.Name
		chain := []Link{{Node: d.Asked, Facts: d.facts.Of(d.Asked)}}
		if target := d.targetOf(s); target != nil && target != d.Asked {
			chain = append(chain, Link{Node: target, Facts: d.facts.Of(target), Relation: "scales"})
		}
		d.causes = append(d.causes, &Cause{Chain: chain, severity: severity, Cause: inspect.Cause{
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
		}})
	}
}

// targetOf returns what an autoscaler scales; nil if the graph does not have it.
func (d *diagnoser) targetOf(s scaled) *ownertree.Node {
	kind, ok, err := d.kinds.Lookup(s.target.GroupVersionKind())
	if !ok || err != nil {
		return nil
	}
	return d.graph.Find(kind, s.target.GetNamespace(), s.target.GetName())
}

// scaledFrom matches the numbers between which a Deployment has scaled a ReplicaSet (scaleReplicaSet of
// k8s.io/kubernetes/pkg/controller/deployment/sync.go).
var scaledFrom = regexp.MustCompile(`^Scaled (up|down) replica set (\S+) from (\d+) to (\d+)$`)

// scaledAgain reports whether Events of the object asked for tell of a ReplicaSet that was scaled there and back, and
// there or back again, or of an autoscaler that has set the same number again.
func (d *diagnoser) scaledAgain() bool {
	type scaling struct {
		way, set, from, to string
		count              int32
	}
	var scaled []scaling
	for _, e := range d.events[d.Asked] {
		if e.Last.IsZero() || d.now.Sub(e.Last.Time) > lately {
			continue
		}
		m := scaledFrom.FindStringSubmatch(e.Message)
		isBack := func(o scaling) bool {
			again := o.count > 1 || e.Count > 1
			return o.way != m[1] && o.set == m[2] && (o.from == m[4] || o.to == m[3]) && again
		}
		switch {
		case e.Reason == "SuccessfulRescale" && e.Count > 1, m != nil && slices.ContainsFunc(scaled, isBack):
			return true
		case m != nil:
			scaled = append(scaled, scaling{m[1], m[2], m[3], m[4], e.Count})
		}
	}
	return false
}

// AppliesReplicas returns the manager beside an autoscaler that has applied an object with a number of replicas: it
// owns the field, or what it applied last has it. It is nil if none has.
func AppliesReplicas(obj *unstructured.Unstructured) *fields.Writer {
	var applied struct {
		Spec struct {
			Replicas *int64 `json:"replicas"`
		} `json:"spec"`
	}
	text := obj.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	inAnnotation := text != "" && json.Unmarshal([]byte(text), &applied) == nil && applied.Spec.Replicas != nil
	for _, m := range fields.ByManager(obj) {
		owns := slices.Contains(m.Fields, "spec.replicas") ||
			inAnnotation && slices.ContainsFunc(m.Fields, isLastApplied)
		if owns && m.Subresource == "" {
			return &m.Writer
		}
	}
	return nil
}

func isLastApplied(path string) bool {
	return strings.HasPrefix(path, "metadata.annotations") && strings.Contains(path, corev1.LastAppliedConfigAnnotation)
}

func isRecent(t *metav1.Time, now time.Time) bool { return t != nil && now.Sub(t.Time) <= lately }
