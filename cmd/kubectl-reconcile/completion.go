package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// completeWords offers fixed words for the value of a flag.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	// The only error is that of a flag that is not there, which a test of completion would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeControllers offers the controllers that run here and are not in the comma list yet.
func completeControllers(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("controller", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var out []string
		for _, name := range runningControllers() {
			if !strings.Contains(","+before, ","+name+",") {
				out = append(out, before+name)
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
