package why

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// action is one thing that is done to an object, TYPE/NAME.
type action struct {
	// Patch is a merge patch for an object, or for a subresource of it, by a field manager.
	Target      string         `json:"target,omitempty"`
	Patch       map[string]any `json:"patch,omitempty"`
	Subresource string         `json:"subresource,omitempty"`
	Manager     string         `json:"manager,omitempty"`
	// Times is how often it is done; in the texts of the patch, numbers that are "TIMES" are the number of the turn.
	Times int `json:"times,omitempty"`
	// Delete deletes an object: background, foreground or orphan.
	Delete string `json:"delete,omitempty"`
	Policy string `json:"policy,omitempty"`
	// Create creates an object.
	Create map[string]any `json:"create,omitempty"`
	// Refused waits until the object may not be created: admission policies and webhooks take a moment to be seen.
	Refused map[string]any `json:"refused,omitempty"`
	// Converged waits until an object, TYPE/NAME, is as its spec requests.
	Converged string `json:"converged,omitempty"`
	// Named waits until a cause of this type is named first.
	Named string `json:"named,omitempty"`
}

// do does one action.
func (p *player) do(ctx context.Context, t *testing.T, a action) {
	t.Helper()
	switch {
	case a.Create != nil:
		p.create(ctx, t, a.Create)
	case a.Refused != nil:
		p.refused(ctx, t, a.Refused)
	case a.Converged != "":
		p.converged(ctx, t, a.Converged)
	case a.Named != "":
		p.named(ctx, t, a.Named)
	case a.Delete != "":
		resource, name := p.resource(t, p.expand(a.Delete))
		policy := metav1.DeletionPropagation("Background")
		if a.Policy != "" {
			policy = metav1.DeletionPropagation(a.Policy)
		}
		if err := resource.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			t.Fatal(err)
		}
	default:
		p.patch(ctx, t, a)
	}
}

func (p *player) patch(ctx context.Context, t *testing.T, a action) {
	t.Helper()
	resource, name := p.resource(t, p.expand(a.Target))
	var subresources []string
	if a.Subresource != "" {
		subresources = []string{a.Subresource}
	}
	for turn := range max(a.Times, 1) {
		patch, err := json.Marshal(p.expandAll(a.Patch))
		if err != nil {
			t.Fatal(err)
		}
		patch = bytes.ReplaceAll(patch, []byte(`"TIMES"`), []byte(fmt.Sprint(turn+1)))
		manager := a.Manager
		if manager == "" {
			manager = "test"
		}
		if _, err := resource.Patch(ctx, name, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: manager}, subresources...); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *player) exists(ctx context.Context, t *testing.T, target string) {
	t.Helper()
	resource, name := p.resource(t, target)
	for {
		_, err := resource.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsNotFound(err) || ctx.Err() != nil {
			t.Fatal(err)
		}
		wait(ctx)
	}
}

// refused waits until an object may not be created.
func (p *player) refused(ctx context.Context, t *testing.T, document map[string]any) {
	t.Helper()
	obj := &unstructured.Unstructured{Object: p.expandAll(document).(map[string]any)}
	resource, _ := p.resource(t, obj.GetKind()+"/"+obj.GetName())
	for {
		_, err := resource.Create(ctx, obj.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsInternalError(err) {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("it may be created: %v", err)
		}
		wait(ctx)
	}
}

// converged waits until an object is as its spec requests.
func (p *player) converged(ctx context.Context, t *testing.T, target string) {
	t.Helper()
	for {
		v, err := p.askAbout(ctx, p.stage.config, target)
		if err == nil && v.diagnosis.Converged {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s has not converged: %v", target, err)
		}
		wait(ctx)
	}
}

// named waits until a cause of a type is named first.
func (p *player) named(ctx context.Context, t *testing.T, cause string) {
	t.Helper()
	for {
		v, err := p.ask(ctx)
		if err == nil && len(v.diagnosis.Causes) > 0 && string(v.diagnosis.Causes[0].Type) == cause {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the cause %s is not named: %v", cause, err)
		}
		wait(ctx)
	}
}

// resource returns the client of an object, TYPE/NAME, and its name.
func (p *player) resource(t *testing.T, target string) (dynamic.ResourceInterface, string) {
	t.Helper()
	typeName, name, _ := strings.Cut(target, "/")
	kind, err := p.kinds.Resolve(typeName)
	if err != nil {
		t.Fatal(err)
	}
	if kind.Namespaced {
		resource := p.stage.client.Resource(kind.GVR()).Namespace(p.namespace)
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			all, err := resource.List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, obj := range all.Items {
				if strings.HasPrefix(obj.GetName(), prefix) {
					name = obj.GetName()
				}
			}
		}
		return resource, name
	}
	return p.stage.client.Resource(kind.GVR()), name
}

// create creates an object, and writes its status if it has one. A definition is waited for.
func (p *player) create(ctx context.Context, t *testing.T, document map[string]any) {
	t.Helper()
	obj := &unstructured.Unstructured{Object: p.expandAll(document).(map[string]any)}
	status, hasStatus := obj.Object["status"]
	gvk := obj.GroupVersionKind()
	kind, ok, err := p.kinds.Lookup(gvk)
	for !ok && ctx.Err() == nil { // its definition has just been created
		wait(ctx)
		if p.kinds, err = cluster.Discover(ctx, p.stage.config); err != nil {
			t.Fatal(err)
		}
		kind, ok, err = p.kinds.Lookup(gvk)
	}
	if err != nil || !ok {
		t.Fatalf("%s: %v", gvk, err)
	}
	var resource dynamic.ResourceInterface = p.stage.client.Resource(kind.GVR())
	if kind.Namespaced {
		namespace := p.namespace
		if own := obj.GetNamespace(); own != "" {
			namespace = own
		}
		obj.SetNamespace(namespace)
		resource = p.stage.client.Resource(kind.GVR()).Namespace(namespace)
	}
	created, err := resource.Create(ctx, obj, metav1.CreateOptions{FieldManager: "test"})
	if err != nil {
		t.Fatalf("%s %s: %v", gvk.Kind, obj.GetName(), err)
	}
	p.uids[obj.GetName()] = string(created.GetUID())
	p.uids[gvk.Kind+"/"+obj.GetName()] = string(created.GetUID())
	if !hasStatus || !kind.HasStatus {
		return
	}
	for {
		created.Object["status"] = status
		_, err := resource.UpdateStatus(ctx, created, metav1.UpdateOptions{FieldManager: "controller"})
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			t.Fatalf("status of %s %s: %v", gvk.Kind, obj.GetName(), err)
		}
		if created, err = resource.Get(ctx, obj.GetName(), metav1.GetOptions{}); err != nil { // another has written it
			t.Fatal(err)
		}
	}
}

// expandAll expands every text of a value.
func (p *player) expandAll(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for k, v := range value {
			out[p.expand(k)] = p.expandAll(v)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = p.expandAll(v)
		}
		return out
	case string:
		return p.expand(value)
	}
	return value
}

func (p *player) expand(text string) string {
	text = strings.ReplaceAll(text, "NAMESPACE", p.namespace)
	if name, ok := strings.CutPrefix(text, "uid-of:"); ok {
		return p.uids[name]
	}
	for prefix, format := range map[string]string{"ago:": time.RFC3339, "microago:": metav1.RFC3339Micro} {
		if ago, ok := strings.CutPrefix(text, prefix); ok {
			if d, err := time.ParseDuration(ago); err == nil {
				return time.Now().Add(-d).UTC().Format(format)
			}
		}
	}
	return text
}
