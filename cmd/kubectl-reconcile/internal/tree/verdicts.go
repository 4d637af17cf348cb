package tree

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

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

// lostOwner names the first owner that is not there.
func lostOwner(n *ownertree.Node) string {
	for i := range n.Owners {
		if o := &n.Owners[i]; o.Verdict != ownertree.Solid {
			return fmt.Sprintf("owner %s/%s: %s", n.OwnerKind(o), o.Name, verdictWords[o.Verdict])
		}
	}
	return ""
}

// verdictWords are the verdicts in few words.
var verdictWords = map[ownertree.Verdict]string{
	ownertree.OwnerMissing:   "gone",
	ownertree.OtherUID:       "gone, another has its name",
	ownertree.OtherNamespace: "does not count",
	ownertree.UnmappableKind: "kind not served",
	ownertree.Unknown:        "not known",
}

// shortUID is the beginning of a uid, which is enough to tell two apart.
func shortUID(uid string) string { return render.Cut(uid, 9) }

// fateText says what the garbage collector will do about an object.
func fateText(f ownertree.GCOutcome) string {
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
