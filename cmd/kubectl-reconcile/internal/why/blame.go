package why

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
)

// blame shows who set the field.
func (q *query) blame(ctx context.Context, ends func()) error {
	t, o := q.target, q.options
	obj, err := q.cluster.Reader.Object(ctx, t.Kind, t.Namespace, t.Name)
	if err != nil {
		return q.explain(ctx, err)
	}
	field, err := fields.Owners(obj, o.field)
	if missing := (*fields.PathError)(nil); errors.As(err, &missing) {
		return q.noField(missing)
	} else if err != nil {
		return err
	}
	hidden := isSecret(obj, o.field)
	if hidden {
		field.Value = nil
	}
	back := q.setBack(ctx, obj, field)
	ends()
	doc := &v1alpha1.FieldBlame{
		APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.FieldBlameKind, Field: field.Path, Value: field.Value,
		Object: v1alpha1.ObjectRef{
			APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(),
			Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(),
		},
		Owners: field.Owners, SetBack: back, Conflicts: field.ConflictsWith(kubectlManager),
	}
	if o.output != "" {
		return cli.WriteDocument(o.streams.Out, o.output, doc)
	}
	value := "not shown"
	if !hidden {
		value = valueText(doc.Value)
	}
	return o.drawBlame(o.streams.Out, doc, value, len(obj.GetManagedFields()) > 0)
}

// isSecret reports whether a field may hold data of a Secret: all do but a few, as annotations may have a copy of it.
func isSecret(obj *unstructured.Unstructured, path fields.Path) bool {
	if !fields.IsSecret(obj) {
		return false
	}
	shown := []string{"type", "immutable", "metadata.labels", "metadata.finalizers", "metadata.ownerReferences"}
	return !slices.ContainsFunc(shown, func(field string) bool {
		return path.String() == field || strings.HasPrefix(path.String(), field+".")
	})
}

// noField is the error of a field that the object does not have.
func (q *query) noField(missing *fields.PathError) error {
	err := fmt.Errorf("%s/%s: %w", q.target.Kind, q.target.Name, missing)
	if len(missing.There) == 0 {
		return err
	}
	return cli.WithHint(err, cli.Suggestion(missing.Missing, missing.There, "there is "+cli.Enumerate(missing.There)))
}

