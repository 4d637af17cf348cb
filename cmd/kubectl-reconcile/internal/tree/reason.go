package tree

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/causetext"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// rowReason is the reason in a row: of an object that is well by itself, what is wrong with its owners.
func rowReason(n *treestatus.StatusNode) string {
	reason := reasonOf(n)
	switch {
	case n.Status == treestatus.Dangling:
		return n.Outcome.Why
	case reason == "" && (n.LosesOwner() || n.Outcome.Action == ownertree.GCUnknown):
		return lostOwner(n.Branch.Node)
	case reason == "" && (n.Outcome.Action == ownertree.Deleted || n.Outcome.Action == ownertree.DeletedWithOwner):
		return n.Outcome.Why
	}
	return reason
}

// reasonOf is why the object is as it is, in few words: its own reason, or for lack of a better one that of the worst
// dependent.
func reasonOf(n *treestatus.StatusNode) string {
	own := ownReason(n)
	if !causedBelow(n) {
		return own
	}
	cause := n.Cause.Branch.Node.Name
	if short := shortReason(n.Cause); n.Causes == 1 && (own == short || strings.HasPrefix(own, short+": ")) {
		return own + " (on " + cause + ")"
	}
	below := shortReason(n.Cause) + " on " + cause
	if n.Causes > 1 {
		below += " and " + fmt.Sprintf("%d more", n.Causes-1)
	}
	switch {
	case own == "":
		return below
	case own != n.Facts.Reason: // it has a cause
		return own + "; " + below
	}
	return own + ": " + below
}

// causedBelow reports whether the state of the object is explained by what is below it. An object that is being deleted
// and does not wait for what it owns is not.
func causedBelow(n *treestatus.StatusNode) bool {
	if n.Cause == nil ||
		n.OwnSeverity <= treestatus.SeverityNormal && n.Cause.OwnSeverity < treestatus.SeverityDegraded {
		return false
	}
	node := n.Branch.Node
	return node.Deleting == nil || node.Finalized(metav1.FinalizerDeleteDependents)
}

// ownReason is the reason that the object itself gives, with what was found in other objects if that has no cause.
func ownReason(n *treestatus.StatusNode) string {
	if n.Branch.Missing {
		return ""
	}
	own, found := n.Facts.Reason, foundReason(n.Findings)
	switch {
	case found == "" || n.Severity <= treestatus.SeverityNormal:
		return own
	case strings.Contains(own, ": ") || strings.Contains(own, found): // it says the cause itself
		return own
	case own == "":
		return found
	}
	return own + ": " + found
}

// maxFound is the maximum length of what was found in other objects, in characters.
const maxFound = 100

// foundReason is what was found in other objects, in few words; empty if nothing was.
func foundReason(f *treestatus.Findings) string {
	if f == nil {
		return ""
	}
	if len(f.Lacks) > 0 {
		lack := f.Lacks[0].Object
		text := lack.Kind.Kind + "/" + lack.Name + " does not exist"
		if more := len(f.Lacks) - 1; more > 0 {
			text += fmt.Sprintf(", nor %d more", more)
		}
		return text
	}
	if f.Cause != nil {
		return render.Cut(causetext.Short(f.Cause), maxFound)
	}
	if warnings := f.Warnings(); len(warnings) > 0 {
		return warnings[0].Reason
	}
	return ""
}

// shortReason is the first part of the object's reason, or its status.
func shortReason(n *treestatus.StatusNode) string {
	if short, _, _ := strings.Cut(n.Facts.Reason, ": "); short != "" {
		return short
	}
	return n.Status
}

// lostOwner names the first owner that does not exist.
func lostOwner(n *ownertree.Node) string {
	for i := range n.Owners {
		if o := &n.Owners[i]; o.Verdict != ownertree.Solid {
			return fmt.Sprintf("owner %s/%s: %s", n.OwnerKind(o), o.Name, shortVerdict(o.Verdict))
		}
	}
	return ""
}

// shortVerdict is a verdict other than Solid in few words.
func shortVerdict(v ownertree.Verdict) string {
	switch v {
	case ownertree.OwnerMissing:
		return "gone"
	case ownertree.OtherUID:
		return "gone, another has its name"
	case ownertree.OtherNamespace:
		return "does not count"
	case ownertree.UnmappableKind:
		return "kind not served"
	case ownertree.Solid, ownertree.Unknown:
	}
	return "not known"
}

// verdictText describes what is the matter with an owner reference.
func verdictText(o *ownertree.Owner, kinds kindNames) string {
	owner := fmt.Sprintf("owner %s (uid %s)", kinds.ownerLabel(o), shortUID(string(o.UID)))
	detail := ""
	if o.Detail != "" {
		detail = ": " + o.Detail
	}
	switch o.Verdict {
	case ownertree.OwnerMissing:
		return owner + " is gone" + detail
	case ownertree.OtherUID:
		return owner + " is gone, another has its name" + detail
	case ownertree.OtherNamespace:
		return owner + " does not count" + detail
	case ownertree.UnmappableKind:
		return owner + " is of a kind that is not served"
	case ownertree.Solid:
		return owner + " is there"
	case ownertree.Unknown:
	}
	return owner + " could not be checked" + detail
}

// shortUID is the beginning of a uid, which is enough to distinguish two.
func shortUID(uid string) string { return render.Cut(uid, 9) }

// outcomeText describes what the garbage collector will do about an object.
func outcomeText(f ownertree.GCOutcome) string {
	switch f.Action {
	case ownertree.Deleted:
		text := "the garbage collector will delete it"
		if f.Policy != metav1.DeletePropagationBackground {
			text += " with the policy " + strings.ToLower(string(f.Policy))
		}
		if len(f.Finalizers) > 0 {
			text += "; then it is " + finalizersText(f.Finalizers)
		}
		return text
	case ownertree.DeletedWithOwner:
		return f.Why
	case ownertree.ReferencesStripped:
		return "the garbage collector will remove the reference and keep it"
	case ownertree.NeverCollected:
		return f.Why
	case ownertree.BeingDeleted:
		return "it is being deleted"
	case ownertree.Kept:
		return "the garbage collector keeps it"
	case ownertree.GCUnknown:
	}
	return "what the garbage collector will do is not known"
}
