package why

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/watchloop"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
)

// lookAgain is how often the object is read again though nothing in its scope has changed: Events come without a change
// of an object, and what it uses may be elsewhere.
const lookAgain = 3 * time.Second

// errTimeout is the cause of the context when --timeout has passed.
var errTimeout = errors.New("the time of --timeout has passed")

// errEnded ends the watch: the object has converged, or is gone.
var errEnded = errors.New("converged")

// follow shows why the object has not converged, again when that changes, until it has converged. It calls ends
// before it shows anything.
func (q *query) follow(ctx context.Context, ends func()) (err error) {
	watched, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	if q.options.timeout > 0 {
		timer := q.options.clock.NewTimer(q.options.timeout)
		defer timer.Stop()
		running.Go(func() {
			select {
			case <-timer.C():
				cancel(errTimeout)
			case <-watched.Done():
			}
		})
	}
	f := &follower{query: q, ends: ends, tried: trier{query: q}}
	if render.IsTerminal(q.options.streams.Out) && q.options.output == "" {
		f.screen = render.NewScreen(q.options.streams.Out)
		defer func() { err = errors.Join(f.screen.Close(), err) }()
	}
	changes := func(ctx context.Context, changed func(*ownertree.Graph) error) error {
		return ownertree.Watch(ctx, q.cluster.Reader, q.cluster.Kinds, q.scope(),
			func(g *ownertree.Graph, _ ownertree.Touched) error { return changed(g) })
	}
	err = watchloop.Run(watched, q.options.clock, lookAgain, changes, f)
	switch {
	case errors.Is(err, errEnded):
		return nil
	case err != nil:
		return err
	case errors.Is(context.Cause(watched), errTimeout):
		return f.timedOut()
	}
	return cli.Interruption(ctx, fmt.Sprintf("before %s/%s has converged", q.target.Kind, q.target.Name))
}

// follower reads the object again after each change.
type follower struct {
	query  *query
	ends   func()
	screen *render.Screen // nil unless stdout is a terminal

	// graph is the last one; nil before the first.
	graph *ownertree.Graph
	// listed reports whether the object was in a list. One that never is, such as a Node, is read by itself: version is
	// that of what the graph has.
	listed  bool
	version string
	tried   trier
	last    *view // nil before the first
	// warned is what was said of a read that failed; empty since one has not.
	warned string
	shown  shownLines
}

// Tick looks again though nothing in the scope has changed.
func (f *follower) Tick(ctx context.Context) error {
	if f.last == nil {
		return nil // the lists have not been read
	}
	return f.Changed(ctx, nil)
}

// Changed reads the object and shows it. The graph is nil if nothing in the scope has changed. It returns errEnded when
// the object has converged, or does not exist any more, and an error when it may not be read.
func (f *follower) Changed(ctx context.Context, changed *ownertree.Graph) error {
	q := f.query
	s, err := f.read(ctx, changed)
	f.ends()
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // the error is that ctx has ended
	case apierrors.IsNotFound(err) && f.last != nil:
		return f.gone()
	case f.last == nil && err != nil, apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return q.explain(ctx, err)
	case err != nil:
		return f.warn(q.explain(ctx, err))
	}
	now := q.options.clock.Now()
	tried, err := f.tried.complete(ctx, s, now)
	if err != nil {
		return nil //nolint:nilerr // ctx has ended
	}
	f.last = newView(q, s, tried, now)
	if err := f.show(); err != nil {
		return err
	}
	if f.last.diagnosis.Converged {
		return errEnded
	}
	return nil
}

// read reads the object and what is around it. Errors are the server's for the object.
func (f *follower) read(ctx context.Context, changed *ownertree.Graph) (*diagnosis.Situation, error) {
	q := f.query
	if changed != nil {
		f.graph, f.listed = changed, f.listed || q.find(changed) != nil
	}
	n := q.find(f.graph)
	metadata, err := q.metadata(ctx)
	switch {
	case apierrors.IsForbidden(err) && f.listed && n != nil: // it may be listed and watched all the same
		return q.around(ctx, f.graph, n)
	case apierrors.IsForbidden(err) && f.listed:
		return nil, apierrors.NewNotFound(q.target.Kind.GroupResource(), q.target.Name)
	case err != nil:
		return nil, err
	case changed == nil && (q.scope().Nothing || !f.listed && metadata.ResourceVersion != f.version):
		graph, err := ownertree.Collect(ctx, q.cluster.Reader, q.cluster.Kinds, q.scope())
		if err != nil {
			return nil, err
		}
		f.graph, n = graph, q.find(graph)
	}
	if f.version = metadata.ResourceVersion; n == nil {
		n = f.graph.Add(q.target.Kind, metadata)
	}
	return q.around(ctx, f.graph, n)
}

