package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// noControllers is the value of --controller that runs none, in a sandbox.
const noControllers = "none"

// selectControllers finds the controllers of --controller, a comma list. There are none only if that is asked for.
func selectControllers(list string) ([]controllers.Controller, error) {
	if list == "" || list == noControllers {
		return nil, nil
	}
	names := strings.Split(list, ",")
	if slices.Contains(names, noControllers) {
		return nil, fmt.Errorf("--controller %s: %s stands alone", list, noControllers)
	}
	selected, err := controllers.Select(names)
	if err == nil && len(selected) == 0 {
		err = nothingLeft(list)
	}
	return selected, withSelectionHint(err)
}

// nothingLeft is the error of a --controller that leaves out all that it names.
func nothingLeft(list string) error {
	err := fmt.Errorf("--controller %s leaves no controller to run", list)
	if all := "*," + list; !slices.Contains(strings.Split(list, ","), "*") {
		return cli.WithHint(err, "-NAME leaves one out of others: did you mean --controller "+cli.ShellQuoted(all)+"?")
	}
	return cli.WithHint(err, "`run --list` lists those that there are")
}

// withSelectionHint adds advice to the error of a controller that cannot be run.
func withSelectionHint(err error) error {
	if unknown, ok := errors.AsType[*controllers.UnknownError](err); ok {
		known := append(unknown.Known, noControllers)
		return cli.WithHint(err, cli.Suggestion(unknown.Name, known, "controllers are named as kube-controller-manager names them; `run --list` lists them"))
	}
	notRun, ok := errors.AsType[*controllers.NotRunError](err)
	if !ok {
		return err
	}
	if flags := flagsFor(notRun.Reason); flags != "" {
		return cli.WithHint(err, "a control plane has what it needs; give it with "+flags)
	}
	return cli.WithHint(err, "`run --list` says which run here")
}

// selectFor is selectControllers on a cluster, for somebody who has the authority; the line, if it is not empty, says what is
// left out.
func selectFor(a controllers.Authority, list string) (chosen []controllers.Controller, line string, err error) {
	if list == noControllers {
		return nil, "", cli.WithHint(errors.New("with --controller none nothing runs on a cluster"), "--sandbox has simulated nodes, which run without controllers")
	}
	if _, err := selectControllers(list); list == "" || err != nil {
		return nil, "", err
	}
	chosen, unable, err := controllers.SelectFor(a, strings.Split(list, ","))
	return chosen, leftOut(unable), withSelectionHint(err)
}

// leftOut says in one line which controllers of "*" do not run for want of keys; empty if all do.
func leftOut(unable []controllers.SkippedController) string {
	if len(unable) == 0 {
		return ""
	}
	var names []string
	for _, c := range unable {
		names = append(names, c.Short)
	}
	return "left out for want of keys: " + strings.Join(names, ", ") + "; `run --list` names their flags"
}

// controllerFlag is --controller, as it can be pasted, for a run of the same without these controllers; empty if none is left.
func controllerFlag(list string, without []controllers.Controller) string {
	rest := strings.Join(controllers.Without(strings.Split(list, ","), without), ",")
	if selected, err := selectControllers(rest); err != nil || len(selected) == 0 {
		return ""
	}
	return "--controller " + cli.ShellQuoted(rest)
}

// completeControllers offers the controllers that run here and are not in the comma list yet, also to be left out.
func completeControllers(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("controller", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		last := strings.LastIndex(typed, ",") + 1
		before, sign := typed[:last], ""
		if strings.HasPrefix(typed[last:], "-") {
			sign = "-"
		}
		there := strings.Split(before, ",")
		var out []string
		for _, name := range runningControllers() {
			if !slices.Contains(there, name) && !slices.Contains(there, "-"+name) {
				out = append(out, before+sign+name)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// runningControllers are the short names of the controllers that run here.
func runningControllers() []string {
	var out []string
	for _, c := range controllers.All() {
		if c.Runs() {
			out = append(out, c.Short)
		}
	}
	return out
}
