package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/lease"
)

// writer is what a run that writes has beside one that does not: the Lease that makes it the only writer. Its methods
// are for one goroutine. end does nothing on nil.
type writer struct {
	force, yes      bool
	shard           runlocal.Shard
	namespace, name string // of the Lease
	duration        time.Duration

	config  *rest.Config
	leases  coordinationv1client.LeasesGetter
	manager *lease.Holder // that the Lease of kube-controller-manager names, and that does not renew it; nil for none
	beside  bool          // kube-controller-manager may run: its Lease is not watched
	held    *lease.Lock
	watched chan struct{} // closed when nothing is watched any more
	cancel  context.CancelFunc
}

// begin makes this run the only one that writes, and returns when it is. question is asked before, unless --yes was
// given.
func (w *writer) begin(ctx context.Context, config *rest.Config, question string, o *session.Options,
	out *session.Outputs) error {
	// A request that hangs must not take all the time that there is for renewing.
	limited := rest.CopyConfig(config)
	limited.Timeout, limited.RateLimiter, limited.QPS = lease.DefaultDeadline/2, nil, -1
	var err error
	if w.leases, err = coordinationv1client.NewForConfig(limited); err != nil {
		return fmt.Errorf("making a client of the cluster: %w", err)
	}
	w.config = config
	if err := w.refuseBesideManager(ctx, o, out); err != nil {
		return err
	}
	checked := o.Clock.Now()
	if !w.yes {
		if err := confirm(ctx, o.Streams, question); err != nil {
			return err
		}
	}
	if err := w.acquire(ctx, o, out); err != nil {
		return err
	}
	err = w.refuseBesideRunners(ctx, out)
	if err == nil && o.Clock.Since(checked) > recheckAfter {
		err = w.recheckManager(ctx, out)
	}
	if err != nil {
		return errors.Join(err, w.end(ctx))
	}
	out.Notef("write: the controllers change the cluster; the Lease %s/%s keeps others from doing so", w.namespace,
		w.name)
	w.watch(ctx, out.Fail)
	return nil
}

// managerPollInterval is how often kube-controller-manager's Lease is read to see whether it renews it, which it does
// every 2 seconds, or has taken it.
const managerPollInterval = 250 * time.Millisecond

// recheckAfter is after what time it is checked again whether kube-controller-manager runs: it may have been started
// while the question was open, or while another runner wrote.
const recheckAfter = time.Second

// besideForced is the end of a hint that names the flag.
const besideForced = "; --force writes beside it all the same"

// refuseBesideManager returns an error if kube-controller-manager runs or may run; with force it warns instead.
func (w *writer) refuseBesideManager(ctx context.Context, o *session.Options, out *session.Outputs) error {
	first, exists, err := lease.HolderOf(ctx, w.leases, lease.DefaultNamespace, lease.ManagerName)
	if err != nil && !w.force {
		return cli.WithHint(fmt.Errorf("finding out whether kube-controller-manager runs: %w", err),
			"--force writes without knowing")
	}
	place := lease.DefaultNamespace + "/" + lease.ManagerName
	switch {
	case err != nil:
		w.beside = true
		out.Warnf("it is not known whether kube-controller-manager runs: %s; "+
			"if it does, both write, and undo each other's work", connect.FirstError(err))
		return nil
	case first != nil && w.force:
		w.beside = true
		out.Warnf("kube-controller-manager (%s) holds its Lease: if it runs, both write, and undo each other's work",
			first.Identity)
		return nil
	case first != nil:
		if err := w.awaitExpiry(ctx, first, o, out); err != nil {
			return err
		}
	case exists:
		out.Warnf("the Lease %s has no holder: "+
			"a kube-controller-manager that runs without leader election does not show there", place)
	case !w.force:
		const unknown = "it is not known whether kube-controller-manager runs on this cluster: it has no Lease "
		return cli.WithHint(errors.New(unknown+place),
			"one that runs without leader election has none: if none runs, --force writes")
	}
	return w.refuseOnSigns(ctx, out)
}

// awaitExpiry returns an error if the holder of kube-controller-manager's Lease renews it, as soon as it does, and nil
// when it has not for as long as the Lease lasts.
func (w *writer) awaitExpiry(ctx context.Context, first *lease.Holder, o *session.Options, out *session.Outputs) error {
	renewed := "which does not say when it was renewed"
	if !first.Renewed.IsZero() {
		renewed = "renewed " + o.Clock.Now().Sub(first.Renewed).Round(time.Second).String() + " ago"
	}
	out.Stderrf("kube-controller-manager: %s holds its Lease, %s; watching for %s whether it is renewed",
		first.Identity, renewed, first.Duration)
	live, err := lease.WaitForRenewal(ctx, w.leases, lease.DefaultNamespace, lease.ManagerName, first,
		managerPollInterval)
	if err != nil {
		return err
	}
	if live == nil {
		w.manager = first
		return nil
	}
	return cli.WithHint(fmt.Errorf("kube-controller-manager runs on this cluster: %s renews its Lease %s/%s",
		live.Identity, lease.DefaultNamespace, lease.ManagerName),
		"stop it first: two would undo each other's work"+besideForced)
}

