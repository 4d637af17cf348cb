package session

import (
	"context"
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

// SelectControllers returns the controllers of --controller, a comma list. It returns none only for an empty list and
// NoControllers.
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
		if e, ok := controllers.FindElsewhere(unknown.Name); ok {
			return cli.WithHint(err, "another program does that: "+e.By)
		}
		known := append(unknown.Known, NoControllers)
		return cli.WithHint(err, cli.Suggestion(unknown.Name, known,
			"controllers are named as kube-controller-manager names them; `run --list` lists them"))
	}
	if _, ok := errors.AsType[*controllers.NotRunError](err); ok {
		return cli.WithHint(err, "`run --list` says which run here")
	}
	return err
}

// FlagWithout returns --controller, as it can be pasted, for a run of the same controllers without these; empty if none
// is left.
func FlagWithout(list string, without []controllers.Controller) string {
	rest := strings.Join(controllers.Without(strings.Split(list, ","), without), ",")
	if selected, err := SelectControllers(rest); err != nil || len(selected) == 0 {
		return ""
	}
	return "--controller " + cli.ShellQuoted(rest)
}

// CompleteControllers completes --controller by those of some controllers that run and are not in the comma list yet,
// also after the sign that leaves one out. Other names of them are offered where none of the short ones fits.
func CompleteControllers(cmd *cobra.Command, some []controllers.Controller) {
	cli.CompleteList(cmd, "controller", func(_ context.Context, args []string, typed string) []string {
		name, isSign := strings.CutPrefix(typed, "-")
		sign := typed[:len(typed)-len(name)]
		words, others := []string{}, []string{}
		if !isSign {
			words = append(words, "*\tall that run here")
		}
		for _, c := range some {
			if !c.Runs() {
				continue
			}
			words = append(words, sign+c.Short)
			for _, other := range append([]string{c.Name}, c.Aliases...) {
				others = append(others, sign+other)
			}
		}
		if !slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, typed) }) {
			return others
		}
		return words
	})
}
