package record

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/recorder"
)

// everything is the argument for all kinds. The category all of kubectl has few of them.
const everything = "all"

// request is what is to be recorded, before it is known what is served.
type request struct {
	// named are the types and objects that were named; none for the default ones.
	named []named
	// namespace is empty for all.
	namespace      string
	labels, fields string
}

// named is TYPE or TYPE/NAME.
type named struct{ typeName, name string }

func parseNamed(word string) (named, error) {
	typeName, name, slash := strings.Cut(word, "/")
	switch {
	case word == "":
		return named{}, errors.New("a type is empty")
	case slash && (typeName == "" || name == "" || strings.Contains(name, "/") || typeName == everything):
		return named{}, fmt.Errorf("%q must be TYPE or TYPE/NAME", word)
	}
	return named{typeName, name}, nil
}

// all reports whether all kinds are to be recorded.
func (r *request) all() bool { return len(r.named) == 1 && r.named[0].typeName == everything }

func (r *request) validate(allNamespaces bool) error {
	for _, n := range r.named {
		switch {
		case n.typeName == everything && len(r.named) > 1:
			return errors.New("all has every kind: no other type can be named beside it")
		case n.name != "" && allNamespaces:
			return cli.WithHint(errors.New("a resource cannot be recorded by name across all namespaces"),
				"select its namespace by -n NAMESPACE; -A --field-selector metadata.name=NAME finds all of that name")
		case n.name != "" && (r.labels != "" || r.fields != ""):
			return errors.New("a name cannot be given when a selector is specified")
		}
	}
	return nil
}

// selections returns what is to be recorded of the kinds that are served.
func (r *request) selections(kinds *cluster.Kinds) ([]recorder.Selection, error) {
	if len(r.named) == 0 || r.all() {
		return recorder.Choose(kinds, recorder.Choice{
			All: r.all(), Namespaces: r.namespaces(), Labels: r.labels, Fields: r.fields,
		}), nil
	}
	var out []recorder.Selection // the recorder leaves out those that are named twice
	for _, n := range r.named {
		found, err := kinds.ResolveAll(n.typeName)
		if err != nil {
			return nil, err
		}
		for _, kind := range found {
			if !recorder.Recordable(&kind) {
				if len(found) > 1 {
					continue // of a category
				}
				return nil, fmt.Errorf("%s cannot be recorded: the server does not let it be listed and watched",
					kind.GroupResource())
			}
			s := recorder.Selection{Target: r.target(kind), Labels: r.labels, Fields: r.fields}
			if n.name != "" {
				s.Fields = metav1.ObjectNameField + "=" + n.name
			}
			out = append(out, s)
			if definition, ok := recorder.DefinitionOf(kinds, &kind); ok {
				out = append(out, definition)
			}
		}
	}
	return out, nil
}

// namespaces returns the namespace in a list, which is empty for all.
func (r *request) namespaces() []string {
	if r.namespace == "" {
		return nil
	}
	return []string{r.namespace}
}

// target returns the target of a kind: its namespace is empty for cluster-scoped kinds.
func (r *request) target(kind cluster.Kind) cluster.Target {
	t := cluster.Target{Kind: kind}
	if kind.Namespaced {
		t.Namespace = r.namespace
	}
	return t
}