// timedOut returns the error of a wait that has lasted too long, with the likeliest cause.
func (f *follower) timedOut() error {
	q, because := f.query, ""
	object := q.target.Kind.String() + "/" + q.target.Name
	switch {
	case f.last == nil:
		return cli.WithHint(fmt.Errorf("%s could not be read within %s", object, q.options.timeout),
			"--timeout gives the API server longer")
	case len(f.last.diagnosis.Causes) > 0:
		because = ": " + f.last.sentence(f.last.diagnosis.Causes[0])
	}
	return fmt.Errorf("%s has not converged within %s%s", object, q.options.timeout, because)
}

// shownLines is what was written last where stdout is no terminal, without times.
type shownLines struct{ causes, trials, incomplete []string }

// show writes what has changed: on a terminal all of it, else a line for each, or one of JSON.
func (f *follower) show() error {
	o, v := f.query.options, f.last
	if f.screen != nil {
		f.warned = ""
		return f.draw()
	}
	if f.warned != "" {
		f.warned = ""
		fmt.Fprintln(o.streams.ErrOut, "the API server answers again")
	}
	before := f.shown
	f.shown = shownLines{
		causes: []string{v.diagnosis.Status + " " + v.diagnosis.Facts.Reason},
		trials: v.trialLines(), incomplete: connect.DescribeIncomplete(v.incomplete),
	}
	for _, c := range v.diagnosis.Causes {
		f.shown.causes = append(f.shown.causes, v.sentence(c))
	}
	var lines []string
	if !slices.Equal(before.causes, f.shown.causes) {
		line := v.headline()
		if len(v.diagnosis.Causes) > 0 {
			c := v.diagnosis.Causes[0]
			line += "; cause (" + certaintyText(c.Certainty) + "): " + v.sentence(c)
		}
		lines = append(lines, line)
	}
	if !slices.Equal(before.trials, f.shown.trials) {
		lines = append(lines, f.shown.trials...)
	}
	lines = append(lines, connect.IncompleteChanges(before.incomplete, f.shown.incomplete)...)
	if o.output == "json" && len(lines) > 0 {
		text, err := json.Marshal(v.document())
		if err != nil {
			return fmt.Errorf("writing as JSON: %w", err)
		}
		_, err = fmt.Fprintf(o.streams.Out, "%s\n", cli.EscapeControls(text))
		return err
	}
	for _, line := range lines {
		if err := f.line(line); err != nil {
			return err
		}
	}
	return nil
}

// draw shows the last view on the terminal, with what was said of a read that failed since.
func (f *follower) draw() error {
	var text strings.Builder
	if err := f.query.options.draw(&text, f.last, f.screen.Width()); err != nil {
		return err
	}
	if f.warned != "" {
		fmt.Fprintln(&text, render.Wrap(f.warned, f.screen.Width(), "  "))
	}
	return f.screen.Show(text.String())
}

// warn reports, once until a read succeeds, that the object cannot be read for the time being.
func (f *follower) warn(err error) error {
	if f.warned != "" {
		return nil
	}
	f.warned = "warning: " + connect.FirstError(err) + "; retrying"
	if f.screen != nil {
		return f.draw()
	}
	fmt.Fprintln(f.query.options.streams.ErrOut, f.warned)
	return nil
}

// gone reports that the object does not exist any more, and returns errEnded.
func (f *follower) gone() error {
	text := f.query.target.Kind.Kind + " " + f.query.target.Name + " does not exist any more"
	var err error
	switch {
	case f.screen != nil:
		err = f.screen.Show(text + "\n")
	case f.query.options.output != "json":
		err = f.line(text)
	}
	if err != nil {
		return err
	}
	return errEnded
}

func (f *follower) line(text string) error {
	o := f.query.options
	_, err := fmt.Fprintf(o.streams.Out, "%s  %s\n", o.clock.Now().Format(time.TimeOnly), cli.OneLine(text))
	return err
}
