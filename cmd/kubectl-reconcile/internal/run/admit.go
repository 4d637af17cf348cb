package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/access"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/lease"
)

// admission is what is found out about a cluster before controllers run on it.
type admission struct {
	run     *clusterRun
	client  kubernetes.Interface
	kinds   *cluster.Kinds
	user    authenticationv1.UserInfo
	missing []access.Need
}

// admit finds out whether the controllers may and should run: it changes nothing.
func (r *clusterRun) admit(ctx context.Context, out *outputs) (*admission, error) {
	a := &admission{run: r}
	var err error
	if a.client, err = kubernetes.NewForConfig(r.connection.Config); err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	if a.kinds, err = cluster.Discover(ctx, r.connection.Config); err != nil {
		return nil, r.connection.Explain(err)
	}
	if err := a.leaveOutUnserved(); err != nil {
		return nil, err
	}
	if err := a.look(ctx); err != nil {
		return nil, r.connection.Explain(err)
	}
	if err := errors.Join(a.permission(out), a.partial(), a.namespaces(ctx, out)); err != nil {
		return nil, err
	}
	a.warnOfWrites(out)
	return a, nil
}

// needs are what the run needs: what its controllers do, and the Leases.
func (a *admission) needs() []access.Need {
	needs := access.Needs(a.run.options.Controllers)
	if a.run.write == nil {
		return needs
	}
	leases := func(namespace, name string, verbs ...string) {
		for _, verb := range verbs {
			needs = append(needs, access.Need{Permission: access.Permission{
				Namespace: namespace, Group: "coordination.k8s.io", Resource: "leases", Name: name, Verb: verb,
			}})
		}
	}
	leases(a.run.write.namespace, "", "create")
	leases(a.run.write.namespace, a.run.write.name, "get", "update")
	if !a.run.write.force {
		leases(lease.DefaultNamespace, lease.ManagerName, "get")
		leases(a.run.write.namespace, "", "list")
	}
	return needs
}

// look asks who the user is and what is missing. A dry run that sends no writes needs none.
func (a *admission) look(ctx context.Context) error {
	needs := a.needs()
	if !a.run.options.Write && a.run.options.DryRun == guardClient {
		needs = slices.DeleteFunc(needs, func(n access.Need) bool { return !n.IsRead() })
	}
	auth := a.client.AuthorizationV1()
	checker := access.Checker{Client: auth, Rules: auth, Kinds: a.kinds, Namespaces: a.run.part.namespaces}
	var err error
	if a.missing, err = checker.Missing(ctx, needs); err != nil {
		return err
	}
	if len(a.missing) == 0 && a.run.write == nil {
		return nil
	}
	review, err := a.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		a.user.Username = a.run.connection.User // a cluster before 1.28 does not tell
		return nil                              //nolint:nilerr // the name is only shown
	}
	a.user = review.Status.UserInfo
	return nil
}

// partial refuses controllers that would destroy what they do not see, where nobody knows all the kinds that there are.
func (a *admission) partial() error {
	if !a.run.options.Write {
		return nil
	}
	var blind []controllers.Controller
	var unknown []string
	for _, c := range a.run.options.Controllers {
		missed := a.unknownTo(c)
		if missed != nil {
			blind = append(blind, c)
		}
		for _, group := range missed {
			unknown = cli.AppendUnique(unknown, group)
		}
	}
	if blind == nil {
		return nil
	}
	return dangerError(blind, a.run.list, "the kinds of "+cli.Enumerate(unknown)+" are not known: its server does not answer")
}

// unknownTo are the groups of which a dangerous controller would not see the objects, because their kinds are not known.
func (a *admission) unknownTo(c controllers.Controller) []string {
	var unknown []string
	for _, g := range a.kinds.Incomplete() {
		if c.Danger != "" && !c.ToleratesUnlistedKinds && actsOn(c, g.Group) {
			unknown = cli.AppendUnique(unknown, connect.IncompleteName(g))
		}
	}
	return unknown
}

// dangerError refuses controllers of the --controller list that would destroy what they do not see.
func dangerError(of []controllers.Controller, list, why string) error {
	var dangers []string
	for _, c := range of {
		dangers = append(dangers, c.Short+" "+c.Danger)
	}
	hint := "without --write " + cli.PluralOf(len(of), "it runs", "they run") + " in dry run"
	if without := leavesOut(list, of); without != "" {
		hint = without + "; " + hint
	}
	return cli.WithHint(fmt.Errorf("%s: %s", strings.Join(dangers, "; "), why), hint)
}

// actsOn reports whether a controller reads or writes kinds of a group.
func actsOn(c controllers.Controller, group string) bool {
	for _, n := range access.Needs([]controllers.Controller{c}) {
		if n.Group == "*" || n.Group == group {
			return true
		}
	}
	return false
}
