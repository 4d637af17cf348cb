package runlocal

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

const (
	// establishTimeout bounds how long a CustomResourceDefinition may take to be served, and what others need to be
	// seen.
	establishTimeout = 10 * time.Second
	// quotaTimeout bounds how long the resourcequota controller may take for a quota. It does not begin before it has
	// listed all that quotas count.
	quotaTimeout = time.Minute
)

// waitEstablished waits until the API serves the kinds that the manifests define.
func (s *Session) waitEstablished(ctx context.Context, manifests []Manifest) error {
	for _, m := range manifests {
		if m.Object.GroupVersionKind().GroupKind() != crdKind {
			continue
		}
		err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, establishTimeout, true,
			func(ctx context.Context) (bool, error) {
				return s.established(ctx, m.Object.GetName())
			})
		if err != nil {
			return fmt.Errorf("%s: waiting for it to be served: %w", m, err)
		}
	}
	return nil
}

// established reports whether the definition is in force and discovery lists its kind, which comes a little later. One
// that does not exist was refused, and need not be waited for.
func (s *Session) established(ctx context.Context, name string) (bool, error) {
	crd, err := s.dynamic.Resource(crdResource).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil || !hasCondition(crd, "Established") {
		return false, err
	}
	group, _, err := unstructured.NestedString(crd.Object, "spec", "group")
	if err != nil {
		return false, err
	}
	kind, _, err := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	if err != nil {
		return false, err
	}
	return s.servesAll(ctx, schema.GroupKind{Group: group, Kind: kind}), nil
}

// hasCondition reports whether the object's condition of that type is true.
func hasCondition(obj *unstructured.Unstructured, name string) bool {
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return false
	}
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == name && m["status"] == "True"
	})
}

// waitSeen waits, in the sandbox, until the API server's own admission, and the controllers that watch the kinds of
// these objects, have seen them, and then until the controllers are idle, or establishTimeout is over: the volume
// binder, for one, knows a volume only when a worker has handled its key, and looks at a claim again 15 s later.
func (s *Session) waitSeen(ctx context.Context, applied []Applied) error {
	if s.server == nil || len(applied) == 0 {
		return nil
	}
	seen := map[schema.GroupResource]bool{}
	for _, a := range applied {
		resource := a.Resource.GroupResource()
		if seen[resource] {
			continue
		}
		err := wait.PollUntilContextTimeout(ctx, pollInterval, establishTimeout, true,
			func(context.Context) (bool, error) {
				return s.server.CachesSynced(resource) && s.handled(s.tap.State(), resource), nil
			})
		if err != nil {
			return fmt.Errorf("%s: waiting for admission and the controllers to see it: %w", a, err)
		}
		seen[resource] = true
	}
	limited, cancel := context.WithTimeout(ctx, establishTimeout)
	defer cancel()
	if err := s.poll(limited, func() (bool, error) { return s.idleButHeld(s.tap.State()), nil }); err != nil {
		return ctx.Err() // controllers that are never idle hold up nothing
	}
	return nil
}

// quotaController is the short name of the controller that sets the status of quotas.
const quotaController = "resourcequota"

// UncountedQuotaError is the error that the resourcequota controller did not set the status of a quota in time, so that
// the quota limits nothing. What it counts was not applied.
type UncountedQuotaError struct {
	Quota Applied
	// Err is the error of the context, or of reading the quota.
	Err error
}

// Error implements error.
func (e *UncountedQuotaError) Error() string {
	return fmt.Sprintf("%s: waiting for the resourcequota controller to set its status: %v; "+
		"what it counts was not applied", e.Quota, e.Err)
}

// Unwrap returns Err.
func (e *UncountedQuotaError) Unwrap() error { return e.Err }

// waitCounted waits until the resourcequota controller, if it runs, has set the status of the quotas. Admission, which
// enforces a quota, goes by the status: CheckRequest of k8s.io/apiserver/pkg/admission/plugin/resourcequota passes over
// one that has none.
func (s *Session) waitCounted(ctx context.Context, applied []Applied) error {
	if !s.countsQuotas {
		return nil
	}
	for _, a := range applied {
		if a.Kind.GroupKind() != quotaKind {
			continue
		}
		err := wait.PollUntilContextTimeout(ctx, pollInterval, quotaTimeout, true,
			func(ctx context.Context) (bool, error) {
				s.releaseKeysOf(quotaController)
				return s.counted(ctx, a)
			})
		if err != nil {
			return &UncountedQuotaError{Quota: a, Err: err}
		}
	}
	return nil
}

// counted reports whether the status of the quota is that of its spec. One that was deleted need not be waited for.
func (s *Session) counted(ctx context.Context, quota Applied) (bool, error) {
	obj, err := s.reader.Resource(quota.Resource).Namespace(quota.Namespace).Get(ctx, quota.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	wanted, _, err := unstructured.NestedMap(obj.Object, "spec", "hard")
	if err != nil {
		return false, err
	}
	enforced, _, err := unstructured.NestedMap(obj.Object, "status", "hard")
	return reflect.DeepEqual(wanted, enforced), err
}

// Unenforced returns the quotas among the objects that limit nothing, because no controller of the session sets their
// status.
func (s *Session) Unenforced(applied []Applied) []Applied {
	if s.countsQuotas {
		return nil
	}
	var quotas []Applied
	for _, a := range applied {
		if a.Kind.GroupKind() == quotaKind {
			quotas = append(quotas, a)
		}
	}
	return quotas
}

// countsQuotas reports whether one of the controllers sets the status of quotas.
func countsQuotas(cs []controllers.Controller) bool {
	return slices.ContainsFunc(cs, func(c controllers.Controller) bool {
		return c.Name == names.ResourceQuotaController
	})
}
