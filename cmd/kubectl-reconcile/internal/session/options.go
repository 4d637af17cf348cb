package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/telemetry"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// Options are what Run needs. All but Target, Goal, Streams and Clock may be left zero.
type Options struct {
	// Target is where the controllers run.
	Target Target
	// Writes is what becomes of the controllers' writes.
	Writes WriteMode
	// SimulatedNodes is how many nodes the sandbox has.
	SimulatedNodes int

	// ReadManifests reads the objects to apply: those that can be read, and an error for the others. It is nil if there
	// are none.
	ReadManifests func() ([]runlocal.Manifest, error)
	// Namespace is that of objects that name none. It is created in the sandbox if it does not exist.
	Namespace string
	// Goal is what the session runs until.
	Goal runlocal.Goal
	// Serve makes the session known to other programs as soon as it runs and all objects are applied: with it, an
	// object that cannot be is the end of the session. end is called when the session ends, also after an error. It is
	// nil if no other program uses the session.
	Serve func(ctx context.Context, s *runlocal.Session) (end func() error, err error)

	// Feed lets things happen that the controllers see, before the goal is waited for; nil if nothing is to. Its error
	// ends the session.
	Feed func(ctx context.Context, s *runlocal.Session) error

	// Detail is how much is shown, Events whether that includes the Events that controllers record.
	Detail render.Detail
	Events bool
	// Blocks shows each reconcile that wrote in the place of the story of the run; so do Events, any Detail above
	// Normal, and dry runs, in which nothing follows from a write.
	Blocks bool
	// WatchFields are the paths of fields whose changes are shown in the place of the story, of blocks and of Events.
	WatchFields []string
	// Narrow is the part of the run that is shown, by the story, blocks or changes of fields.
	Narrow Narrowing
	// Findings are what counts as a finding, and which findings are an error.
	Findings Findings
	// Quiet shows the summary only, JSON prints the trace and the summary as NDJSON.
	Quiet, JSON bool
	// Graph shows how the controllers interacted, in the place of the story; what else there is to say goes to stderr.
	Graph GraphFormat
	// TraceFile is the path of a file that gets the trace too; empty for none.
	TraceFile string
	// Record is a recording to write; nil for none.
	Record *Recording
	// Telemetry is served while the session runs; nil serves nothing.
	Telemetry *Telemetry

	Streams  genericiooptions.IOStreams
	Progress *render.Progress // on a terminal, beside Streams; nil shows none
	Palette  render.Palette
	Clock    clock.Clock
}

// Target is where controllers run: in the sandbox, or on a cluster. Sinks, Start and Close are called in this order,
// once each; Close also if Start has failed. Checks may be called concurrently with all others, once Sinks has
// returned.
type Target interface {
	// Controllers returns the controllers that run, or are to: Start may leave some out.
	Controllers() []controllers.Controller
	// Sinks returns sinks that the trace needs beside those of Outputs. What they report goes to out.
	Sinks(out *Outputs) []trace.Sink
	// Start starts the session and writes to out what it consists of.
	Start(ctx context.Context, o *Options, out *Outputs, recorder *trace.Recorder) (*runlocal.Session, error)
	// Checks returns what must be well for the session to be ready, beside the session and its controllers.
	Checks() []telemetry.Check
	// Close releases what Start took, when the controllers have ended.
	Close(ctx context.Context) error
}

// WriteMode is what becomes of the writes of controllers.
type WriteMode int

// The modes of writing.
const (
	// WriteSandbox is that they change a sandbox, which does not outlive the session.
	WriteSandbox WriteMode = iota
	// WriteCluster is that they change a cluster.
	WriteCluster
	// DryRunServer is that a cluster's API server processes them without storing the result.
	DryRunServer
	// DryRunClient is that they are not sent.
	DryRunClient
)

// IsDryRun reports whether nothing is written.
func (m WriteMode) IsDryRun() bool { return m == DryRunServer || m == DryRunClient }

// What is still done after an interrupt is bounded.
const (
	// finalReadGrace is how long the final state of the objects may take to read. The API may be slow: a busy machine
	// needs seconds for a few hundred objects in the sandbox.
	finalReadGrace = 3 * time.Second
	// outputGrace is how long an output may take to accept what is left: the last events, and then the summary. A
	// reader that has stopped, such as a pager, must not keep the process alive.
	outputGrace = time.Second
	// stopNoticeDelay is how long the controllers may take to stop before a line about it is written.
	stopNoticeDelay = 500 * time.Millisecond
)

// extended returns a context that ends by grace after ctx, or when it is cancelled.
func extended(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	extended, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		select {
		case <-extended.Done():
		case <-time.After(grace):
			cancel()
		}
	})
	return extended, cancel
}

// onCluster reports whether the controllers run on a cluster.
func (o *Options) onCluster() bool { return o.Writes != WriteSandbox }

// MaxControllerNames is how many controllers are named in a line; more are counted, unless Detail is Verbose.
const MaxControllerNames = 6

// ControllersText names the controllers, or counts them if they are many.
func (o *Options) ControllersText(of []controllers.Controller) string {
	if len(of) > MaxControllerNames && o.Detail < render.Verbose {
		return fmt.Sprintf("%d controllers", len(of))
	}
	return "controllers " + strings.Join(ShortNames(of), ", ")
}

// ShortNames returns the controllers' names in the trace.
func ShortNames(of []controllers.Controller) []string {
	var names []string
	for _, c := range of {
		names = append(names, c.Short)
	}
	return names
}

// goalText is the goal as the user gave it.
func goalText(g runlocal.Goal) string {
	if g.Type == runlocal.GoalElapsed {
		return g.After.String()
	}
	return string(g.Type)
}
