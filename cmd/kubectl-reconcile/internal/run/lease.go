package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/lease"
)

// writing is what a run that writes has beside one that does not.
type writing struct {
	force, yes      bool
	shard           shard
	namespace, name string // of the Lease
	duration        time.Duration

	leases  coordinationv1client.LeasesGetter
	manager *lease.Holder // that the Lease of kube-controller-manager names, and who is gone; nil for no one
	beside  bool          // kube-controller-manager may run: whether it comes is not watched
	held    *lease.Lock
	watched chan struct{} // closed when nothing is watched any more
	cancel  context.CancelFunc
}

// begin makes this run the only one that writes. It returns when it is. In a dry run it does nothing.
func (w *writing) begin(ctx context.Context, a *admission, o *Options, out *outputs) error {
	if w == nil {
		return nil
	}
	// A request that hangs must not take all the time that there is for renewing.
	config := rest.CopyConfig(a.run.connection.Config)
	config.Timeout, config.RateLimiter, config.QPS = lease.DefaultDeadline/2, nil, -1
	var err error
	if w.leases, err = coordinationv1client.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client of the cluster: %w", err)
	}
	if err := w.alone(ctx, a, o, out); err != nil {
		return err
	}
	looked := o.Clock.Now()
	if err := a.confirm(ctx, o); err != nil {
		return err
	}
	if err := w.hold(ctx, o, out); err != nil {
		return err
	}
	err = w.onlyWriter(ctx, out)
	if err == nil && o.Clock.Since(looked) > staleLook {
		err = w.stillAlone(ctx, a, out)
	}
	if err != nil {
		return errors.Join(err, w.end(ctx))
	}
	out.note("write: the controllers change the cluster; the Lease %s/%s keeps others from doing so", w.namespace, w.name)
	a.run.options.Config.Wrap(w.held.Fence)
	w.watch(ctx, out.fail)
	return nil
}

// managerLook is how often kube-controller-manager's Lease is read to see whether it renews it, which it does every 2 seconds, or
// has taken it.
const managerLook = 250 * time.Millisecond

// staleLook is how long after it was looked for kube-controller-manager that is done once more: it may have come while a question
// was open, or while another runner wrote.
const staleLook = time.Second

// besideForced is the end of a hint that names the flag.
const besideForced = "; --force writes beside it all the same"

// alone refuses to write beside kube-controller-manager.
func (w *writing) alone(ctx context.Context, a *admission, o *Options, out *outputs) error {
	first, exists, err := lease.HolderOf(ctx, w.leases, lease.DefaultNamespace, lease.ManagerName)
	if err != nil && !w.force {
		return cli.WithHint(fmt.Errorf("asking whether kube-controller-manager runs: %w", err), "--force writes without knowing")
	}
	place := lease.DefaultNamespace + "/" + lease.ManagerName
	switch {
	case err != nil:
		w.beside = true
		out.warn("it is not known whether kube-controller-manager runs: " + cli.OneLine(err.Error()) + "; if it does, both write, and undo each other's work")
		return nil
	case first != nil && w.force:
		w.beside = true
		out.warn(fmt.Sprintf("kube-controller-manager (%s) holds its Lease: if it runs, both write, and undo each other's work", first.Identity))
		return nil
	case first != nil:
		if err := w.gone(ctx, first, o, out); err != nil {
			return err
		}
	case exists:
		out.warn("the Lease " + place + " has no holder: a kube-controller-manager that runs without leader election does not show there")
	case !w.force:
		return cli.WithHint(errors.New("it is not known whether kube-controller-manager runs on this cluster: it has no Lease "+place),
			"one that runs without leader election has none: if none runs, --force writes")
	}
	return w.unseen(ctx, a, out)
}

