package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/apihealth"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/telemetry"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/access"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/guard"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// clusterTarget is the session.Target of a cluster.
type clusterTarget struct {
	connection *connect.Connection
	cluster    runlocal.ClusterOptions
	options    runlocal.Options
	scope      runlocal.Scope
	// list is --controller, leftOut a line for each reason for which controllers of it are left out.
	list    string
	leftOut []string
	writer  *writer // nil in a dry run

	monitor     *apihealth.Monitor          // set by Sinks
	permissions *runlocal.PermissionMonitor // set by Sinks
}

var _ session.Target = (*clusterTarget)(nil)

// Controllers implements session.Target.
func (c *clusterTarget) Controllers() []controllers.Controller { return c.options.Controllers }

// Sinks implements session.Target. It lets the run report, once each, when the cluster's API server does not answer or
// does not accept the credentials, when permissions are revoked, and when that is over. client-go and the controllers
// retry meanwhile.
func (c *clusterTarget) Sinks(out *session.Outputs) []trace.Sink {
	c.monitor = apihealth.New(nil, func(n apihealth.Notice) { reportHealth(out, n) })
	c.cluster.Config.Wrap(c.monitor.Wrap)
	c.permissions = runlocal.NewPermissionMonitor(len(c.scope.Namespaces) > 0, func(lost, regained []access.Need) {
		if lost != nil {
			out.Warnf("no permission any more to %s: the server refuses it; retrying", permissionsText(lost))
		}
		if regained != nil {
			out.Stderrf("there is permission again to %s", permissionsText(regained))
		}
	})
	return []trace.Sink{c.permissions}
}

// Checks implements session.Target: the readiness of the API server.
func (c *clusterTarget) Checks() []telemetry.Check {
	check := telemetry.Check{Name: "api-server"}
	for _, n := range c.monitor.Problems() {
		check.Problem = healthText(n)
	}
	return []telemetry.Check{check}
}

// Close implements session.Target. It reports the last changes of permissions, and lets others write.
func (c *clusterTarget) Close(ctx context.Context) error {
	c.permissions.Close()
	return c.writer.end(ctx)
}

// Start implements session.Target. It connects, refuses what should not run, becomes the only writer if the run writes,
// and starts the controllers.
func (c *clusterTarget) Start(
	ctx context.Context, o *session.Options, out *session.Outputs, recorder *trace.Recorder,
) (*runlocal.Session, error) {
	shown := o.Progress.Show(ctx, cli.ProgressText("finding out what %s serves and permits", c.connection.Config.Host))
	defer shown()
	version, err := c.connection.ServerVersion(ctx)
	if err != nil {
		return nil, c.connection.Explain(err)
	}
	// Roles are printed for other programs to read, and so before all that is for people.
	preflight, err := c.preflight(ctx, out)
	if err != nil {
		return nil, err
	}
	shown()
	c.permissions.SetMissing(preflight.Missing)
	out.Notef("cluster: %s, Kubernetes %s; %s%s", c.connection.Endpoint(), version,
		o.ControllersText(c.options.Controllers), scopeText(c.scope))
	if text := connect.OtherMinorText(version, api.KubernetesVersion()); text != "" {
		out.Warnf("%s", text)
	}
	out.NoteLines(slices.Concat(c.leftOut, c.cautions()))
	if c.writer != nil {
		if err := c.writer.begin(ctx, c.connection.Config, c.question(preflight.User.Username), o, out); err != nil {
			return nil, err
		}
		c.cluster.Config.Wrap(c.writer.held.Fence)
	}
	began := o.Clock.Now()
	c.options.Recorder = recorder
	c.setCallbacks(out)
	defer c.showFilling(ctx, o.Progress)()
	started, err := session.StartUninterrupted(ctx, "the controllers were starting",
		func(ctx context.Context) (*runlocal.Session, error) {
			return runlocal.StartCluster(ctx, c.cluster, c.options)
		})
	if err != nil {
		return nil, explainStart(c.connection, err)
	}
	out.Notef("synced in %.2fs", o.Clock.Since(began).Seconds())
	return started, nil
}

// cautions says what is about to happen to the cluster.
func (c *clusterTarget) cautions() []string {
	if c.writer != nil {
		return session.UnhandledHints(c.options.Controllers) // the question says it
	}
	lines := []string{"dry run: nothing is written; each write is tried on the server, which does not keep it"}
	if c.cluster.DryRun == guard.Client {
		lines[0] = "dry run: nothing is written, and no write is sent: " +
			"no server validates or completes what would be written"
	}
	return append(lines, "it does not show what the controllers would do next, after these writes: `"+
		c.connection.Program+" diff` does")
}

