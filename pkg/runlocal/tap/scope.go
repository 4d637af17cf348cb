package tap

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// BareKeys are keys without a slash, and without the sort of object before them.
type BareKeys int

const (
	// ClusterScoped are names of objects in no namespace, as with most controllers.
	ClusterScoped BareKeys = iota
	// Namespaces are names of namespaces. Each is in itself.
	Namespaces
	// AllNamespaces stand for work on objects in all namespaces, such as that a node has changed. It is done whatever Options.Keep
	// says, and what it adds is kept or not as all is.
	AllNamespaces
)

// keyInScope reports whether the controller has to do with the key, by its text: NAMESPACE/NAME or NAME, and before it, after
// a blank, what sort of object that is ("replicasets.apps default/web") where a queue has several.
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

// namespaces are the objects that count as in themselves.
var namespaces = schema.GroupResource{Resource: "namespaces"}

// inScope reports whether the handler's controller has to do with an object; m is as for informer.keeps.
func (h *handler) inScope(obj any, m metav1.Object) bool {
	return h.controller != nil && h.controller.ignoresScope || h.informer.inScope(obj, m)
}

// inScope reports whether a controller has to do with an object. m is its metadata; nil if only its key is known, as for a
// deletion that the informer has missed.
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

// nameInScope is true of what is in no namespace: a change of a node makes work in all namespaces.
func (i *informer) nameInScope(namespace, name string) bool {
	if i.gvr.GroupResource() == namespaces {
		namespace = name
	}
	return namespace == "" || i.tap.inScope(namespace)
}
