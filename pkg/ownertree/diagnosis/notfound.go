package diagnosis

import (
	"context"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// notFound matches the API's error for an object that does not exist, by its resource or kind, the group of that, and
// its name: see NewNotFound of k8s.io/apimachinery/pkg/api/errors.
var notFound = regexp.MustCompile(`\b([A-Za-z][A-Za-z0-9]+(?:\.[a-z0-9.-]+)?) "([^"\s]+)" not found`)

// reportedGone is the relation of an object to one that it reports not to exist.
const reportedGone = "reports to be missing"

// mostNotFound bounds how many objects that are reported not to exist are looked for.
const mostNotFound = 8

// reportedMissing relates custom resources to the objects that their conditions or Warnings report not to exist, and
// that do not.
func (r *situationReader) reportedMissing(ctx context.Context) error {
	looked := 0
	for _, n := range slices.Clone(r.explained) {
		if isBuiltIn(n.Kind) {
			continue
		}
		for _, message := range r.complaints(n) {
			for _, m := range notFound.FindAllStringSubmatch(message, -1) {
				kind, err := r.kinds.Resolve(m[1])
				word, _, _ := strings.Cut(m[1], ".")
				names := []string{kind.Resource, kind.Kind, strings.ToLower(kind.Kind)}
				isKind := err == nil && slices.Contains(names, word)
				if isKind && len(validation.IsDNS1123Subdomain(m[2])) == 0 && looked < mostNotFound {
					looked++
					r.lookFor(ctx, n, kind, m[2])
				}
			}
		}
	}
	return nil
}

// lookFor relates an object to one that it reports not to exist, if that is so, and if it is not known yet. It is
// looked for in the namespace of the object.
func (r *situationReader) lookFor(ctx context.Context, n *ownertree.Node, kind cluster.Kind, name string) {
	to := &ownertree.Node{Kind: &kind, Name: name}
	if kind.Namespaced {
		to.Namespace = n.Namespace
	}
	known := slices.ContainsFunc(r.relations[n], func(other ownertree.Relation) bool {
		return other.Missing && other.To.Kind.GroupKind() == kind.GroupKind() && other.To.Name == name
	})
	if known || kind.Namespaced && n.Namespace == "" {
		return
	}
	if _, err := r.reader.Object(ctx, kind, to.Namespace, name); apierrors.IsNotFound(err) {
		r.relations[n] = append(r.relations[n], ownertree.Relation{
			From: n, To: to, Type: reportedGone, Missing: true, Needed: true,
		})
	}
}

// complaints are the messages of the bad conditions of an object, and of its Warnings of the last hour.
func (r *situationReader) complaints(n *ownertree.Node) []string {
	var out []string
	for _, c := range r.facts.Of(n).Conditions {
		if c.Bad {
			out = append(out, c.Message)
		}
	}
	for _, e := range inspect.RecentEvents(r.events[n], r.now) {
		if e.Type == "Warning" {
			out = append(out, e.Message)
		}
	}
	return out
}
