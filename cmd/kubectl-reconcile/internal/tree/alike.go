package tree

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// isRelated reports whether the object is drawn below one that does not own it.
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

// shapes number what is drawn below objects, so that comparing two costs no more in a deep tree than in a flat one.
type shapes struct {
	numbers map[string]int
	known   map[*limb]int
}

// of is the same number for objects of which the same is drawn below: the same objects that they are related to, and
// dependents of the same kinds that have the same other owners. Nothing below is 0.
func (s *shapes) of(l *limb) int {
	if len(l.children) == 0 {
		return 0
	}
	if number, known := s.known[l]; known {
		return number
	}
	var out []string
	for _, c := range l.children {
		kind := c.Node.Kind.GroupKind().String()
		if c.isRelated() {
			out = append(out, c.Relation+" "+kind+" "+c.Node.Namespace+"/"+c.Node.Name)
			continue
		}
		out = append(out, kind+"<"+ownersText(c.Node, l.Node)+">("+strconv.Itoa(s.of(c))+")")
	}
	slices.Sort(out)
	text := strings.Join(slices.Compact(out), ",")
	number, known := s.numbers[text]
	if !known {
		number = len(s.numbers) + 1
		s.numbers[text] = number
	}
	s.known[l] = number
	return number
}
