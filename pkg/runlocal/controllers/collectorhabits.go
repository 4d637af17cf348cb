package controllers

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// collectorTraits are how the garbage collector differs from other controllers: it says at level 5 that it does not know
// an owner's kind, and looks again at an owner that no watch event has shown so far.
func collectorTraits(kinds *servedKinds) tap.ControllerTraits {
	return tap.ControllerTraits{ErrorLevel: 5, RequeuesWithoutError: true, FormatValue: kinds.value, FormatError: withoutNodes}
}

// value spells the objects that the collector logs as its keys are spelt.
func (k *servedKinds) value(v any) string {
	if i := tap.IdentityOf(v); i != nil {
		return k.key(i)
	}
	var refs []metav1.OwnerReference
	switch v := v.(type) {
	case metav1.OwnerReference:
		refs = []metav1.OwnerReference{v}
	case []metav1.OwnerReference:
		refs = v
	}
	var names []string
	for _, ref := range refs {
		names = append(names, k.key(&tap.Identity{OwnerReference: ref}))
	}
	return strings.Join(names, " and ")
}

// node is how the dump of a node begins in the collector's errors.
const node = " &garbagecollector.node{"

// withoutNodes leaves the dumps of nodes out of an error: the reconcile's key says which object it is.
func withoutNodes(text string) string {
	before, dump, found := strings.Cut(text, node)
	if !found {
		return text
	}
	open := 1
	for i, c := range dump {
		switch c {
		case '{':
			open++
		case '}':
			open--
		}
		if open == 0 {
			return before + withoutNodes(dump[i+1:])
		}
	}
	return before
}
