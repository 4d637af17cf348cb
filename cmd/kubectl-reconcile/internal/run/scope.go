package run

import (
	"fmt"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// scopeFlags is the scope as flags; it must not be the whole cluster.
func scopeFlags(s runlocal.Scope) string {
	if !s.Shard.IsZero() {
		return "--shard " + s.Shard.String()
	}
	return "--namespaces " + strings.Join(s.Namespaces, ",")
}

// scopeText is the end of a sentence that names the scope; empty for the whole cluster.
func scopeText(s runlocal.Scope) string {
	switch {
	case s.IsWhole():
		return ""
	case !s.Shard.IsZero():
		return "; shard " + s.Shard.String() + " of the namespaces"
	}
	return "; " + cli.PluralOf(len(s.Namespaces), "namespace ", "namespaces ") + cli.Enumerate(s.Namespaces)
}

// selectInScope returns the controllers that work in the scope, and a line for each reason for which others are left out. list is
// --controller: a controller that it names itself and that would do harm in the scope is an error.
func selectInScope(
	s runlocal.Scope, all []controllers.Controller, list string, write bool,
) (run []controllers.Controller, lines []string, err error) {
	selected := s.Select(all, strings.Split(list, ","), write)
	if selected.Refused != nil {
		return nil, nil, dangerError(selected.Refused, list, "with "+scopeFlags(s)+" not all is seen")
	}
	if selected.Blind != nil {
		lines = append(lines, fmt.Sprintf("left out: %s: with %s they would not see all that they act on",
			cli.Enumerate(session.ShortNames(selected.Blind)), scopeFlags(s)))
	}
	if selected.Elsewhere != nil {
		where := "shard 1 runs them"
		if s.Shard.IsZero() {
			where = "a run without --namespaces has them"
		}
		lines = append(lines, fmt.Sprintf("not here: %s, which look at the whole cluster: %s",
			cli.Enumerate(session.ShortNames(selected.Elsewhere)), where))
	}
	if len(selected.Run) == 0 && len(lines) > 0 {
		return nil, nil, cli.WithHint(fmt.Errorf("--controller %s leaves no controller to run with %s", list, scopeFlags(s)), lines[0])
	}
	return selected.Run, lines, nil
}

// dangerError refuses controllers of the --controller list that would destroy what they do not see.
func dangerError(of []controllers.Controller, list, why string) error {
	var dangers []string
	for _, c := range of {
		dangers = append(dangers, c.Short+" "+c.Danger)
	}
	hint := "without --write " + cli.PluralOf(len(of), "it runs", "they run") + " in dry run"
	if without := withoutHint(list, of); without != "" {
		hint = without + "; " + hint
	}
	return cli.WithHint(fmt.Errorf("%s: %s", strings.Join(dangers, "; "), why), hint)
}

// withoutHint is a hint at the --controller for a run without these controllers; empty if none is left.
func withoutHint(list string, these []controllers.Controller) string {
	rest := session.FlagWithout(list, these)
	if rest == "" {
		return ""
	}
	return rest + " leaves " + cli.PluralOf(len(these), "it", "them") + " out"
}
