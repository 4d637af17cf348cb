package main

import (
	"fmt"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// holdText says what holds up a deletion, after the object. Known is what the object itself says of it: a namespace counts what
// is still in it.
func holdText(hold ownertree.Hold, known string) string {
	parts := holdParts(hold)
	if len(hold.Dependents) > 0 {
		names := make([]string, 0, len(hold.Dependents))
		for _, d := range hold.Dependents {
			names = append(names, label(d))
		}
		who := pluralOf(len(names), "a dependent that blocks it", "dependents that block it")
		parts = append(parts, fmt.Sprintf("waits for %s: %s", who, enumerate(names)))
	}
	switch {
	case len(parts) == 0 && known != "":
		return ": " + known
	case len(parts) == 0:
		return ": nothing holds it up"
	}
	return ": " + strings.Join(parts, "; ")
}

// holdParts are what holds it up beside other objects. What the garbage collector waits for is told as dependents.
func holdParts(hold ownertree.Hold) []string {
	var parts []string
	if len(hold.Finalizers) > 0 {
		parts = append(parts, finalizersText(hold.Finalizers))
	}
	for _, r := range hold.Releases {
		if !r.Certain {
			parts = append(parts, releaseText(r))
		}
	}
	if len(hold.Undiscovered) > 0 {
		parts = append(parts, undiscoveredText(hold.Undiscovered))
	}
	return parts
}

// finalizersText says who must do something.
func finalizersText(finalizers []string) string {
	if len(finalizers) == 1 {
		return "held by the finalizer " + finalizers[0] + ", which its controller must remove"
	}
	return "held by the finalizers " + enumerate(finalizers) + ", which their controllers must remove"
}

// releaseText says who removes a finalizer, and when.
func releaseText(r ownertree.Release) string {
	return fmt.Sprintf("%s removes the finalizer %s %s", r.By, r.Finalizer, r.Once)
}

// undiscoveredText says which APIs a namespace waits for.
func undiscoveredText(all []cluster.Incomplete) string {
	names := make([]string, 0, len(all))
	for _, i := range all {
		names = append(names, incompleteName(i))
	}
	return fmt.Sprintf("no namespace goes while the kinds of %s are not known", enumerate(names))
}
