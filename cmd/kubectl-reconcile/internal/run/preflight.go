package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/access"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// preflight finds out whether the controllers may and should run, and writes nothing to the cluster. It leaves out the
// controllers of '*' that cannot run there.
func (c *clusterTarget) preflight(ctx context.Context, out *session.Outputs) (*runlocal.Preflight, error) {
	o := runlocal.PreflightOptions{
		Config: c.connection.Config, Controllers: c.options.Controllers, Namespaces: c.scope.Namespaces,
		Write: c.cluster.Write, DryRun: c.cluster.DryRun, UserName: c.connection.User,
	}
	if w := c.writer; w != nil {
		o.Needs = runlocal.LeaseNeeds(w.namespace, w.name, !w.force)
	}
	p, err := runlocal.RunPreflight(ctx, o)
	if err != nil {
		return nil, c.connection.Explain(err)
	}
	if err := c.leaveOutUnserved(p); err != nil {
		return nil, err
	}
	if err := errors.Join(c.permissionError(p, out.Manifests), c.blindError(p),
		c.reportAbsentNamespaces(ctx, p, out)); err != nil {
		return nil, err
	}
	warnOfMissing(p, c.cluster.Write, out)
	return p, nil
}

// leaveOutUnserved leaves out the controllers of '*' whose kinds the cluster, an older one, does not serve. One that is
// named itself is an error.
func (c *clusterTarget) leaveOutUnserved(p *runlocal.Preflight) error {
	named := strings.Split(c.list, ",")
	var refused []controllers.Controller
	var left, lacks []string
	for _, u := range p.Unserved {
		var names []string
		for _, r := range u.Resources {
			names = append(names, r.String())
		}
		unserved := strings.Join(names, ", ")
		if u.Named(named) {
			refused = append(refused, u.Controller)
			lacks = append(lacks, unserved+", which "+u.Short+" needs")
		} else {
			left = append(left, u.Short+" ("+unserved+")")
		}
	}
	switch {
	case refused != nil:
		return cli.WithHint(fmt.Errorf("the cluster does not serve %s", strings.Join(lacks, "; ")),
			withoutHint(c.list, refused))
	case len(p.Controllers) == 0:
		return fmt.Errorf("the cluster does not serve what the controllers of --controller %s read", c.list)
	case left != nil:
		c.leftOut = append(c.leftOut, "left out, for the cluster does not serve what they read: "+strings.Join(left,
			", "))
	}
	c.options.Controllers = p.Controllers
	return nil
}

// permissionError is the error of what the user may not do; nil if nothing lacks. It prints the roles that would permit
// it by printRoles, which reports whether it did.
func (c *clusterTarget) permissionError(p *runlocal.Preflight, printRoles func([]runtime.Object) (bool, error)) error {
	lacking := p.Lacking(c.cluster.Write)
	if len(lacking) == 0 {
		return nil
	}
	text := "no permission to " + permissionsText(lacking)
	if names := controllersOf(lacking); len(names) > 0 {
		text += ", which " + cli.Enumerate(names) + " " + cli.PluralOf(len(names), "needs", "need")
	}
	granted := lacking
	if c.cluster.Write {
		granted = p.Missing
	}
	printed, err := printRoles(access.Roles(granted, p.User))
	if err != nil {
		return err
	}
	roles := "the printed roles grant " + p.User.Username +
		" these permissions: an administrator can apply them by `kubectl apply -f -`"
	if !printed {
		roles = "the same command with `>roles.yaml` writes roles that grant " + p.User.Username +
			" these permissions, for an administrator to apply"
	}
	hints := []string{roles}
	if more := len(p.Missing) - len(granted); more > 0 {
		hints = append(hints, "trying the writes on the server needs "+cli.Plural(more,
			"more permission")+", --dry-run=client none")
	}
	if rest := c.flagWithoutLacking(lacking); rest != "" {
		hints = append(hints, rest+" needs none of them")
	}
	return cli.WithHint(errors.New(text), strings.Join(hints, "; "))
}

// flagWithoutLacking is --controller without the controllers that lack something; empty if none is left, or if they are
// many.
func (c *clusterTarget) flagWithoutLacking(lacking []access.Need) string {
	names := controllersOf(lacking)
	if len(names) > session.MaxControllerNames {
		return ""
	}
	return session.FlagWithout(c.list, slices.DeleteFunc(slices.Clone(c.options.Controllers),
		func(c controllers.Controller) bool {
			return !slices.Contains(names, c.Short)
		}))
}

// controllersOf returns the controllers that need something, sorted.
func controllersOf(needs []access.Need) []string {
	var names []string
	for _, n := range needs {
		names = append(names, n.Controllers...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// maxPermissions bounds the permissions that are named in a sentence; roles have them all.
const maxPermissions = 4

// permissionsText is "list pods, update deployments.apps/status and 3 more".
func permissionsText(needs []access.Need) string {
	var texts []string
	for _, n := range needs {
		texts = append(texts, n.String())
	}
	if more := len(texts) - maxPermissions; more > 0 {
		return strings.Join(texts[:maxPermissions], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(texts, ", ")
}

// blindError refuses controllers that would destroy what they do not see, where not all kinds are known.
func (c *clusterTarget) blindError(p *runlocal.Preflight) error {
	if p.Blind == nil {
		return nil
	}
	var blind []controllers.Controller
	var unknown []string
	for _, b := range p.Blind {
		blind = append(blind, b.Controller)
		for _, i := range b.Unknown {
			unknown = cli.AppendUnique(unknown, connect.IncompleteName(i))
		}
	}
	return dangerError(blind, c.list,
		"the kinds of "+cli.Enumerate(unknown)+" are not known: its server does not answer")
}

// reportAbsentNamespaces returns an error for namespaces of the run that do not exist, if it writes; else it warns,
// since they may be created.
func (c *clusterTarget) reportAbsentNamespaces(ctx context.Context, p *runlocal.Preflight, out *session.Outputs) error {
	var errs []error
	for _, name := range p.AbsentNamespaces {
		hint := cli.Suggestion(name, p.NamespaceNames(ctx), "")
		if c.cluster.Write {
			errs = append(errs, cli.WithHint(fmt.Errorf("there is no namespace %q", name), hint))
			continue
		}
		out.Warnf("there is no namespace %q", name)
		out.Hint(hint)
	}
	return errors.Join(errs...)
}

// warnOfMissing warns of what the server will refuse without which the controllers can run.
func warnOfMissing(p *runlocal.Preflight, write bool, out *session.Outputs) {
	var events, writes []access.Need
	for _, n := range p.Missing {
		if n.Optional {
			events = append(events, n)
		} else {
			writes = append(writes, n)
		}
	}
	if len(writes) > 0 {
		out.Warnf("no permission to %s: the server refuses to try these writes", permissionsText(writes))
		out.Hint("--dry-run=client sends none")
	}
	if len(events) > 0 && write {
		out.Warnf("no permission to %s: the Events of the controllers are not recorded", permissionsText(events))
	}
}
