package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/watchloop"
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
	changes := func(ctx context.Context, changed func(change) error) error {
		return ownertree.Watch(ctx, q.cluster.Reader, q.cluster.Kinds, q.scope(),
			func(g *ownertree.Graph, touched ownertree.Touched) error { return changed(change{g, touched}) })
	}
	f := &follower{query: q, readEnds: ends, out: out}
	err = watchloop.Run(ctx, q.options.clock, render.RefreshInterval, changes, f)
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

// change is what ownertree.Watch reports.
type change struct {
	graph   *ownertree.Graph
	touched ownertree.Touched
}

// follower reads a tree again after each change.
type follower struct {
	query    *query
	readEnds func()
	out      display
	// shown reports whether anything was shown yet; last is what, nil if nothing of it existed.
	shown bool
	last  *reading
}

// Changed reads what has changed, and shows the tree.
func (f *follower) Changed(ctx context.Context, c change) error {
	var before *previous
	if f.shown {
		before = &previous{reading: f.last, touched: c.touched}
	}
	r, err := read(ctx, f.query, find(ctx, f.query, c.graph), before)
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // the error is that ctx has ended
	case r == nil && !f.shown:
		return err
	}
	// If r is nil, all that was asked for has gone; it may be created again.
	f.readEnds()
	f.shown, f.last = true, r
	return f.out.show(r)
}

// Tick looks for findings again where there may be others, and draws.
func (f *follower) Tick(ctx context.Context) error {
	if r := f.last; r != nil && r.found != nil && r.found.Searched && r.findingsOld(f.query.options.clock.Now()) {
		if r.findAgain(ctx, f.query) != nil {
			return nil //nolint:nilerr // ctx has ended
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
