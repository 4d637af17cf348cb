package run

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/guard"
)

// listen lets the session tell what it meets on the way.
func (r *clusterRun) listen(out *outputs) {
	r.options.Notice = func(n guard.Notice) {
		out.warn(fmt.Sprintf("%s %s is not sent, and answered here: %s", n.Verb, n.Resource, n.Reason))
	}
	r.options.Waiting = func(late []runlocal.Listing) {
		out.warn("waiting for the lists of " + cli.Enumerate(listingNames(late)) + reasonOfFirst(late))
	}
	r.options.Collector = out.collector()
	r.options.Trouble = func(news []runlocal.Listing) {
		for _, line := range troubleLines(news) {
			out.warn(line)
		}
	}
}

func listingNames(of []runlocal.Listing) []string {
	var names []string
	for _, l := range of {
		names = append(names, l.Resource.String())
	}
	return names
}

// reasonOfFirst is the end of a sentence that tells why the first of those does not come that has a reason.
func reasonOfFirst(of []runlocal.Listing) string {
	for _, l := range of {
		if l.Err != nil {
			return fmt.Sprintf("; %s: %s", l.Resource, cli.OneLine(l.Err.Error()))
		}
	}
	return ""
}

// troubleLines say which resources cannot be read any more, or never could be, and which can be again.
func troubleLines(news []runlocal.Listing) []string {
	var lost, never, back []runlocal.Listing
	for _, l := range news {
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
			out = append(out, cli.Enumerate(listingNames(group.of))+" "+group.text+reasonOfFirst(group.of))
		}
	}
	return out
}

// explainStart makes an error of a start on the cluster one for people.
func explainStart(c *connect.Connection, err error) error {
	hopeless := (*runlocal.CacheError)(nil)
	if !errors.As(err, &hopeless) {
		return c.Explain(err)
	}
	var errs []error
	for _, l := range hopeless.Listings {
		errs = append(errs, explainListing(c, l))
	}
	return errors.Join(errs...)
}

func explainListing(c *connect.Connection, l runlocal.Listing) error {
	readers := strings.Join(l.Controllers, ", ")
	needs := cli.PluralOf(len(l.Controllers), "needs", "need")
	if apierrors.IsNotFound(l.Err) {
		return cli.WithHint(fmt.Errorf("the cluster does not serve %s, which %s %s", l.Resource, readers, needs),
			"--controller '*,-"+strings.Join(l.Controllers, ",-")+"' leaves out what cannot run")
	}
	return cli.WithHint(fmt.Errorf("no permission to list and watch %s, which %s %s", l.Resource, readers, needs), c.Permitted())
}
