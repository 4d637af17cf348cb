package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Run runs the session to its end. However that ends, the summary of what was traced is shown, unless it did not start.
func (o *Options) Run(ctx context.Context) error {
	if err := cli.SetUpKlog(o.Detail); err != nil {
		return err
	}
	manifests, broken := o.readManifests(ctx)
	if broken != nil && len(manifests) == 0 {
		return broken
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	out, err := o.openOutputs(fail)
	if err != nil {
		return err
	}
	// Controllers that wait for a slow output to take their trace would hold up the end.
	late, done := outliving(ctx)
	defer done()
	context.AfterFunc(late, out.cut)
	runErr := o.runSession(ctx, out, manifests)
	return errors.Join(broken, runErr, out.close())
}

// readManifests reads the manifests, which may take as long as somebody types or a server takes to answer.
func (o *Options) readManifests(ctx context.Context) ([]runlocal.Manifest, error) {
	if o.read == nil {
		return nil, nil
	}
	type answer struct {
		manifests []runlocal.Manifest
		err       error
	}
	read := make(chan answer, 1) // buffered: a read that hangs ends with the process
	go func() {
		manifests, err := o.read()
		read <- answer{manifests, err}
	}()
	select {
	case a := <-read:
		return a.manifests, a.err
	case <-ctx.Done():
		return nil, cli.Interruption(ctx, "while the files were read")
	}
}

func (o *Options) runSession(ctx context.Context, out *outputs, manifests []runlocal.Manifest) error {
	if o.cluster != nil {
		o.cluster.watch(out)
	}
	if err := o.Telemetry.open(ctx, o, out); err != nil {
		return errors.Join(err, o.Telemetry.close(ctx), out.flush(ctx))
	}
	recorder := trace.NewRecorder(o.Clock, out.sinks...)
	session, err := o.start(ctx, out, recorder)
	if err != nil {
		return errors.Join(err, o.endOnCluster(ctx), o.Telemetry.close(ctx), out.flush(ctx))
	}
	o.Telemetry.started(session, o.controllers())
	result, err := o.use(ctx, session, out, manifests)
	o.Telemetry.stopping()
	stopErr := errors.Join(o.stop(ctx, session, out), o.endOnCluster(ctx), o.Telemetry.close(ctx))
	result.ended(o.Clock.Since(result.began))
	result.controllers = out.summary.Controllers()
	result.failing, result.unknown = out.troubles.Failing(), out.troubles.Unverified()
	return errors.Join(err, stopErr, out.finish(ctx, o, result), result.failure(o), notCollecting(session, result), o.unverifiedWrites(result.unknown))
}

// endOnCluster lets others write, when the controllers have ended, and tells the last of their rights.
func (o *Options) endOnCluster(ctx context.Context) error {
	if o.cluster == nil {
		return nil
	}
	o.cluster.rights.end()
	return o.cluster.write.end(ctx)
}

// start starts the session, and says what it is.
func (o *Options) start(ctx context.Context, out *outputs, recorder *trace.Recorder) (*runlocal.Session, error) {
	if o.cluster != nil {
		return o.cluster.start(ctx, o, out, recorder)
	}
	defer o.progress.Show(ctx, cli.Constant("starting the sandbox"))()
	began := o.Clock.Now()
	o.Session.Recorder, o.Session.Collector = recorder, out.collector()
	session, err := startSession(ctx, "the sandbox was starting", func(ctx context.Context) (*runlocal.Session, error) {
		return runlocal.Start(ctx, o.Session)
	})
	if err != nil {
		return nil, withStartHints(err)
	}
	out.note("sandbox: %s; ready in %.2fs", o.describe(session), o.Clock.Since(began).Seconds())
	if o.Serve == nil {
		out.noteEach(unattended(o.controllers()))
	}
	return session, nil
}

// controllers are those that run.
func (o *Options) controllers() []controllers.Controller {
	if o.cluster != nil {
		return o.cluster.options.Controllers
	}
	return o.Session.Controllers
}

// use applies the objects, waits for what is to be waited for, and looks at what came of it.
func (o *Options) use(ctx context.Context, session *runlocal.Session, out *outputs, manifests []runlocal.Manifest) (result, error) {
	end := func() error { return nil }
	if o.Serve != nil {
		var err error
		if end, err = o.Serve(ctx, session); err != nil {
			return result{outcome: broken, began: o.Clock.Now(), unused: true}, errors.Join(err, end())
		}
	}
	if o.starting() != "" {
		settleBriefly(ctx, session) // what follows is of the objects
	}
	began := o.Clock.Now()
	out.startAt(began)
	applied, applyErr := o.apply(ctx, session, out, manifests)
	applyErr = withoutCutOff(ctx, applyErr)
	if len(applied) == 0 && applyErr != nil {
		return result{outcome: broken, began: began, unused: true}, errors.Join(applyErr, end())
	}
	shown := o.waiting(ctx, session, applied)
	r := o.wait(ctx, session, applied)
	shown()
	r.began, r.elapsed = began, o.Clock.Since(began)
	collectErr := o.collect(ctx, session, applied, out.made.Resources(), &r)
	return r, errors.Join(applyErr, collectErr, end())
}

// startSession starts a session that an interrupt ends only while it starts: afterwards its final state is still read.
func startSession(
	ctx context.Context, when string, start func(context.Context) (*runlocal.Session, error),
) (*runlocal.Session, error) {
	kept, cancel := context.WithCancel(context.WithoutCancel(ctx))
	started := context.AfterFunc(ctx, cancel)
	session, err := start(kept)
	if started() {
		return session, err
	}
	// What was cut off says no more than that it was.
	interrupt := cli.Interruption(ctx, "while "+when)
	if err == nil {
		return nil, errors.Join(interrupt, session.Stop())
	}
	return nil, interrupt
}

// apply creates the objects, in a namespace that is made for them if need be, and says so.
func (o *Options) apply(ctx context.Context, session *runlocal.Session, out *outputs, manifests []runlocal.Manifest) ([]runlocal.Applied, error) {
	if o.cluster != nil {
		return nil, nil
	}
	if err := session.EnsureNamespace(ctx, o.Namespace); err != nil {
		return nil, err
	}
	shown := o.progress.Show(ctx, cli.Constant("applying %s", cli.Plural(len(manifests), "object")))
	applied, err := session.Apply(ctx, o.Namespace, manifests)
	shown()
	for _, a := range applied {
		out.note("applied: %s", a)
	}
	for _, quota := range session.Unenforced(applied) {
		out.warn(fmt.Sprintf("%s limits nothing: admission goes by the status of a quota, which the resourcequota controller sets; "+
			"add resourcequota to --controller", quota))
	}
	return applied, withManifestHints(err)
}

// withoutCutOff leaves out the errors of what the end of ctx cut off: they say no more than what ended it does.
func withoutCutOff(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return errors.Join(slices.DeleteFunc(cli.Flatten(err), func(e error) bool {
		return errors.Is(e, context.Canceled) || errors.Is(e, context.Cause(ctx))
	})...)
}
