package runlocal

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
)

// refusal returns the error of a write without what its text must not have: the patch, which servers quote before the
// reason, and the values of Secrets among the objects, which are those that were sent and, if known, replaced.
func refusal(err error, objects ...*unstructured.Unstructured) error {
	clean := func(text string) string { return fields.HideSecretValues(fields.WithoutPatch(text), objects...) }
	if err == nil || clean(err.Error()) == err.Error() {
		return err
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return errors.New(clean(err.Error()))
	}
	out := &apierrors.StatusError{ErrStatus: *status.ErrStatus.DeepCopy()}
	out.ErrStatus.Message = clean(err.Error())
	if details := out.ErrStatus.Details; details != nil {
		for i := range details.Causes {
			details.Causes[i].Message = clean(details.Causes[i].Message)
		}
	}
	return out
}
