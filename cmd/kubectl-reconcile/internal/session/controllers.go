package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// NoControllers is the value of --controller that runs none, in a sandbox.
const NoControllers = "none"

// SelectControllers returns the controllers of --controller, a comma list. It returns none only for an empty list and NoControllers.
func SelectControllers(list string) ([]controllers.Controller, error) {
	if list == "" || list == NoControllers {
		return nil, nil
	}
	names := strings.Split(list, ",")
	if slices.Contains(names, NoControllers) {
		return nil, fmt.Errorf("--controller %s: %s cannot be combined with others", list, NoControllers)
	}
	selected, err := controllers.Select(names)
	if err == nil && len(selected) == 0 {
		err = nothingSelected(list)
	}
	return selected, WithSelectionHint(err)
}

// nothingSelected is the error of a --controller that leaves out all that it names.
func nothingSelected(list string) error {
	err := fmt.Errorf("--controller %s leaves no controller to run", list)
	if all := "*," + list; !slices.Contains(strings.Split(list, ","), "*") {
		return cli.WithHint(err, "-NAME leaves one out of others: did you mean --controller "+cli.ShellQuoted(all)+"?")
	}
	return cli.WithHint(err, "`run --list` lists those that there are")
}

// WithSelectionHint adds advice to the error of a controller that is not known or does not run; nil stays nil.
func WithSelectionHint(err error) error {
	if unknown, ok := errors.AsType[*controllers.UnknownError](err); ok {
		known := append(unknown.Known, NoControllers)
		return cli.WithHint(err, cli.Suggestion(unknown.Name, known, "controllers are named as kube-controller-manager names them; `run --list` lists them"))
	}
	if _, ok := errors.AsType[*controllers.NotRunError](err); ok {
		return cli.WithHint(err, "`run --list` says which run here")
	}
	return err
}

// FlagWithout returns --controller, as it can be pasted, for a run of the same controllers without these; empty if none is left.
func FlagWithout(list string, without []controllers.Controller) string {
	rest := strings.Join(controllers.Without(strings.Split(list, ","), without), ",")
	if selected, err := SelectControllers(rest); err != nil || len(selected) == 0 {
		return ""
	}
	return "--controller " + cli.ShellQuoted(rest)
}

// completeControllers completes --controller by the controllers that run here and are not in the comma list yet, also after the sign
// that leaves one out.
func completeControllers(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("controller", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		last := strings.LastIndex(typed, ",") + 1
		before, sign := typed[:last], ""
		if strings.HasPrefix(typed[last:], "-") {
			sign = "-"
		}
		given := strings.Split(before, ",")
		var out []string
		for _, c := range controllers.All() {
			if c.Runs() && !slices.Contains(given, c.Short) && !slices.Contains(given, "-"+c.Short) {
				out = append(out, before+sign+c.Short)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}