// recheckManager returns an error if kube-controller-manager was started since refuseBesideManager returned.
func (w *writer) recheckManager(ctx context.Context, out *session.Outputs) error {
	if w.beside {
		return nil
	}
	now, _, err := lease.HolderOf(ctx, w.leases, lease.DefaultNamespace, lease.ManagerName)
	switch {
	case err != nil:
		return fmt.Errorf("finding out whether kube-controller-manager runs: %w", err)
	case now.NewerThan(w.manager):
		return managerStarted(now)
	}
	return w.refuseOnSigns(ctx, out)
}

// managerStarted is the error of a kube-controller-manager that was started meanwhile.
func managerStarted(holder *lease.Holder) error {
	return fmt.Errorf("kube-controller-manager was started: %s has taken its Lease", holder.Identity)
}

// refuseOnSigns returns an error if there are signs of a kube-controller-manager that has no Lease; with force it warns
// instead. What could not be read is a warning too.
func (w *writer) refuseOnSigns(ctx context.Context, out *session.Outputs) error {
	signs, err := lease.ManagerActivity(ctx, w.config, w.namespace, w.manager)
	if err != nil && ctx.Err() == nil {
		out.Warnf("looking for a kube-controller-manager without a Lease: %s", connect.FirstError(err))
	}
	if len(signs) == 0 {
		return ctx.Err()
	}
	text := "kube-controller-manager seems to run on this cluster: " + signText(signs[0])
	if more := len(signs) - 1; more > 0 {
		text += fmt.Sprintf(", and %s", cli.Plural(more, "other sign"))
	}
	if w.force {
		out.Warnf("%s; if it does, both write, and undo each other's work", text)
		return nil
	}
	return cli.WithHint(errors.New(text),
		"stop it first, and wait a minute: two would undo each other's work"+besideForced)
}

// signText says by what kube-controller-manager seems to run.
func signText(s lease.Activity) string {
	name := s.Resource.String() + " " + s.Namespace + "/" + s.Name
	if s.Written.IsZero() {
		return "it runs in " + name
	}
	return fmt.Sprintf("it wrote %s at %s", name, s.Written.UTC().Format(time.RFC3339))
}

// refuseBesideRunners returns an error if a runner writes whose part of the cluster overlaps this one's. This one has
// its Lease by then, so that of two that start at the same time at least one sees the other.
func (w *writer) refuseBesideRunners(ctx context.Context, out *session.Outputs) error {
	if w.force {
		return nil
	}
	others, err := lease.OverlappingRunners(ctx, w.leases, w.namespace, w.shard.Number, w.shard.Of,
		func(held []lease.Runner) {
			var names []string
			longest := time.Duration(0)
			for _, s := range held {
				names, longest = append(names, s.Lease), max(longest, s.Duration)
			}
			out.Stderrf("other runners hold %s %s: watching for up to %s whether they are renewed",
				cli.PluralOf(len(names), "the Lease", "the Leases"), cli.Enumerate(names), longest)
		}, managerPollInterval)
	switch {
	case err != nil:
		return cli.WithHint(fmt.Errorf("finding out which other runners write: %w", err),
			"--force writes without knowing")
	case len(others) == 0:
		return nil
	}
	return cli.WithHint(fmt.Errorf("%s writes to objects that are this runner's too: it holds the Lease %s/%s",
		others[0].Identity, w.namespace, others[0].Lease),
		"run either shards of one number or a single runner; --force writes beside it all the same")
}

// limitStart bounds a wait before the start by --timeout, if that bounds the run.
func limitStart(ctx context.Context, g runlocal.Goal) (context.Context, context.CancelFunc) {
	if g.Type != runlocal.GoalSettled || g.Timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, g.Timeout)
}