// drawBlame writes who set a field, for people. Managed reports whether the object has managedFields at all.
func (o *Options) drawBlame(w io.Writer, doc *v1alpha1.FieldBlame, value string, managed bool) error {
	var text strings.Builder
	line := func(indent, s string) {
		fmt.Fprintln(&text, render.Wrap(indent+cli.OneLine(s), o.width, indent+"  "))
	}
	line("", fmt.Sprintf("%s %s: %s is %s", doc.Object.Kind, doc.Object.Name, doc.Field, value))
	switch {
	case len(doc.Owners) == 0 && managed:
		line("", "no manager owns it: it is a default of the API server, or was set by it")
	case len(doc.Owners) == 0:
		line("", "the object has no managedFields, which would say who set it")
	}
	for i, owner := range doc.Owners {
		line("  ", o.ownerText(owner, i, doc.Owners))
	}
	if len(doc.Conflicts) > 0 {
		line("", "kubectl apply --server-side of another value conflicts with "+conflictsText(doc.Conflicts)+
			", and with --force-conflicts takes the field from "+cli.PluralOf(len(doc.Conflicts), "it", "them"))
	}
	if len(doc.SetBack) > 0 {
		fmt.Fprintln(&text, "who would set it back:")
	}
	for _, b := range doc.SetBack {
		line("  ", b.By+": "+b.When)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// kubectlManager is the field manager of kubectl's server-side apply, if no other is given.
const kubectlManager = "kubectl"

func conflictsText(owners []fields.FieldOwner) string {
	var names []string
	for i := range owners {
		names = append(names, cmp.Or(render.WriterText(&owners[i].Writer), "a manager without a name"))
	}
	return cli.Enumerate(names)
}

// valueText is the value of a field, in one line.
func valueText(value any) string {
	if s, ok := value.(string); ok {
		return render.Cut(fmt.Sprintf("%q", s), 200)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return render.Cut(string(text), 200)
}

// ownerText describes one owner of a field.
func (o *Options) ownerText(owner fields.FieldOwner, index int, all []fields.FieldOwner) string {
	whole := 0
	for _, other := range all {
		if other.Owns != fields.OwnsPart {
			whole++
		}
	}
	verb := "set by"
	switch {
	case owner.Owns == fields.OwnsPart:
		verb = "in part by"
	case whole > 1 && index > 0:
		verb = "also owned by"
	case whole > 1:
		verb = "owned by"
	}
	text := verb + " " + cmp.Or(owner.Manager, "a manager without a name") + ", " + throughText(owner.Writer)
	if owner.Time != nil {
		text += ", " + render.Age(o.clock.Now().Sub(owner.Time.Time)) + " ago or before"
	}
	switch owner.Owns {
	case fields.OwnsPart:
		text += ": " + cli.Enumerate(owner.Fields)
	case fields.OwnsContaining:
		text += ", with all of " + owner.Fields[0]
	case fields.OwnsField:
	}
	return text
}

// throughText says through what a manager wrote.
func throughText(w fields.Writer) string {
	out := "by an update"
	if w.Operation == "Apply" {
		out = "by a server-side apply"
	}
	if w.Manager == "kubectl-client-side-apply" {
		out = "by kubectl apply"
	}
	if w.Subresource != "" {
		out += " of the subresource " + w.Subresource
	}
	return out
}

// appliers are the field managers of programs that apply again what they have read, and when they do.
var appliers = []struct{ prefix, when string }{
	{"argocd", "Argo CD sets it again when it syncs, at once with selfHeal"},
	{"kustomize-controller", "Flux applies it again at its interval"},
	{"helm-controller", "Flux applies it again when it corrects drift, or at the next upgrade"},
	{"flux", "Flux applies it again at its interval"},
	{"helm", "the next helm upgrade sets it, if the chart has changed it"},
	{"kubectl-client-side-apply", "the next kubectl apply of its manifest sets it"},
	{"kubectl", "the next server-side apply of its manifest conflicts with others, and sets it with --force-conflicts"},
	{"terraform", "the next terraform apply sets it"},
	{"Terraform", "the next terraform apply sets it"},
	{"before-first-apply", "the next apply takes it over"},
}

// setBack finds what would set the field again after another has changed it.
func (q *query) setBack(
	ctx context.Context, obj *unstructured.Unstructured, field fields.Value,
) []v1alpha1.SetBack {
	var out []v1alpha1.SetBack
	if field.Path == "spec.replicas" {
		out = append(out, q.autoscalers(ctx, obj)...)
		applied := diagnosis.AppliesReplicas(obj)
		owns := func(o fields.FieldOwner) bool { return applied != nil && o.Manager == applied.Manager }
		if applied != nil && !slices.ContainsFunc(field.Owners, owns) {
			out = append(out, v1alpha1.SetBack{By: applied.Manager, When: applierSetsBack(*applied)})
		}
	}
	for _, o := range obj.GetOwnerReferences() {
		if o.Controller == nil || !*o.Controller {
			continue
		}
		ref := v1alpha1.ObjectRef{
			APIVersion: o.APIVersion, Kind: o.Kind, Namespace: obj.GetNamespace(), Name: o.Name, UID: o.UID,
		}
		if when := ownerSetsBack(o.Kind, obj.GetKind(), field.Path); when != "" {
			out = append(out, v1alpha1.SetBack{
				By: "the controller of " + o.Kind + "/" + o.Name, When: when, Object: &ref,
			})
		}
	}
	return append(out, managersSetBack(field)...)
}

// managersSetBack are the managers of a field that set it again, each once.
func managersSetBack(field fields.Value) []v1alpha1.SetBack {
	var out []v1alpha1.SetBack
	for _, o := range field.Owners {
		when := "it is a status, which it writes again when it reconciles"
		if !strings.HasPrefix(field.Path, "status") {
			when = applierSetsBack(o.Writer)
		}
		known := slices.ContainsFunc(out, func(b v1alpha1.SetBack) bool { return b.By == o.Manager })
		if when != "" && !known {
			out = append(out, v1alpha1.SetBack{By: o.Manager, When: when})
		}
	}
	return out
}

// applierSetsBack says when a manager applies a field again; empty if nothing is known of it.
func applierSetsBack(w fields.Writer) string {
	for _, a := range appliers {
		applied := w.Operation == "Apply" || a.prefix != "kubectl"
		if strings.HasPrefix(w.Manager, a.prefix) && applied && w.Subresource == "" {
			return a.when
		}
	}
	if w.Operation == "Apply" {
		return "its next server-side apply sets it, or reports a conflict"
	}
	return ""
}

// ownerSetsBack says when the controller of an owner sets a field of what it owns; empty if it does not.
func ownerSetsBack(owner, kind, path string) string {
	switch owner + " " + kind {
	case "Deployment ReplicaSet":
		if path == "spec.replicas" || path == "spec.minReadySeconds" ||
			strings.HasPrefix(path, "metadata.annotations") {
			return "it sets it from the Deployment, whenever it reconciles"
		}
		return ""
	case "ReplicaSet Pod", "DaemonSet Pod", "StatefulSet Pod", "Job Pod", "ReplicationController Pod":
		if strings.HasPrefix(path, "metadata.labels") {
			return "it releases a pod whose labels do not match its selector any more, and creates another"
		}
		return ""
	case "CronJob Job", "StatefulSet PersistentVolumeClaim", "Node Lease":
		return ""
	}
	return "it may set it from its owner when it reconciles"
}

// autoscalers are the HorizontalPodAutoscalers that scale the object.
func (q *query) autoscalers(ctx context.Context, obj *unstructured.Unstructured) []v1alpha1.SetBack {
	gvk := schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	kind, ok, err := q.cluster.Kinds.Lookup(gvk)
	if err != nil {
		q.warnNoAutoscalers(err)
	}
	if err != nil || !ok {
		return nil
	}
	var out []v1alpha1.SetBack
	target := cluster.Target{Kind: kind, Namespace: obj.GetNamespace()}
	err = q.cluster.Reader.ListTyped(ctx, target, cluster.ListOptions{},
		func() cluster.Typed { return &autoscalingv2.HorizontalPodAutoscaler{} }, func(object cluster.Typed) error {
			h, ok := object.(*autoscalingv2.HorizontalPodAutoscaler)
			if !ok {
				return nil
			}
			ref := h.Spec.ScaleTargetRef
			group := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group
			if ref.Kind != obj.GetKind() || ref.Name != obj.GetName() || group != obj.GroupVersionKind().Group {
				return nil
			}
			least := int32(1)
			if h.Spec.MinReplicas != nil {
				least = *h.Spec.MinReplicas
			}
			out = append(out, v1alpha1.SetBack{
				By: "HorizontalPodAutoscaler/" + h.Name,
				When: fmt.Sprintf("it scales it between %d and %d through the subresource scale",
					least, h.Spec.MaxReplicas),
				Object: &v1alpha1.ObjectRef{
					APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler",
					Namespace: h.Namespace, Name: h.Name, UID: h.UID,
				},
			})
			return nil
		})
	if err != nil {
		q.warnNoAutoscalers(err)
	}
	slices.SortFunc(out, func(a, b v1alpha1.SetBack) int { return cmp.Compare(a.By, b.By) })
	return out
}

func (q *query) warnNoAutoscalers(err error) {
	text := "warning: HorizontalPodAutoscalers could not be listed: " + err.Error()
	fmt.Fprintln(q.options.streams.ErrOut, cli.OneLine(text))
}
