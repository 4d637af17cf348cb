package api

import (
	"fmt"
	"strings"

	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api/memstore"
)

// Write is one write of one object.
type Write struct {
	// Resource has the version that Before and After are in: the preferred one of a built-in group, of custom resources
	// the one that they are stored in.
	Resource schema.GroupVersionResource
	// ResourceVersion is that of the write.
	ResourceVersion uint64
	// Before and After are the object before and after the write: the first is nil for a creation, the second for a
	// deletion. They are the caller's.
	Before, After *unstructured.Unstructured
}

// Writes returns the writes of the resources for which wanted reports true after a resource version, in their order.
// The objects that the API server itself keeps (APIServices) are left out. The error is that some writes are not kept
// any more, see Options.History, or that an object cannot be converted.
func (s *Server) Writes(after uint64, wanted func(schema.GroupResource) bool) ([]Write, error) {
	resources := s.backend.resourcesByPrefix()
	stored, err := s.backend.store.Writes(after, func(prefix string) bool {
		gr, ok := resources[strings.Trim(prefix, "/")]
		return ok && gr.Group != apiRegistrationGroup && wanted(gr)
	})
	if err != nil {
		return nil, err
	}
	out := make([]Write, 0, len(stored))
	for _, w := range stored {
		gr := resources[strings.Trim(w.ResourcePrefix, "/")]
		one := Write{ResourceVersion: w.ResourceVersion}
		if one.Before, err = external(w.Before, gr.Group); err == nil {
			one.After, err = external(w.After, gr.Group)
		}
		if err != nil {
			return nil, fmt.Errorf("reading a write of %q: %w", gr, err)
		}
		kept := one.After
		if kept == nil {
			kept = one.Before
		}
		one.Resource = gr.WithVersion(kept.GroupVersionKind().Version)
		out = append(out, one)
	}
	return out, nil
}

// apiRegistrationGroup is the group of APIServices.
const apiRegistrationGroup = "apiregistration.k8s.io"

// resourcesByPrefix returns the resources by their prefixes, without slashes around them. Of two with one prefix, as
// events are, it has one.
func (b *backend) resourcesByPrefix() map[string]schema.GroupResource {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make(map[string]schema.GroupResource, len(b.resources))
	for gr, storage := range b.resources {
		out[strings.Trim(storage.prefix, "/")] = gr
	}
	return out
}

// external returns a stored version as clients see it; nil if there is none.
func external(v memstore.Version, group string) (*unstructured.Unstructured, error) {
	switch {
	case v.IsZero():
		return nil, nil
	case v.Object == nil:
		out := &unstructured.Unstructured{}
		return out, out.UnmarshalJSON(v.Data)
	}
	scheme := legacyscheme.Scheme
	if !scheme.IsGroupRegistered(group) {
		scheme = apiextensionsserver.Scheme
	}
	kinds, _, err := scheme.ObjectKinds(v.Object)
	if err != nil {
		return nil, err
	}
	for _, version := range scheme.PrioritizedVersionsForGroup(group) {
		if !scheme.Recognizes(version.WithKind(kinds[0].Kind)) {
			continue
		}
		typed, err := scheme.ConvertToVersion(v.Object, version)
		if err != nil {
			return nil, err
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		return &unstructured.Unstructured{Object: content}, err
	}
	return nil, fmt.Errorf("kind %q of group %q has no version", kinds[0].Kind, group)
}
