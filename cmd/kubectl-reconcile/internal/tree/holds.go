package tree

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// holdText describes, behind the name of an object that is being deleted, what holds it up. As long as a finalizer is
// there it holds the object, however certain it is who removes it: that may not be running. Known is what the object
// itself reports: a namespace counts what is still in it.
func holdText(hold ownertree.DeletionBlockers, known string, kinds kindNames) string {
	parts := foreignParts(hold)
	for _, r := range hold.Removals {
		if r.Finalizer != metav1.FinalizerDeleteDependents {
			parts = append(parts, releaseText(r))
			continue
		}
		parts = append(parts, awaitedText(hold, r, kinds))
	}
	if len(hold.Undiscovered) > 0 {
		parts, known = append(parts, undiscoveredText(hold.Undiscovered)), ""
	}
	if known != "" {
		parts = append(parts, known)
	}
	switch {
	case len(parts) > 0:
		return ": " + strings.Join(parts, "; ")
	case hold.Node.Kind.GroupKind() == schema.GroupKind{Kind: "Pod"}:
		return ": waits for its kubelet to end its containers"
	}
	return ": nothing holds it up"
}

// awaitedText names the dependents that a foreground deletion waits for, or else what is left to do.
func awaitedText(hold ownertree.DeletionBlockers, r ownertree.FinalizerRemoval, kinds kindNames) string {
	switch {
	case len(hold.Dependents) == 0 && hold.Unblocked:
		return fmt.Sprintf("no dependent blocks it; %s, if it runs, removes the finalizer %s", r.By, r.Finalizer)
	case len(hold.Dependents) == 0:
		return releaseText(r)
	}
	names := make([]string, 0, len(hold.Dependents))
	for _, d := range hold.Dependents {
		if d == hold.Node {
			return "waits for itself: it is its own owner, and blocks itself"
		}
		names = append(names, kinds.label(d))
	}
	who := cli.PluralOf(len(names), "a dependent that blocks it", "dependents that block it")
	return fmt.Sprintf("waits for %s: %s", who, cli.Enumerate(names))
}

// foreignParts describe the finalizers that others remove.
func foreignParts(hold ownertree.DeletionBlockers) []string {
	if len(hold.Finalizers) == 0 {
		return nil
	}
	return []string{finalizersText(hold.Finalizers)}
}

// openParts describe what would hold up a deletion beside other objects and what Kubernetes certainly removes.
func openParts(hold ownertree.DeletionBlockers) []string {
	parts := foreignParts(hold)
	for _, r := range hold.Removals {
		if !r.Certain {
			parts = append(parts, releaseText(r))
		}
	}
	if len(hold.Undiscovered) > 0 {
		parts = append(parts, undiscoveredText(hold.Undiscovered))
	}
	return parts
}

// namespaceWaits is what a namespace that is being deleted reports of what is left in it; empty for other objects.
func namespaceWaits(l *limb) string {
	if l.Node.Kind.GroupKind() != (schema.GroupKind{Kind: "Namespace"}) {
		return ""
	}
	for _, c := range l.facts.Conditions {
		if c.Bad && c.Status == "True" {
			return l.facts.Reason
		}
	}
	return ""
}

// finalizersText says who must do something.
func finalizersText(finalizers []string) string {
	if len(finalizers) == 1 {
		return "held by the finalizer " + finalizers[0] + ", which its controller must remove"
	}
	return "held by the finalizers " + cli.Enumerate(finalizers) + ", which their controllers must remove"
}

// releaseText says who removes a finalizer, and when.
func releaseText(r ownertree.FinalizerRemoval) string {
	return fmt.Sprintf("%s removes the finalizer %s %s", r.By, r.Finalizer, r.Once)
}

// undiscoveredText says which APIs a namespace waits for.
func undiscoveredText(all []cluster.Incomplete) string {
	names := make([]string, 0, len(all))
	for _, i := range all {
		names = append(names, connect.IncompleteName(i))
	}
	return fmt.Sprintf("no namespace goes while the kinds of %s are not known", cli.Enumerate(names))
}
