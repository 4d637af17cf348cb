package runlocal

import (
	"context"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/access"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/guard"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/lease"
)

// PreflightOptions say which session on a cluster Preflight looks into.
type PreflightOptions struct {
	// Config, Controllers, Namespaces, Write and DryRun are as in ClusterOptions and Options.
	Config      *rest.Config
	Controllers []controllers.Controller
	Namespaces  []string
	Write       bool
	DryRun      guard.Mode
	// Needs is what the session needs beside what its controllers do, such as LeaseNeeds.
	Needs []access.Need
	// UserName is what the user is called if the server does not say it (before Kubernetes 1.28).
	UserName string
}

// Preflight is what was found out about a cluster before controllers run on it.
type Preflight struct {
	// Controllers are those of the options that can run, Unserved the others, for which the cluster is too old.
	Controllers []controllers.Controller
	Unserved    []UnservedController
	// Missing is what the user may not do of what the session needs, sorted.
	Missing []access.Need
	// User is the user of the connection. It is zero in a dry run that lacks nothing.
	User authenticationv1.UserInfo
	// Blind are controllers that would write, and destroy objects whose owners or nodes they do not see.
	Blind []BlindController
	// AbsentNamespaces are those of the options that do not exist; those that the user may not look for are not among
	// them.
	AbsentNamespaces []string

	client kubernetes.Interface
}

// UnservedController is a controller that cannot run because the cluster does not serve what it reads.
type UnservedController struct {
	controllers.Controller
	Resources []schema.GroupResource
}

// BlindController is a dangerous controller (see controllers.Controller.Danger) that does not see all kinds.
type BlindController struct {
	controllers.Controller
	// Unknown are the groups whose kinds could not be found out.
	Unknown []cluster.Incomplete
}

// RunPreflight finds out whether the controllers may and should run. It writes nothing to the cluster. Findings are in
// the result; an error means that the cluster could not be read.
func RunPreflight(ctx context.Context, o PreflightOptions) (*Preflight, error) {
	client, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	kinds, err := cluster.Discover(ctx, o.Config)
	if err != nil {
		return nil, err
	}
	p := &Preflight{client: client}
	for _, c := range o.Controllers {
		if unserved := c.Unserved(kinds.Serves); len(unserved) > 0 {
			p.Unserved = append(p.Unserved, UnservedController{c, unserved})
			continue
		}
		p.Controllers = append(p.Controllers, c)
	}
	if err := p.checkAccess(ctx, o, kinds); err != nil {
		return nil, err
	}
	if o.Write {
		p.Blind = blindControllers(p.Controllers, kinds.Incomplete())
	}
	for _, name := range o.Namespaces {
		if _, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			p.AbsentNamespaces = append(p.AbsentNamespaces, name)
		}
	}
	return p, nil
}

// checkAccess sets Missing and, if it will be shown, User.
func (p *Preflight) checkAccess(ctx context.Context, o PreflightOptions, kinds *cluster.Kinds) error {
	needs := append(access.Needs(p.Controllers), o.Needs...)
	if !o.Write && o.DryRun == guard.Client { // no write is sent
		needs = slices.DeleteFunc(needs, func(n access.Need) bool { return !n.IsRead() })
	}
	auth := p.client.AuthorizationV1()
	checker := access.Checker{Client: auth, Rules: auth, Kinds: kinds, Namespaces: o.Namespaces}
	var err error
	if p.Missing, err = checker.Missing(ctx, needs); err != nil {
		return err
	}
	if len(p.Missing) == 0 && !o.Write {
		return nil
	}
	review, err := p.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		p.User.Username = o.UserName
		return nil //nolint:nilerr // the name is only shown
	}
	p.User = review.Status.UserInfo
	return nil
}

// Lacking returns what is missing without which the controllers cannot work: reads and, with write, writes; Events are
// optional.
func (p *Preflight) Lacking(write bool) []access.Need {
	var out []access.Need
	for _, n := range p.Missing {
		if !n.Optional && (write || n.IsRead()) {
			out = append(out, n)
		}
	}
	return out
}

// NamespaceNames lists the names of all namespaces; nil if the user may not.
func (p *Preflight) NamespaceNames(ctx context.Context) []string {
	list, err := p.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names
}

// LeaseNeeds returns what a session that writes needs for its Lease, and unless alone is false for looking for other
// writers: kube-controller-manager and sessions with other Leases.
func LeaseNeeds(namespace, name string, alone bool) []access.Need {
	var needs []access.Need
	add := func(namespace, name string, verbs ...string) {
		for _, verb := range verbs {
			needs = append(needs, access.Need{Permission: access.Permission{
				Namespace: namespace, Group: "coordination.k8s.io", Resource: "leases", Name: name, Verb: verb,
			}})
		}
	}
	add(namespace, "", "create")
	add(namespace, name, "get", "update")
	if alone {
		add(lease.DefaultNamespace, lease.ManagerName, "get")
		add(namespace, "", "list")
	}
	return needs
}

// blindControllers returns the dangerous controllers that act on kinds which could not be discovered.
func blindControllers(all []controllers.Controller, incomplete []cluster.Incomplete) []BlindController {
	var out []BlindController
	for _, c := range all {
		if c.Danger == "" || c.ToleratesUnlistedKinds {
			continue
		}
		blind := BlindController{Controller: c}
		for _, i := range incomplete {
			if actsOn(c, i.Group) {
				blind.Unknown = append(blind.Unknown, i)
			}
		}
		if blind.Unknown != nil {
			out = append(out, blind)
		}
	}
	return out
}

// actsOn reports whether a controller reads or writes kinds of a group.
func actsOn(c controllers.Controller, group string) bool {
	return slices.ContainsFunc(access.Needs([]controllers.Controller{c}), func(n access.Need) bool {
		return n.Group == "*" || n.Group == group
	})
}
