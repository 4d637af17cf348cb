package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/heap"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

const runExample = `  # Run Kubernetes' own Deployment and ReplicaSet controllers on a manifest, without a cluster
  %[1]s run --controller deployment,replicaset --sandbox -f web.yaml

  # The same, with everything the controllers log and read
  %[1]s run --controller deployment,replicaset --sandbox -f web.yaml -v

  # Every controller, a kustomization, until nothing is left to do
  %[1]s run --controller '*' --sandbox -k ./overlay --until settled

  # The trace as JSON, one event a line
  %[1]s run --controller replicaset --sandbox -f rs.yaml -o json | jq 'select(.type == "request")'`

// runFlags are the flags of `run`.
type runFlags struct {
	sessionFlags
	sandbox   bool
	manifests *manifestFlags
	namespace string
	until     until
	timeout   time.Duration
	events    bool
	quiet     bool
	output    string
}

func newRunCommand(streams genericiooptions.IOStreams) *cobra.Command {
	f := &runFlags{manifests: newManifestFlags("files, directories or URLs with the objects to create; - is stdin")}
	cmd := &cobra.Command{
		Use:   "run --controller NAMES --sandbox [-f FILE]",
		Short: "Run Kubernetes' own controllers, and show why each reconcile happened",
		Long: `Run Kubernetes' own controllers in this process, and show every reconcile: the watch events that led to it, what the
controller decided, what it wrote, and how it ended.

With --sandbox they run against an API server inside this process, with simulated nodes; no cluster is needed and none
is touched. The objects of -f or -k are created in it first. The run ends when they are ready, or as --until says.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.toOptions(streams)
			if err != nil {
				return err
			}
			heap.Grow(heap.Running)
			return o.run(cmd.Context())
		},
	}
	cmd.Example = fmt.Sprintf(runExample, "kubectl reconcile")
	f.addTo(cmd)
	return cmd
}

func (f *runFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.sessionFlags.addTo(cmd, "")
	flags.BoolVar(&f.sandbox, "sandbox", false, "run against an API server inside this process")
	f.manifests.addTo(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of the objects that name none; created if it is not there")
	flags.Var(&f.until, "until", "when to end: settled (nothing left to do), ready (all objects of -f are), or after a duration; "+
		"by default ready with -f or -k, else when interrupted")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "give up waiting for --until settled or ready after this time; 0 waits forever")
	flags.BoolVar(&f.events, "events", false, "show the Events that controllers record")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show the summary only")
	flags.StringVarP(&f.output, "output", "o", "", "output format: json writes the trace, one event a line")
	completeWords(cmd, "until", "settled", "ready")
	completeWords(cmd, "output", "json")
}

// runOptions are what `run` needs to run.
type runOptions struct {
	session runlocal.Options
	// read reads the manifests: those that can be, and an error for the others. Nil if there are none.
	read      func() ([]runlocal.Manifest, error)
	namespace string
	until     until
	timeout   time.Duration
	events    bool
	detail    render.Detail
	quiet     bool
	json      bool
	traceFile string

	// serve makes the session known to others as soon as it is ready; what it returns is called at the end. Nil if nobody
	// else uses it.
	serve func(context.Context, *runlocal.Session) (end func() error, err error)

	streams genericiooptions.IOStreams
	palette render.Palette
	clock   clock.Clock
}

func (f *runFlags) toOptions(streams genericiooptions.IOStreams) (*runOptions, error) {
	if err := f.validate(); err != nil {
		return nil, err
	}
	session, err := f.sessionOptions()
	if err != nil {
		return nil, err
	}
	session.Warnings = newWarnings(streams.ErrOut)
	o := &runOptions{
		session: session, read: func() ([]runlocal.Manifest, error) { return f.manifests.read(streams.In) }, namespace: f.namespace,
		until: f.until.or(f.manifests.given()), timeout: f.timeout, events: f.events,
		detail: f.detail(), quiet: f.quiet, json: f.output == "json", traceFile: f.traceFile,
		streams: streams, palette: render.NewPalette(streams.Out, f.color, os.Getenv), clock: clock.RealClock{},
	}
	if f.quiet {
		o.detail = render.Quiet
	}
	return o, nil
}

func (f *runFlags) validate() error {
	switch {
	case !f.sandbox:
		return withHint(errors.New("run needs --sandbox: this version does not run controllers against a cluster"),
			"add --sandbox to run them against an API server inside this process")
	case f.controllers == "":
		return withHint(errors.New("run needs --controller, the controllers to run"), "for example --controller deployment,replicaset, or --controller '*' for all")
	case f.output != "" && f.output != "json":
		return withHint(unknownError("output format", f.output), "json is known; without -o the output is for people")
	case f.timeout < 0:
		return fmt.Errorf("--timeout %s is negative", f.timeout)
	case f.until.goal == untilReady && !f.manifests.given():
		return errors.New("--until ready needs objects to wait for: give them with -f or -k")
	case f.quiet && f.verbosity > 0:
		return errors.New("-q and -v exclude each other")
	}
	return f.sessionFlags.validate()
}

// run runs the session to its end. However that ends, the summary of what was traced is shown, unless it did not start.
func (o *runOptions) run(ctx context.Context) error {
	if err := tameKlog(o.detail); err != nil {
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
func (o *runOptions) readManifests(ctx context.Context) ([]runlocal.Manifest, error) {
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
		return nil, errors.New("interrupted while the files were read")
	}
}

func (o *runOptions) runSession(ctx context.Context, out *outputs, manifests []runlocal.Manifest) error {
	began := o.clock.Now()
	o.session.Recorder = trace.NewRecorder(o.clock, out.sinks...)
	session, err := startSession(ctx, o.session)
	if err != nil {
		return errors.Join(withStartHints(err), out.flush(ctx))
	}
	out.note("sandbox: %s; ready in %.2fs", o.describe(session), o.clock.Since(began).Seconds())
	result, err := o.use(ctx, session, out, manifests)
	stopErr := session.Stop()
	result.controllers = out.summary.Controllers()
	return errors.Join(err, stopErr, out.finish(ctx, o, result), result.failure(o))
}

// use applies the objects, waits for what is to be waited for, and looks at what came of it.
func (o *runOptions) use(ctx context.Context, session *runlocal.Session, out *outputs, manifests []runlocal.Manifest) (result, error) {
	end := func() error { return nil }
	if o.serve != nil {
		var err error
		if end, err = o.serve(ctx, session); err != nil {
			return result{outcome: broken}, errors.Join(err, end())
		}
	}
	began := o.clock.Now()
	out.startAt(began)
	applied, applyErr := o.apply(ctx, session, out, manifests)
	applyErr = withoutCutOff(ctx, applyErr)
	if len(applied) == 0 && applyErr != nil {
		return result{outcome: broken, elapsed: o.clock.Since(began)}, errors.Join(applyErr, end())
	}
	r := o.wait(ctx, session, applied)
	r.elapsed = o.clock.Since(began)
	collectErr := o.collect(ctx, session, applied, out.made.list(), &r)
	return r, errors.Join(applyErr, collectErr, end())
}

// startSession starts a session that an interrupt ends only while it starts: afterwards its final state is still read.
func startSession(ctx context.Context, o runlocal.Options) (*runlocal.Session, error) {
	kept, cancel := context.WithCancel(context.WithoutCancel(ctx))
	started := context.AfterFunc(ctx, cancel)
	session, err := runlocal.Start(kept, o)
	if started() {
		return session, err
	}
	// What was cut off says no more than that it was.
	interrupt := errors.New("interrupted while the sandbox was starting")
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		interrupt = cause
	}
	if err == nil {
		return nil, errors.Join(interrupt, session.Stop())
	}
	return nil, interrupt
}

// apply creates the objects, in a namespace that is made for them if need be, and says so.
func (o *runOptions) apply(ctx context.Context, session *runlocal.Session, out *outputs, manifests []runlocal.Manifest) ([]runlocal.Applied, error) {
	if err := session.EnsureNamespace(ctx, o.namespace); err != nil {
		return nil, err
	}
	applied, err := session.Apply(ctx, o.namespace, manifests)
	for _, a := range applied {
		out.note("applied: %s", a)
	}
	return applied, withManifestHints(err)
}

// withoutCutOff leaves out the errors of what the end of ctx cut off: they say no more than what ended it does.
func withoutCutOff(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return errors.Join(slices.DeleteFunc(flatten(err), func(e error) bool {
		return errors.Is(e, context.Canceled) || errors.Is(e, context.Cause(ctx))
	})...)
}
