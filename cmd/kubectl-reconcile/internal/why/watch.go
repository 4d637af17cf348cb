package why

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
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
	defer cancel(nil)
	if q.options.timeout > 0 {
		timer := q.options.clock.NewTimer(q.options.timeout)
		defer timer.Stop()
		go func() {
			select {
			case <-timer.C():
				cancel(errTimeout)
			case <-watched.Done():
			}
		}()
	}
	f := &follower{query: q, ends: ends, cancel: cancel, tried: trier{query: q}}
	if render.IsTerminal(q.options.streams.Out) && q.options.output == "" {
		f.screen = render.NewScreen(q.options.streams.Out)
		defer func() { err = errors.Join(f.screen.Close(), err) }()
	}
	var ticking sync.WaitGroup
	ticking.Go(func() { f.ticks(watched) })
	err = ownertree.Watch(watched, q.cluster.Reader, q.cluster.Kinds, q.scope(),
		func(g *ownertree.Graph, _ ownertree.Touched) error { return f.look(watched, g) })
	cancel(nil)
	ticking.Wait()
	cause := context.Cause(watched)
	switch {
	case err != nil && !errors.Is(err, errEnded):
		return err
	case errors.Is(err, errEnded), errors.Is(cause, errEnded):
		return nil
	case errors.Is(cause, errTimeout):
		return fmt.Errorf("%s/%s has not converged within %s%s",
			q.target.Kind, q.target.Name, q.options.timeout, f.because())
	case ctx.Err() != nil:
		return cli.Interruption(ctx, fmt.Sprintf("before %s/%s has converged", q.target.Kind, q.target.Name))
	}
	return cause
}

// follower reads the object again after each change.
type follower struct {
	query  *query
	ends   func()
	cancel context.CancelCauseFunc
	screen *render.Screen // nil unless stdout is a terminal

	mu sync.Mutex // guards what follows
	// graph is the last one; nil before the first.
	graph *ownertree.Graph
	tried trier
	// shown is what was shown last, without its times.
	shown string
	last  *view
}

// look reads the object as it is in the graph and shows it. It returns errEnded when the object has converged.
func (f *follower) look(ctx context.Context, g *ownertree.Graph) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.graph == nil
	f.graph = g
	q := f.query
	s, err := q.situation(ctx, g)
	f.ends()
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil && first:
		return err
	case err != nil && f.last != nil && g.Find(q.target.Kind, q.target.Namespace, q.target.Name) == nil:
		return errors.Join(f.gone(), errEnded)
	case err != nil:
		return nil // the server does not answer for the time being
	}
	now := q.options.clock.Now()
	tried, err := f.tried.complete(ctx, s, now)
	if err != nil {
		return nil // ctx has ended
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

// ticks looks again every lookAgain.
func (f *follower) ticks(ctx context.Context) {
	ticker := f.query.options.clock.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		f.mu.Lock()
		g := f.graph
		f.mu.Unlock()
		if g == nil {
			continue
		}
		if f.query.scope().Nothing {
			fresh, err := ownertree.Collect(ctx, f.query.cluster.Reader, f.query.cluster.Kinds, f.query.scope())
			if err != nil {
				continue
			}
			g = fresh
		}
		if err := f.look(ctx, g); err != nil {
			f.cancel(err)
			return
		}
	}
}

// because is the likeliest cause, for an error; empty if there is none.
func (f *follower) because() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil || len(f.last.diagnosis.Causes) == 0 {
		return ""
	}
	return ": " + f.last.sentence(f.last.diagnosis.Causes[0])
}

// show writes what has changed: on a terminal all of it, else one line, and one of JSON.
func (f *follower) show() error {
	o, v := f.query.options, f.last
	if f.screen != nil {
		var text strings.Builder
		if err := o.draw(&text, v, f.screen.Width()); err != nil {
			return err
		}
		return f.screen.Show(text.String())
	}
	lines := []string{v.diagnosis.Status + " " + v.diagnosis.Facts.Reason}
	for _, c := range v.diagnosis.Causes {
		lines = append(lines, v.sentence(c))
	}
	known := strings.Join(lines, "\n")
	if known == f.shown {
		return nil
	}
	f.shown = known
	if o.output == "json" {
		text, err := json.Marshal(v.document())
		if err != nil {
			return fmt.Errorf("writing as JSON: %w", err)
		}
		_, err = fmt.Fprintf(o.streams.Out, "%s\n", cli.EscapeControls(text))
		return err
	}
	line := v.headline()
	if len(v.diagnosis.Causes) > 0 {
		line += "; cause (" + certaintyText(v.diagnosis.Causes[0].Certainty) + "): " + v.sentence(v.diagnosis.Causes[0])
	}
	return f.line(line)
}

// gone tells that the object does not exist any more.
func (f *follower) gone() error {
	text := f.query.target.Kind.Kind + " " + f.query.target.Name + " does not exist any more"
	switch {
	case f.screen != nil:
		return f.screen.Show(text + "\n")
	case f.query.options.output == "json":
		return nil
	}
	return f.line(text)
}

func (f *follower) line(text string) error {
	o := f.query.options
	_, err := fmt.Fprintf(o.streams.Out, "%s  %s\n", o.clock.Now().Format(time.TimeOnly), cli.OneLine(text))
	return err
}
