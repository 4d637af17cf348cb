package main

import (
	"context"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/lease"
)

// writing is what a run that writes has beside one that does not.
type writing struct {
	force, yes      bool
	namespace, name string // of the Lease
	duration        time.Duration

	leases  coordinationv1client.LeasesGetter
	manager *lease.Holder // that the Lease of kube-controller-manager names, dead or alive
	held    *lease.Held
	watched chan struct{} // closed when nothing is watched any more
	cancel  context.CancelFunc
}

// begin makes this run the only one that writes. It returns when it is. In a dry run it does nothing.
func (w *writing) begin(ctx context.Context, a *admission, o *runOptions, out *outputs) error {
	if w == nil {
		return nil
	}
	// A request that hangs must not take all the time that there is for renewing.
	config := rest.CopyConfig(a.run.connection.config)
	config.Timeout, config.RateLimiter, config.QPS = lease.DefaultDeadline/2, nil, -1
	var err error
	if w.leases, err = coordinationv1client.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client of the cluster: %w", err)
	}
	if err := w.alone(ctx, o, out); err != nil {
		return err
	}
	if err := a.confirm(ctx, o); err != nil {
		return err
	}
	if err := w.hold(ctx, o, out); err != nil {
		return err
	}
	out.note("write: the controllers change the cluster; the Lease %s/%s keeps others from doing so", w.namespace, w.name)
	a.run.options.Config.Wrap(w.held.Fence)
	w.watch(ctx, out.fail)
	return nil
}

// managerLook is how often it is looked whether kube-controller-manager renews its Lease, which it does every 2 seconds.
const managerLook = 250 * time.Millisecond

// alone refuses to write beside kube-controller-manager.
func (w *writing) alone(ctx context.Context, o *runOptions, out *outputs) error {
	first, err := lease.HolderOf(ctx, w.leases, lease.DefaultNamespace, lease.ManagerName)
	switch {
	case err != nil && w.force:
		return nil // whoever forces it does not care
	case err != nil:
		return withHint(fmt.Errorf("asking whether kube-controller-manager runs: %w", err), "--force writes without knowing")
	case first == nil:
		out.note("kube-controller-manager: nobody holds its Lease; one that runs without leader election cannot be seen")
		return nil
	}
	if w.force {
		out.warn(fmt.Sprintf("kube-controller-manager (%s) holds its Lease: if it runs, both write, and undo each other's work", first.Identity))
		return nil
	}
	renewed := "which does not say when it was renewed"
	if !first.Renewed.IsZero() {
		renewed = "renewed " + o.clock.Now().Sub(first.Renewed).Round(time.Second).String() + " ago"
	}
	out.tell(fmt.Sprintf("kube-controller-manager: %s holds its Lease, %s; watching for %s whether it is renewed",
		first.Identity, renewed, lease.Watched(first)))
	live, err := lease.Live(ctx, w.leases, lease.DefaultNamespace, lease.ManagerName, first, managerLook)
	if err != nil {
		return err
	}
	if live == nil {
		w.manager = first
		return nil
	}
	return withHint(fmt.Errorf("kube-controller-manager runs on this cluster: %s renews its Lease %s/%s", live.Identity, lease.DefaultNamespace, lease.ManagerName),
		"stop it first: two would undo each other's work; --force writes beside it all the same")
}

// limitStart bounds a wait before the start by --timeout, if that bounds the run.
func (o *runOptions) limitStart(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.until.goal != untilSettled || o.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, o.timeout)
}

// hold waits for the Lease, and says so: also when quiet, and for no longer than the run may wait for its goal.
func (w *writing) hold(ctx context.Context, o *runOptions, out *outputs) error {
	limited, cancel := o.limitStart(ctx)
	defer cancel()
	var other string
	held, err := lease.Acquire(limited, lease.Options{
		Client: w.leases, Namespace: w.namespace, Name: w.name, Identity: identity(),
		Duration: w.duration, Deadline: w.duration / 3 * 2,
		Waiting: func(holder string) {
			other = holder
			out.tell(fmt.Sprintf("waiting: %s holds the Lease %s/%s, and writes", holder, w.namespace, w.name))
		},
		Trouble: func(err error) {
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
		return interruption(ctx, "before the Lease was free: nothing was written")
	case limited.Err() != nil && other != "":
		return withHint(fmt.Errorf("the Lease %s/%s was not free within --timeout %s: %s holds it; nothing was written", w.namespace, w.name, o.timeout, other),
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

// watch ends the run when the Lease is lost, or when kube-controller-manager comes back.
func (w *writing) watch(ctx context.Context, fail context.CancelCauseFunc) {
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.watched = make(chan struct{})
	taken := make(chan *lease.Holder, 1)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		if w.force {
			return
		}
		if holder, err := lease.Taken(ctx, w.leases, lease.DefaultNamespace, lease.ManagerName, w.manager, 0); err == nil {
			taken <- holder
		}
	}()
	go func() {
		defer close(w.watched)
		defer func() { <-looked }()
		defer w.cancel()
		select {
		case <-w.held.Lost():
			fail(fmt.Errorf("%w: the controllers were stopped", w.held.Err()))
		case holder := <-taken:
			fail(fmt.Errorf("kube-controller-manager has come: %s has taken its Lease; the controllers were stopped", holder.Identity))
		case <-ctx.Done():
		}
	}()
}

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