// acquire waits for the Lease, for no longer than the run may wait for its goal, and writes that it waits, also with
// -q.
func (w *writer) acquire(ctx context.Context, o *session.Options, out *session.Outputs) error {
	limited, cancel := limitStart(ctx, o.Goal)
	defer cancel()
	var other string
	held, err := lease.Acquire(limited, lease.Options{
		Client: w.leases, Namespace: w.namespace, Name: w.name, Identity: identity(),
		Duration: w.duration, Deadline: w.deadline(),
		OnWaiting: func(holder string) {
			other = holder
			out.Stderrf("waiting: %s holds the Lease %s/%s, and writes", holder, w.namespace, w.name)
		},
		OnError: func(err error) {
			// that the server does not answer is reported by apihealth
			if err != nil && apierrors.ReasonForError(err) != "" {
				out.Warnf("the Lease %s/%s cannot be renewed: %v", w.namespace, w.name, err)
			}
		},
	})
	switch {
	case err == nil:
		w.held = held
		return nil
	case ctx.Err() != nil:
		return cli.Interruption(ctx, "before the Lease was free: nothing was written")
	case limited.Err() != nil && other != "":
		return cli.WithHint(
			fmt.Errorf("the Lease %s/%s was not free within --timeout %s: %s holds it; nothing was written",
				w.namespace, w.name, o.Goal.Timeout, other),
			"--timeout gives it more time, and 0 waits forever; "+
				"the Lease of a runner that was killed is free when its --lease-duration is over")
	}
	return err
}

// identity names this process as kube-controller-manager names itself, with the process id added.
func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "kubectl-reconcile"
	}
	return fmt.Sprintf("%s_%d_%s", host, os.Getpid(), uuid.NewUUID())
}

// watch ends the run by fail when the Lease is lost, or when kube-controller-manager is started: from then on nothing
// is written, whatever the controllers are in the middle of. It returns at once; end stops it.
func (w *writer) watch(ctx context.Context, fail func(error)) {
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.watched = make(chan struct{})
	started := make(chan error, 1)
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		if w.beside {
			return
		}
		if err := w.awaitManager(ctx); err != nil {
			w.held.Invalidate(err)
			started <- err
		}
	}()
	go func() {
		defer close(w.watched)
		defer func() { <-polled }()
		defer w.cancel()
		select {
		case <-w.held.Lost():
			fail(fmt.Errorf("%w: the controllers were stopped", w.held.Err()))
		case err := <-started:
			fail(fmt.Errorf("%w; the controllers were stopped", err))
		case <-ctx.Done():
		}
	}()
}

// awaitManager waits until kube-controller-manager has taken its Lease, or until that cannot be found out any more, and
// returns that as an error; nil when ctx ends.
func (w *writer) awaitManager(ctx context.Context) error {
	holder, err := lease.WaitForNewHolder(ctx, w.leases, lease.DefaultNamespace, lease.ManagerName, w.manager,
		lease.NewHolderOptions{PollInterval: managerPollInterval, Deadline: w.deadline()})
	switch {
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("it is not known any more whether kube-controller-manager runs: %w", err)
	case holder != nil:
		return managerStarted(holder)
	}
	return nil
}

// deadline is for how long renewing the Lease may fail, or reading that of kube-controller-manager.
func (w *writer) deadline() time.Duration { return w.duration / 3 * 2 }

// end releases the Lease, when the controllers have ended. It does nothing if there is none.
func (w *writer) end(ctx context.Context) error {
	if w == nil || w.held == nil {
		return nil
	}
	if w.cancel != nil {
		w.cancel()
		<-w.watched
	}
	return w.held.Release(context.WithoutCancel(ctx))
}

// errNotConfirmed is that the question whether to write was not answered by yes.
var errNotConfirmed = errors.New("not confirmed: nothing was written")

// confirm asks a question on a terminal, and returns an error unless the answer is yes.
func confirm(ctx context.Context, streams genericiooptions.IOStreams, question string) error {
	if !render.IsTerminal(streams.In) {
		return cli.WithHint(errors.New("--write asks before it writes, and there is no terminal to ask on"),
			"--yes answers the question beforehand")
	}
	fmt.Fprint(streams.ErrOut, question)
	answer, err := readLine(ctx, streams.In)
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errNotConfirmed
}

// question says what is about to happen, to which cluster and as which user. It is safe for a terminal.
func (c *clusterTarget) question(user string) string {
	var text strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&text, "  %-12s %s\n", name, render.Escape(value))
		}
	}
	text.WriteString("--write: the controllers will change this cluster\n")
	line("context", c.connection.Context)
	line("server", c.connection.Config.Host)
	line("user", user)
	line("controllers", strings.Join(session.ShortNames(c.options.Controllers), ", "))
	if !c.scope.IsWhole() {
		line("part", scopeFlags(c.scope))
	}
	text.WriteString("write to it? [y/N] ")
	return text.String()
}

// readLine reads a line, or returns an error when ctx ends before.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		line string
		err  error
	}
	read := make(chan answer, 1) // buffered: a read that hangs ends with the process
	go func() {
		line, err := bufio.NewReader(in).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil // no answer is one
		}
		read <- answer{line, err}
	}()
	select {
	case a := <-read:
		return a.line, a.err
	case <-ctx.Done():
		return "", cli.Interruption(ctx, "before it was confirmed: nothing was written")
	}
}
