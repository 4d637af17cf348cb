package runlocal

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
)

// The field managers of `kubectl apply`, without and with --server-side.
const (
	KubectlClientSideManager = "kubectl-client-side-apply"
	KubectlServerSideManager = "kubectl"
)

// KubectlApply writes objects as `kubectl apply` does. The zero value is without any flags.
type KubectlApply struct {
	// ServerSide, ForceConflicts and FieldManager are the flags of those names. An empty FieldManager is kubectl's.
	ServerSide, ForceConflicts bool
	FieldManager               string
	// DryRun has the server process the write, and not keep it.
	DryRun bool
}

// Manager is the field manager of what is written.
func (a KubectlApply) Manager() string {
	switch {
	case a.FieldManager != "":
		return a.FieldManager
	case a.ServerSide:
		return KubectlServerSideManager
	}
	return KubectlClientSideManager
}

func (a KubectlApply) dryRun() []string {
	if a.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// maxApplyTries is how often an object is read again that changes meanwhile, as `kubectl apply` does.
const maxApplyTries = 5

// Write applies an object, which must have a name, and returns what the server answers. It mirrors InfoObject.Merged of
// k8s.io/kubectl/pkg/cmd/diff/diff.go and Patcher.patchSimple of k8s.io/kubectl/pkg/cmd/apply/patcher.go, without
// OpenAPI: the types of built-in kinds are those of this program. An error does not have the values of Secrets.
func (a KubectlApply) Write(ctx context.Context, client dynamic.ResourceInterface, obj *unstructured.Unstructured) (
	*unstructured.Unstructured, error) {
	if a.ServerSide {
		result, err := client.Apply(ctx, obj.GetName(), withoutLastApplied(obj), metav1.ApplyOptions{
			FieldManager: a.Manager(), Force: a.ForceConflicts, DryRun: a.dryRun(),
		})
		return result, refusal(err, obj)
	}
	modified, err := withLastApplied(obj)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		current, err := client.Get(ctx, obj.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			result, err := client.Create(ctx, modified, metav1.CreateOptions{
				FieldManager: a.Manager(), DryRun: a.dryRun(), FieldValidation: metav1.FieldValidationStrict,
			})
			return result, refusal(err, obj)
		}
		if err != nil {
			return nil, err
		}
		patch, patchType, err := threeWayPatch(current, modified)
		if err != nil {
			return nil, refusal(err, obj, current)
		}
		if string(patch) == "{}" {
			return current, nil
		}
		result, err := client.Patch(ctx, obj.GetName(), patchType, patch, metav1.PatchOptions{
			FieldManager: a.Manager(), DryRun: a.dryRun(), FieldValidation: metav1.FieldValidationStrict,
		})
		if try == maxApplyTries || !apierrors.IsConflict(err) {
			return result, refusal(err, obj, current)
		}
	}
}

// withoutLastApplied returns a copy of an object without kubectl's copy of all fields.
func withoutLastApplied(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := obj.DeepCopy()
	annotations := out.GetAnnotations()
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	if len(annotations) == 0 {
		annotations = nil
	}
	out.SetAnnotations(annotations)
	return out
}

// withLastApplied returns a copy of an object with a copy of all its fields in the annotation that kubectl compares
// with.
func withLastApplied(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	out := withoutLastApplied(obj)
	if out.GetAnnotations() == nil {
		if err := unstructured.SetNestedMap(out.Object, map[string]any{}, "metadata", "annotations"); err != nil {
			return nil, fmt.Errorf("setting the annotations: %w", err)
		}
	}
	text, err := runtime.Encode(unstructured.UnstructuredJSONScheme, out)
	if err != nil {
		return nil, fmt.Errorf("encoding the object: %w", err)
	}
	annotations := out.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(text)
	out.SetAnnotations(annotations)
	return out, nil
}

// threeWayPatch returns the patch that makes the current object what is modified, and takes away what was applied
// before and is not any more.
func threeWayPatch(current, modified *unstructured.Unstructured) ([]byte, types.PatchType, error) {
	original := []byte(current.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
	var encoded [2][]byte
	for i, obj := range []*unstructured.Unstructured{modified, current} {
		var err error
		if encoded[i], err = runtime.Encode(unstructured.UnstructuredJSONScheme, obj); err != nil {
			return nil, "", fmt.Errorf("encoding the object: %w", err)
		}
	}
	typed, err := scheme.Scheme.New(current.GroupVersionKind())
	if runtime.IsNotRegisteredError(err) {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, encoded[0], encoded[1],
			mergepatch.RequireKeyUnchanged("apiVersion"), mergepatch.RequireKeyUnchanged("kind"),
			mergepatch.RequireMetadataKeyUnchanged("name"))
		if mergepatch.IsPreconditionFailed(err) {
			return nil, "", errors.New("at least one of apiVersion, kind and name was changed")
		}
		return patch, types.MergePatchType, err
	}
	if err != nil {
		return nil, "", err
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, "", err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(original, encoded[0], encoded[1], schema, true)
	return patch, types.StrategicMergePatchType, err
}
