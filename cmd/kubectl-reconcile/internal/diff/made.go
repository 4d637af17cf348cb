package diff

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	commonsession "github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// madePlan is a plan, and what it was made of.
type madePlan struct {
	*plan.Plan
	// from are the objects of files.
	from plan.Objects
	// leftOut is what is not in the plan, a line for each cause.
	leftOut []string
}

// lines are those about what the cluster would refuse, and about what is not in the plan.
func (m *madePlan) lines() []string {
	var out []string
	for _, r := range m.Refused {
		const text = "the cluster's admission refuses what is in the plan, tried in dry run as you: %s: %s"
		out = append(out, fmt.Sprintf(text, createdText(r), render.TrimAPIError(r.Message)))
	}
	return append(out, m.leftOut...)
}

// createdText names an object that a controller creates, and the controller.
func createdText(r plan.Refusal) string {
	name := cache.ObjectName{Namespace: r.Object.Namespace, Name: r.Object.Name}
	return fmt.Sprintf("%s %s of %s", r.Object.Kind, name, r.Controller)
}

// leftOutLines returns what is not in the plan, a line for each cause.
func (m *madePlan) leftOutLines() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	state := m.State
	if state.Copy != nil {
		out = commonsession.CopyLines(state.Copy, m.CopyReport)
		applied := slices.DeleteFunc(slices.Clone(m.from), func(one runlocal.Manifest) bool {
			return seed.IsStored(one.Object)
		})
		if n := len(applied); n > 0 {
			add("%s without uid and resourceVersion %s applied to the others first: "+
				"what that leads to is part of the plan", cli.Plural(n, "object"), cli.PluralOf(n, "is", "are"))
		}
	}
	for _, u := range state.Unpruned {
		name := schema.GroupResource{Group: u.Group, Resource: u.Resource}.String()
		if u.Namespace != "" {
			name += " of " + u.Namespace
		}
		add("not pruned: %s could not be listed: %s", name, u.Reason)
	}
	for _, r := range state.Uncopied {
		add("not in the plan: %s/%s: it is in the cluster, and is not copied", r.Kind, r.Name)
	}
	if len(state.Dependents) > 0 {
		var names []string
		for _, r := range state.Dependents {
			names = append(names, r.Kind.String()+"/"+r.Name)
		}
		add("not copied: what depends on %s in other namespaces than %s; -A copies all", cli.Enumerate(names),
			strings.Join(state.Copy.Namespaces, ", "))
	}
	if n := len(m.Untried); n > 0 {
		add("not known whether the cluster's webhooks accept %s: %s", createdText(m.Untried[0]), m.Untried[0].Message)
		if n > 1 {
			out[len(out)-1] += fmt.Sprintf("; and %d more", n-1)
		}
	}
	return out
}

// verdict is the error that the plan ends the command with: cli.ErrSilentExit if there is something to do, nil if there
// is nothing.
func (m *madePlan) verdict() error {
	switch {
	case m.Loop != nil:
		return loopError(m.Loop)
	case m.End == plan.EndLimit:
		return cli.WithHint(fmt.Errorf("the plan does not end: %d steps, and there is more to do", len(m.Steps)),
			"--steps N shows the first ones")
	case len(m.Steps) > 0 || m.Drift != nil && !m.Drift.Empty():
		return cli.ErrSilentExit
	}
	return nil
}
