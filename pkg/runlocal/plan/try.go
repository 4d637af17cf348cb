package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// triedManifest is an object of a change, and what the cluster would make of it.
type triedManifest struct {
	manifest runlocal.Manifest
	// known is false for a kind that the cluster does not serve, and newNamespace is true for an object whose namespace
	// it does not have: both may be made by another object of a change. Such objects are not tried on the cluster.
	known, newNamespace bool
	kind                cluster.Kind
	after               *unstructured.Unstructured // nil if it was not tried
}

// exists reports whether the cluster has the object: a dry run gives none that it would create a resourceVersion.
func (t *triedManifest) exists() bool { return t.after != nil && t.after.GetResourceVersion() != "" }

// tryManifests has the cluster apply the manifests of the change in dry run, with its webhooks and defaults. Objects
// without a namespace get that of the options.
func (r *clusterRead) tryManifests(ctx context.Context) error {
	if len(r.change.Manifests) == 0 {
		return nil
	}
	client, err := dynamic.NewForConfig(r.c.Config)
	if err != nil {
		return fmt.Errorf("making a client of the cluster: %w", err)
	}
	var errs []error
	made := definedBy(r.change.Manifests)
	for _, m := range r.change.Manifests {
		m.Object = m.Object.DeepCopy()
		t, err := r.try(ctx, client, m, made)
		if err != nil {
			errs = append(errs, &ManifestError{m, err})
			continue
		}
		r.tried = append(r.tried, t)
	}
	return errors.Join(errs...)
}

// defined are the kinds and namespaces that objects of a change make.
type defined struct {
	kinds      []schema.GroupKind
	namespaces []string
}

