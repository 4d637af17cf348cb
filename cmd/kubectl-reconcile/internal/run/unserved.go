package run

import (
	"fmt"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// leaveOutUnserved leaves out the controllers of '*' that cannot run because the cluster, an older one, does not serve what they read. One
// that is named itself is an error.
func (a *admission) leaveOutUnserved() error {
	run, named := a.run, strings.Split(a.run.list, ",")
	var rest, refused []controllers.Controller
	var left, lacks []string
	for _, c := range run.options.Controllers {
		unserved := unservedNames(c, a.kinds)
		switch {
		case unserved == "":
			rest = append(rest, c)
		case c.Named(named):
			refused = append(refused, c)
			lacks = append(lacks, unserved+", which "+c.Short+" needs")
		default:
			left = append(left, c.Short+" ("+unserved+")")
		}
	}
	switch {
	case refused != nil:
		return cli.WithHint(fmt.Errorf("the cluster does not serve %s", strings.Join(lacks, "; ")), leavesOut(run.list, refused))
	case len(rest) == 0:
		return fmt.Errorf("the cluster does not serve what the controllers of --controller %s read", run.list)
	case left != nil:
		run.without = append(run.without, "left out, for the cluster does not serve what they read: "+strings.Join(left, ", "))
	}
	run.options.Controllers = rest
	return nil
}

// unservedNames are the kinds that a controller reads and that are not served, by their names; empty if there are none.
func unservedNames(c controllers.Controller, kinds *cluster.Kinds) string {
	var names []string
	for _, r := range c.Unserved(kinds.Serves) {
		names = append(names, r.String())
	}
	return strings.Join(names, ", ")
}

// leavesOut is a hint for who wants a run without these controllers; empty if none is left.
func leavesOut(list string, these []controllers.Controller) string {
	rest := controllerFlag(list, these)
	if rest == "" {
		return ""
	}
	return rest + " leaves " + cli.PluralOf(len(these), "it", "them") + " out"
}
