package tap

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// BareKeys is what the keys of a controller are that have neither a slash nor the kind of object before them. It
// decides which namespace they are in: see Options.InScope.
type BareKeys int

const (
	// ClusterScoped keys are names of objects in no namespace, as those of most controllers are.
	ClusterScoped BareKeys = iota
	// Namespaces keys are names of namespaces. Each is in the namespace that it names.
	Namespaces
	// AllNamespaces keys are for work on objects in all namespaces, such as that a node has changed. They are always in
	// scope; the keys that this work adds need not be.
	AllNamespaces
)

// keyInScope reports whether the controller works on the key, by its text: NAMESPACE/NAME or NAME, and where a queue
// has keys of several kinds of objects the resource and a blank before it ("replicasets.apps default/web").
func (c *Controller) keyInScope(text string) bool {
	if c.tap.inScope == nil || c.ignoresScope {
		return true
	}
	blank := strings.LastIndexByte(text, ' ')
	namespace, _, found := strings.Cut(text[blank+1:], "/")
	bare := c.traits.Bare
	if blank >= 0 {
		bare = ClusterScoped
		if text[:blank] == namespaces.Resource {
			bare = Namespaces
		}
	}
	switch {
	case found || bare == Namespaces:
		return c.tap.inScope(namespace)
	case bare == AllNamespaces:
		return true
	}
	return c.tap.inScope("")
}

// namespaces is the resource whose objects count as in the namespace of their name.
var namespaces = schema.GroupResource{Resource: "namespaces"}

// inScope reports whether the handler's controller works on an object; m is as for informer.inScope.
func (h *handler) inScope(obj any, m metav1.Object) bool {
	return h.controller != nil && h.controller.ignoresScope || h.informer.inScope(obj, m)
}

// inScope reports whether controllers work on an object. m is its metadata; nil if only its key is known, as it is for
// a deletion that the informer has missed.
func (i *informer) inScope(obj any, m metav1.Object) bool {
	if i.tap.inScope == nil {
		return true
	}
	if m != nil {
		return i.nameInScope(m.GetNamespace(), m.GetName())
	}
	tombstone, ok := obj.(cache.DeletedFinalStateUnknown)
	if !ok {
		return true
	}
	namespace, name, err := cache.SplitMetaNamespaceKey(tombstone.Key)
	return err != nil || i.nameInScope(namespace, name)
}

// nameInScope reports true for objects in no namespace other than Namespaces: a change of a node makes work in all
// namespaces.
func (i *informer) nameInScope(namespace, name string) bool {
	if i.gvr.GroupResource() == namespaces {
		namespace = name
	}
	return namespace == "" || i.tap.inScope(namespace)
}