// gone returns an error unless the holder of kube-controller-manager's Lease renews it no more.
func (w *writing) gone(ctx context.Context, first *lease.Holder, o *Options, out *outputs) error {
	renewed := "which does not say when it was renewed"
	if !first.Renewed.IsZero() {
		renewed = "renewed " + o.Clock.Now().Sub(first.Renewed).Round(time.Second).String() + " ago"
	}
	out.tell(fmt.Sprintf("kube-controller-manager: %s holds its Lease, %s; watching for %s whether it is renewed",
		first.Identity, renewed, first.Duration))
	live, err := lease.WaitForRenewal(ctx, w.leases, lease.DefaultNamespace, lease.ManagerName, first, managerLook)
	if err != nil {
		return err
	}
	if live == nil {
		w.manager = first
		return nil
	}
	return cli.WithHint(fmt.Errorf("kube-controller-manager runs on this cluster: %s renews its Lease %s/%s", live.Identity, lease.DefaultNamespace, lease.ManagerName),
		"stop it first: two would undo each other's work"+besideForced)
}

// stillAlone returns an error if kube-controller-manager has come since alone returned.
func (w *writing) stillAlone(ctx context.Context, a *admission, out *outputs) error {
	if w.beside {
		return nil
	}
	now, _, err := lease.HolderOf(ctx, w.leases, lease.DefaultNamespace, lease.ManagerName)
	switch {
	case err != nil:
		return fmt.Errorf("asking whether kube-controller-manager has come: %w", err)
	case now.NewerThan(w.manager):
		return managerCame(now)
	}
	return w.unseen(ctx, a, out)
}

// managerCame is the error that kube-controller-manager is back.
func managerCame(holder *lease.Holder) error {
	return fmt.Errorf("kube-controller-manager has come: %s has taken its Lease", holder.Identity)
}

// unseen returns an error if there are signs of a kube-controller-manager that has no Lease, or only a warning with --force. What
// could not be looked at is a warning too.
func (w *writing) unseen(ctx context.Context, a *admission, out *outputs) error {
	signs, err := lease.ManagerActivity(ctx, a.run.connection.Config, w.namespace, w.manager)
	if err != nil && ctx.Err() == nil {
		out.warn("looking for a kube-controller-manager without a Lease: " + cli.OneLine(err.Error()))
	}
	if len(signs) == 0 {
		return ctx.Err()
	}
	text := "kube-controller-manager seems to run on this cluster: " + signText(signs[0])
	if more := len(signs) - 1; more > 0 {
		text += fmt.Sprintf(", and %s", cli.Plural(more, "other sign"))
	}
	if w.force {
		out.warn(text + "; if it does, both write, and undo each other's work")
		return nil
	}
	return cli.WithHint(errors.New(text), "stop it first, and wait a minute: two would undo each other's work"+besideForced)
}

// signText says what kube-controller-manager has left.
func signText(s lease.Activity) string {
	name := s.Resource.String() + " " + s.Namespace + "/" + s.Name
	if s.Written.IsZero() {
		return "it runs in " + name
	}
	return fmt.Sprintf("it wrote %s at %s", name, s.Written.UTC().Format(time.RFC3339))
}

// onlyWriter refuses to write beside a runner whose part of the cluster overlaps this one's, which has its own Lease by now.
func (w *writing) onlyWriter(ctx context.Context, out *outputs) error {
	if w.force {
		return nil
	}
	others, err := lease.OverlappingRunners(ctx, w.leases, w.namespace, w.shard.number, w.shard.of, func(held []lease.Runner) {
		var names []string
		longest := time.Duration(0)
		for _, s := range held {
			names, longest = append(names, s.Lease), max(longest, s.Duration)
		}
		out.tell(fmt.Sprintf("other runners hold %s %s: watching for up to %s whether they are renewed",
			cli.PluralOf(len(names), "the Lease", "the Leases"), cli.Enumerate(names), longest))
	}, managerLook)
	switch {
	case err != nil:
		return cli.WithHint(fmt.Errorf("asking which other runners write: %w", err), "--force writes without knowing")
	case len(others) == 0:
		return nil
	}
	return cli.WithHint(fmt.Errorf("%s writes to objects that are this runner's too: it holds the Lease %s/%s", others[0].Identity, w.namespace, others[0].Lease),
		"run either shards of one number or a single runner; --force writes beside it all the same")
}

