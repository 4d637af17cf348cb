package main

import (
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// isRelated says whether the object is drawn below one that does not own it.
func (l *limb) isRelated() bool { return l.Relation != "" }

// ownersText tells objects apart that have other owners, or owners of which something else is known. The owner above need not
// be told.
func ownersText(n, above *ownertree.Node) string {
	var out []string
	for i := range n.Owners {
		if o := &n.Owners[i]; above == nil || o.UID != above.UID {
			out = append(out, string(o.UID)+" "+string(o.Verdict))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// belowText tells objects apart of which something else is drawn below: other objects that they are related to, dependents
// of other kinds, or ones that have other owners, too.
func belowText(l *limb) string {
	var out []string
	for _, c := range l.children {
		if c.isRelated() {
			out = append(out, c.Relation+" "+c.Node.Kind.GroupKind().String()+" "+c.Node.Namespace+"/"+c.Node.Name)
			continue
		}
		out = append(out, c.Node.Kind.GroupKind().String()+"<"+ownersText(c.Node, l.Node)+">("+belowText(c)+")")
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ",")
}
