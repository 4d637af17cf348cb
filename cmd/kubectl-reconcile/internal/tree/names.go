package tree

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// kindNames holds the names that kinds of several groups have, as Service of the core group and of Knative. The zero
// value holds none.
type kindNames map[string]bool

// kindNamesOf looks at the kinds of the objects and of the owners that they refer to.
func kindNamesOf(nodes []*ownertree.Node) kindNames {
	groups, out := map[string]string{}, kindNames{}
	note := func(group, kind string) {
		if known, there := groups[kind]; there && known != group {
			out[kind] = true
		}
		groups[kind] = group
	}
	for _, n := range nodes {
		note(n.Kind.Group, n.Kind.Kind)
		for i := range n.Owners {
			note(ownerGroup(&n.Owners[i]), n.Owners[i].Kind)
		}
	}
	return out
}

// kind names a kind: Service, or where that is the name of several Service.serving.knative.dev. A kind of the core
// group has no group to add.
func (k kindNames) kind(group, kind string) string {
	if !k[kind] || group == "" {
		return kind
	}
	return kind + "." + group
}

// of names the kind of an object.
func (k kindNames) of(n *ownertree.Node) string { return k.kind(n.Kind.Group, n.Kind.Kind) }

// label names an object: Deployment/web.
func (k kindNames) label(n *ownertree.Node) string { return k.of(n) + "/" + n.Name }

// ownerLabel names the owner of a reference.
func (k kindNames) ownerLabel(o *ownertree.Owner) string {
	return k.kind(ownerGroup(o), o.Kind) + "/" + o.Name
}

func ownerGroup(o *ownertree.Owner) string {
	return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group
}

// countsByKind is "Pod (3), ReplicaSet"; empty for none.
func countsByKind(counts map[string]int) string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[kind]; n > 1 {
			kind = fmt.Sprintf("%s (%d)", kind, n)
		}
		out = append(out, kind)
	}
	return strings.Join(out, ", ")
}

// fewNames is how many folded objects are named.
const fewNames = 4

// namesOf names a few objects, what their names begin with alike only once: web-7d4b9c-8x2lp, -c7tqd.
func namesOf(all []*treestatus.StatusNode) string {
	if len(all) > fewNames {
		return ""
	}
	names := make([]string, 0, len(all))
	for _, n := range all {
		names = append(names, n.Branch.Node.Name)
	}
	slices.Sort(names)
	return strings.Join(shortened(names), ", ")
}

// shortened leaves out, in all names but the first, the words that all names begin with.
func shortened(names []string) []string {
	common := names[0]
	for _, name := range names {
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	cut := strings.LastIndex(common, "-")
	if cut < 1 {
		return names
	}
	out := []string{names[0]}
	for _, name := range names[1:] {
		out = append(out, name[cut:])
	}
	return out
}