// limitStart bounds a wait before the start by --timeout, if that bounds the run.
func (o *Options) limitStart(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.Until.Goal != untilSettled || o.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, o.timeout)
}

// hold waits for the Lease, and says so: also when quiet, and for no longer than the run may wait for its goal.
func (w *writing) hold(ctx context.Context, o *Options, out *outputs) error {
	limited, cancel := o.limitStart(ctx)
	defer cancel()
	var other string
	held, err := lease.Acquire(limited, lease.Options{
		Client: w.leases, Namespace: w.namespace, Name: w.name, Identity: identity(),
		Duration: w.duration, Deadline: w.deadline(),
		OnWaiting: func(holder string) {
			other = holder
			out.tell(fmt.Sprintf("waiting: %s holds the Lease %s/%s, and writes", holder, w.namespace, w.name))
		},
		OnError: func(err error) {
			if err != nil && apierrors.ReasonForError(err) != "" { // the monitor tells of a server that does not answer
				out.warn(fmt.Sprintf("the Lease %s/%s cannot be renewed: %v", w.namespace, w.name, err))
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
		return cli.WithHint(fmt.Errorf("the Lease %s/%s was not free within --timeout %s: %s holds it; nothing was written", w.namespace, w.name, o.timeout, other),
			"--timeout gives it more time, and 0 waits forever; the Lease of a runner that was killed is free when its --lease-duration is over")
	}
	return err
}

// identity names this process as kube-controller-manager names itself, and by its number, for who wants to end it.
func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "kubectl-reconcile"
	}
	return fmt.Sprintf("%s_%d_%s", host, os.Getpid(), uuid.NewUUID())
}

// watch ends the run when the Lease is lost, or when kube-controller-manager comes back: from then on nothing is written, whatever
// the controllers are in the middle of.
func (w *writing) watch(ctx context.Context, fail context.CancelCauseFunc) {
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.watched = make(chan struct{})
	come := make(chan error, 1)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		if w.beside {
			return
		}
		if err := w.managerComes(ctx); err != nil {
			w.held.Invalidate(err)
			come <- err
		}
	}()
	go func() {
		defer close(w.watched)
		defer func() { <-looked }()
		defer w.cancel()
		select {
		case <-w.held.Lost():
			fail(fmt.Errorf("%w: the controllers were stopped", w.held.Err()))
		case err := <-come:
			fail(fmt.Errorf("%w; the controllers were stopped", err))
		case <-ctx.Done():
		}
	}()
}

// managerComes waits until kube-controller-manager has taken its Lease, or until that cannot be known any more, and returns that as
// an error; nil when ctx ends.
func (w *writing) managerComes(ctx context.Context) error {
	holder, err := lease.WaitForNewHolder(ctx, w.leases, lease.DefaultNamespace, lease.ManagerName, w.manager,
		lease.NewHolderOptions{PollInterval: managerLook, Deadline: w.deadline()})
	switch {
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("it is not known any more whether kube-controller-manager has come: %w", err)
	case holder != nil:
		return managerCame(holder)
	}
	return nil
}

// deadline is for how long the Lease may not be renewed, nor kube-controller-manager's be read.
func (w *writing) deadline() time.Duration { return w.duration / 3 * 2 }

// end gives the Lease back, when the controllers have ended. It does nothing if there is none.
func (w *writing) end(ctx context.Context) error {
	if w == nil || w.held == nil {
		return nil
	}
	if w.cancel != nil {
		w.cancel()
		<-w.watched
	}
	return w.held.Release(context.WithoutCancel(ctx))
}
