package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// display shows trees as they change. Its methods are not called concurrently.
type display interface {
	// show shows what was read in the place of what was shown before; nil if nothing of what was asked for exists any
	// more.
	show(r *reading) error
	// tick is called every render.RefreshInterval.
	tick() error
	io.Closer
}

// follow shows the trees, and then how they change, until ctx ends. It calls ends before it shows anything.
func follow(ctx context.Context, q *query, ends func()) (err error) {
	var out display = &changeLines{options: q.options}
	if render.IsTerminal(q.options.streams.Out) {
		out = &redrawn{options: q.options, screen: render.NewScreen(q.options.streams.Out)}
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := &follower{query: q, readEnds: ends, out: out}
	var ticking sync.WaitGroup
	ticking.Go(func() {
		if err := f.ticks(ctx); err != nil {
			cancel(err)
		}
	})
	changed := func(g *ownertree.Graph, touched ownertree.Touched) error { return f.changed(ctx, g, touched) }
	err = ownertree.Watch(ctx, q.cluster.Reader, q.cluster.Kinds, q.scope(), changed)
	cancel(nil)
	ticking.Wait()
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

// follower reads a tree again after each change.
type follower struct {
	query    *query
	readEnds func()

	mu  sync.Mutex // guards what follows
	out display
	// shown reports whether anything was shown yet; last is what, nil if nothing of it existed.
	shown bool
	last  *reading
}

// changed reads what has changed, and shows the tree.
func (f *follower) changed(ctx context.Context, g *ownertree.Graph, touched ownertree.Touched) error {
	f.mu.Lock()
	shown := f.shown
	var before *previous
	if shown {
		before = &previous{touched: touched}
		if f.last != nil {
			last := *f.last // tick may replace its findings meanwhile
			before.reading = &last
		}
	}
	f.mu.Unlock()
	r, err := read(ctx, f.query, find(ctx, f.query, g), before)
	switch {
	case ctx.Err() != nil:
		return nil
	case r == nil && !shown:
		return err
	}
	// If r is nil, all that was asked for has gone; it may be created again.
	f.readEnds()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shown, f.last = true, r
	return f.out.show(r)
}

func (f *follower) ticks(ctx context.Context) error {
	ticker := f.query.options.clock.NewTicker(render.RefreshInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
		if err := f.tick(ctx); err != nil {
			return err
		}
	}
}

// tick looks for findings again where there may be others, and draws.
func (f *follower) tick(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.last; r != nil && r.found != nil && r.found.Searched && r.findingsOld(f.query.options.clock.Now()) {
		if r.findAgain(ctx, f.query) != nil {
			return nil // ctx has ended
		}
		if err := f.out.show(r); err != nil {
			return err
		}
	}
	return f.out.tick()
}

// redrawn shows trees on a terminal, each over the one before.
type redrawn struct {
	options *Options
	screen  *render.Screen
	// shown reports whether show was called; last is what with.
	shown bool
	last  *reading
}

func (d *redrawn) show(r *reading) error {
	d.shown, d.last = true, r
	var text strings.Builder
	if r == nil {
		fmt.Fprintln(&text, "no object that was asked for exists any more")
	} else if err := d.options.draw(&text, rollUp(r, d.options.clock.Now()), d.screen.Width()); err != nil {
		return err
	}
	return d.screen.Show(text.String())
}

func (d *redrawn) tick() error {
	if !d.shown {
		return nil
	}
	return d.show(d.last)
}

func (d *redrawn) Close() error { return d.screen.Close() }