func definedBy(change []runlocal.Manifest) defined {
	var out defined
	for _, m := range change {
		switch m.Object.GroupVersionKind().GroupKind() {
		case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
			group, _, _ := unstructured.NestedString(m.Object.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(m.Object.Object, "spec", "names", "kind")
			out.kinds = append(out.kinds, schema.GroupKind{Group: group, Kind: kind})
		case schema.GroupKind{Kind: "Namespace"}:
			out.namespaces = append(out.namespaces, m.Object.GetName())
		}
	}
	return out
}

func (r *clusterRead) try(ctx context.Context, client dynamic.Interface, m runlocal.Manifest, made defined) (
	*triedManifest, error) {
	gvk := m.Object.GroupVersionKind()
	kind, ok, err := r.c.Kinds.Lookup(gvk)
	switch {
	case err != nil:
		return nil, err
	case !ok && slices.Contains(made.kinds, gvk.GroupKind()):
		return &triedManifest{manifest: m}, nil
	case !ok:
		return nil, fmt.Errorf("no kind %q is served in version %q", gvk.Kind, gvk.GroupVersion())
	case m.Object.GetName() == "":
		return nil, errors.New("it has no name")
	}
	t := &triedManifest{manifest: m, known: true, kind: kind}
	var objects dynamic.ResourceInterface = client.Resource(kind.GVR())
	if kind.Namespaced {
		if m.Object.GetNamespace() == "" {
			m.Object.SetNamespace(r.namespace)
		}
		objects = client.Resource(kind.GVR()).Namespace(m.Object.GetNamespace())
	}
	apply := r.change.Apply
	apply.DryRun = true
	t.after, err = apply.Write(ctx, objects, m.Object)
	if namespace := m.Object.GetNamespace(); apierrors.IsNotFound(err) && slices.Contains(made.namespaces, namespace) {
		t.newNamespace = true
		return t, nil
	}
	if fields.IsSecret(t.after) {
		r.secrets.Hide(t.after.Object)
	}
	return t, err
}

// keepCopied leaves out objects that the cluster has and the copy does not: the plan would show them as created. They
// are State.Uncopied if no copy has them, such as webhooks; it is an error if the kind could not be read.
func (r *clusterRead) keepCopied(state *State) error {
	var kept []*triedManifest
	var errs []error
	for _, t := range r.tried {
		resource := t.kind.GroupResource()
		if t.exists() {
			namespace, name := t.after.GetNamespace(), t.after.GetName()
			_, found := state.Copy.Find(resource, namespace, name)
			switch {
			case found:
			case state.Copy.Unread(resource):
				errs = append(errs, &ManifestError{t.manifest, ErrNotCopied})
				continue
			default:
				state.Uncopied = append(state.Uncopied, seed.Root{Kind: t.kind, Namespace: namespace, Name: name})
				continue
			}
		}
		kept = append(kept, t)
	}
	r.tried = kept
	r.pruned = slices.DeleteFunc(r.pruned, func(p seed.Root) bool {
		_, found := state.Copy.Find(p.Kind.GroupResource(), p.Namespace, p.Name)
		if !found {
			state.Uncopied = append(state.Uncopied, p)
		}
		return !found
	})
	return errors.Join(errs...)
}

// writeTried returns a function that writes to the copy what the cluster has answered, or applies what was not tried.
func (r *clusterRead) writeTried() runlocal.WriteFunc {
	return func(ctx context.Context, client dynamic.ResourceInterface, obj *unstructured.Unstructured) (
		*unstructured.Unstructured, error) {
		i := slices.IndexFunc(r.tried, func(t *triedManifest) bool {
			m := t.manifest.Object
			return t.after != nil && m.GroupVersionKind() == obj.GroupVersionKind() &&
				m.GetNamespace() == obj.GetNamespace() && m.GetName() == obj.GetName()
		})
		if i < 0 {
			return r.change.Apply.Write(ctx, client, obj)
		}
		after := r.tried[i].after.DeepCopy()
		current, err := client.Get(ctx, obj.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			removeInvented(after, obj)
			if uid := string(after.GetUID()); uid != "" {
				removeValue(after.Object, uid)
			}
			for _, field := range []string{"resourceVersion", "generation", "creationTimestamp", "managedFields"} {
				unstructured.RemoveNestedField(after.Object, "metadata", field)
			}
			return client.Create(ctx, after, metav1.CreateOptions{FieldManager: r.change.Apply.Manager()})
		}
		if err != nil {
			return nil, err
		}
		removeInvented(after, obj, current)
		after.SetUID(current.GetUID())
		after.SetResourceVersion(current.GetResourceVersion())
		after.SetManagedFields(nil)
		return client.Update(ctx, after, metav1.UpdateOptions{FieldManager: r.change.Apply.Manager()})
	}
}

// removeInvented removes from a Service that a dry run was answered with the addresses and ports that none of the
// others has. A server reserves none in a dry run, and answers with ones that no Service can have; the copy chooses
// its own.
func removeInvented(after *unstructured.Unstructured, others ...*unstructured.Unstructured) {
	if after.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Service"}) {
		return
	}
	kept := map[string]bool{corev1.ClusterIPNone: true}
	for _, other := range others {
		keepReserved(other.DeepCopy(), func(value string) bool {
			kept[value] = true
			return true
		})
	}
	keepReserved(after, func(value string) bool { return kept[value] })
}

// removeValue removes the fields that have a value, wherever they are: the uid that a dry run was answered with is also
// among the labels and in the selector of a Job.
func removeValue(in any, value string) {
	switch in := in.(type) {
	case map[string]any:
		for name, field := range in {
			if field == value {
				delete(in, name)
			} else {
				removeValue(field, value)
			}
		}
	case []any:
		for _, item := range in {
			removeValue(item, value)
		}
	}
}

// keepReserved removes the addresses and ports that a Service has reserved for which keep returns false.
func keepReserved(service *unstructured.Unstructured, keep func(value string) bool) {
	keepField := func(in any, field string) {
		m, _ := in.(map[string]any)
		if value, ok := m[field]; ok && !keep(fmt.Sprint(value)) {
			delete(m, field)
		}
	}
	spec, _ := service.Object["spec"].(map[string]any)
	keepField(spec, "clusterIP")
	keepField(spec, "healthCheckNodePort")
	if ips, ok := spec["clusterIPs"].([]any); ok {
		spec["clusterIPs"] = slices.DeleteFunc(ips, func(ip any) bool { return !keep(fmt.Sprint(ip)) })
	}
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		keepField(port, "nodePort")
	}
}
