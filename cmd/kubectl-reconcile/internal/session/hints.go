package session

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// lateHint is advice on a run whose objects are not ready; empty if there is none.
func (o *Options) lateHint(r *result) string {
	if missing := r.objects.MissingControllers(o.Target.Controllers()); missing != nil {
		return cli.Enumerate(missing) + " " + cli.PluralOf(len(missing), "does", "do") + " not run: name " +
			cli.PluralOf(len(missing), "it", "them") + " in --controller too"
	}
	switch next := r.next(); {
	case r.outcome != runlocal.OutcomeTimedOut && o.SimulatedNodes == 0:
		return "without nodes all pods stay pending: --nodes gives it some"
	case r.objects.HasBlockedPod():
		return "" // its reason says what it needs
	case r.outcome == runlocal.OutcomeTimedOut:
		return "--timeout gives it more time"
	case next != nil && next.Retry == 0 && time.Duration(next.In) <= r.goal.Timeout: // a retry would fail again
		enough := (r.elapsed + time.Duration(next.In) + 5*time.Second).Truncate(5 * time.Second)
		return fmt.Sprintf("--timeout %s reaches the next key, %s %s", enough, next.Controller, next.Key)
	case r.objects.NoBuiltInLate():
		return "no controller of Kubernetes acts on it: its own controller can, against `sandbox`; " +
			"--until settled does not wait for it"
	case len(r.objects.Created) > 0:
		return "" // the controllers did their part
	}
	return "it may need a controller that --controller does not name: `run --list` shows them all"
}

// maxUntil is the longest wait for a CronJob that is proposed.
const maxUntil = 10 * time.Minute

// untilText is how to see what a CronJob does at its next time, of a run in the sandbox that ended before; else empty.
func (o *Options) untilText(p pendingKey) string {
	in := time.Duration(p.In)
	ends := o.Goal.Type == runlocal.GoalReady || o.Goal.Type == runlocal.GoalSettled
	if p.Controller != "cronjob" || p.Retry > 0 || in > maxUntil || !ends || o.onCluster() {
		return ""
	}
	return fmt.Sprintf("; a run that begins before then shows it with --until %dm", int(in/time.Minute)+1)
}

// UnhandledHints returns a line for each controller that runs without the one that acts on what it creates.
func UnhandledHints(running []controllers.Controller) []string {
	var out []string
	for _, k := range runlocal.UnhandledKinds(running) {
		out = append(out, fmt.Sprintf("hint: nothing acts on the %s that %s makes: %s does not run", k.Kinds, k.Creator,
			k.Missing))
	}
	return out
}

// withManifestHints adds advice to each of the joined errors of objects that were refused; nil stays nil.
func withManifestHints(err error) error {
	if err == nil {
		return nil
	}
	errs := cli.FlattenErrors(err)
	for i, e := range errs {
		if strings.Contains(e.Error(), `: namespaces "`) && apierrors.IsNotFound(e) {
			errs[i] = cli.WithHint(e, "-n NAME creates the namespace, or put it among the files")
		}
		if unknown := (*cluster.UnknownKindError)(nil); errors.As(e, &unknown) {
			errs[i] = cli.WithHint(e, cli.Suggestion(unknown.Name, unknown.Known,
				"kinds that are no part of Kubernetes need their CustomResourceDefinition among the files"))
		}
		if uncounted := (*runlocal.UncountedQuotaError)(nil); errors.As(e, &uncounted) {
			errs[i] = cli.WithHint(e, "-v shows what the controller does; without the quota the objects are applied")
		}
	}
	return errors.Join(errs...)
}

// withStartHints adds advice to each of the joined errors of a sandbox that did not start; nil stays nil.
func withStartHints(err error) error {
	if err == nil {
		return nil
	}
	errs := cli.FlattenErrors(err)
	for i := range errs {
		errs[i] = withStartHint(errs[i])
	}
	return errors.Join(errs...)
}

func withStartHint(err error) error {
	switch unknown := (*api.UnknownPluginError)(nil); {
	case errors.As(err, &unknown):
		return cli.WithHint(err, cli.Suggestion(unknown.Name, unknown.Known,
			"admission plugins are named as kube-apiserver names them"))
	case errors.Is(err, api.ErrRemoteListen):
		return cli.WithHint(err, "--allow-remote lets other machines reach it, with the token of the kubeconfig")
	case errors.Is(err, syscall.EADDRINUSE):
		return cli.WithHint(err, "--listen 127.0.0.1:0 picks a free port")
	}
	return err
}