// setCallbacks makes the session report what it meets on the way.
func (c *clusterTarget) setCallbacks(out *session.Outputs) {
	c.cluster.Notice = func(n guard.Notice) {
		out.Warnf("%s %s is not sent, and answered here: %s", n.Verb, n.Resource, n.Reason)
	}
	c.cluster.Waiting = func(late []runlocal.Listing) {
		out.Warnf("waiting for the lists of %s", cli.Enumerate(listingNames(late))+firstReason(late))
	}
	c.options.Collector = out.CollectorWarnings()
	c.cluster.Trouble = func(changed []runlocal.Listing) {
		for _, line := range listingLines(changed) {
			out.Warnf("%s", line)
		}
	}
}

// showFilling shows how far the caches are, until the function that it returns is called.
func (c *clusterTarget) showFilling(ctx context.Context, p *render.Progress) (end func()) {
	var listed, total atomic.Int64
	c.cluster.Filling = func(n, of int) {
		listed.Store(int64(n))
		total.Store(int64(of))
	}
	return p.Show(ctx, func(context.Context) string { return fillingText(listed.Load(), total.Load()) })
}

func fillingText(listed, total int64) string {
	if total == 0 {
		return "filling caches"
	}
	return fmt.Sprintf("filling caches: %d of %d resources", listed, total)
}

func listingNames(of []runlocal.Listing) []string {
	var names []string
	for _, l := range of {
		names = append(names, l.Resource.String())
	}
	return names
}

// firstReason is the end of a sentence that gives the first reason why one of those is not listed; empty if there is
// none.
func firstReason(of []runlocal.Listing) string {
	for _, l := range of {
		if l.Err != nil {
			return fmt.Sprintf("; %s: %s", l.Resource, cli.OneLine(l.Err.Error()))
		}
	}
	return ""
}

// listingLines say which resources cannot be read any more, or never could be, and which can be again.
func listingLines(changed []runlocal.Listing) []string {
	var lost, never, back []runlocal.Listing
	for _, l := range changed {
		switch {
		case l.Err == nil:
			back = append(back, l)
		case l.Listed:
			lost = append(lost, l)
		default:
			never = append(never, l)
		}
	}
	var out []string
	for _, group := range []struct {
		of   []runlocal.Listing
		text string
	}{
		{never, "cannot be listed: controllers that act on whatever kinds there are do not see them"},
		{lost, "cannot be read any more, and what is known of them gets old; retrying"},
		{back, "can be read again"},
	} {
		if len(group.of) > 0 {
			out = append(out, cli.Enumerate(listingNames(group.of))+" "+group.text+firstReason(group.of))
		}
	}
	return out
}

// explainStart makes an error of a start on the cluster one for people.
func explainStart(c *connect.Connection, err error) error {
	unlisted := (*runlocal.CacheError)(nil)
	if !errors.As(err, &unlisted) {
		return c.Explain(err)
	}
	var errs []error
	for _, l := range unlisted.Listings {
		errs = append(errs, explainListing(c, l))
	}
	return errors.Join(errs...)
}

func explainListing(c *connect.Connection, l runlocal.Listing) error {
	readers := strings.Join(l.Controllers, ", ")
	needs := cli.PluralOf(len(l.Controllers), "needs", "need")
	if undecodable := (*runlocal.UndecodableError)(nil); errors.As(l.Err, &undecodable) {
		return fmt.Errorf("%s, which %s %s, cannot be read: %w", l.Resource, readers, needs, undecodable)
	}
	if apierrors.IsNotFound(l.Err) {
		return cli.WithHint(fmt.Errorf("the cluster does not serve %s, which %s %s", l.Resource, readers, needs),
			"--controller '*,-"+strings.Join(l.Controllers, ",-")+"' leaves out what cannot run")
	}
	return cli.WithHint(fmt.Errorf("no permission to list and watch %s, which %s %s", l.Resource, readers, needs),
		c.PermissionHint())
}

// reportHealth writes a change of the API server's health.
func reportHealth(out *session.Outputs, n apihealth.Notice) {
	switch n.Kind {
	case apihealth.Unreachable, apihealth.Unauthorized:
		out.Warnf("the API server %s; retrying", healthText(n))
	case apihealth.Reachable:
		out.Stderrf("the API server is back after %s", n.For.Round(100*time.Millisecond))
	case apihealth.Authorized:
		out.Stderrf("the API server takes the credentials again after %s", n.For.Round(100*time.Millisecond))
	}
	if n.Untrusted {
		out.Hint("the server that answers has a certificate that your kubeconfig does not trust: " +
			"if the cluster was created again, start again with its kubeconfig")
	}
	if n.Kind == apihealth.Unauthorized {
		out.Hint("log in again; a token file or a credential plugin is read again by itself, " +
			"a token within the kubeconfig is not")
	}
}

// healthText says what is wrong with the API server.
func healthText(n apihealth.Notice) string {
	since := n.Since.Format(time.TimeOnly)
	if n.Kind == apihealth.Unauthorized {
		return fmt.Sprintf("does not take the credentials since %s (%s)", since, n.Reason)
	}
	return fmt.Sprintf("does not answer since %s (%s)", since, n.Reason)
}
