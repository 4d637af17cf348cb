package tree

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// display shows trees as they change.
type display interface {
	// show shows a tree, added up, in the place of the one before.
	show(*tree, []*limb) error
	// tick is called every render.RefreshInterval.
	tick() error
	io.Closer
}

// follow shows the tree, and then how it changes, until ctx ends.
func (r *treeReader) follow(ctx context.Context) (err error) {
	var out display = &changeLines{}
	if render.IsTerminal(r.streams.Out) {
		out = &redrawn{screen: render.NewScreen(r.streams.Out)}
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &treeWatch{treeReader: r, out: out}
	var ticking sync.WaitGroup
	ticking.Go(func() {
		if err := w.ticks(ctx); err != nil {
			cancel(err)
		}
	})
	err = ownertree.Watch(ctx, r.Reader, r.Kinds, r.scope(), func(g *ownertree.Graph, touched ownertree.Touched) error {
		return w.changed(ctx, g, touched)
	})
	cancel(nil)
	ticking.Wait()
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

// treeWatch is a tree that is followed.
type treeWatch struct {
	*treeReader

	mu   sync.Mutex // guards out, last and its findings
	out  display
	last *tree
}

// changed reads what has changed, and shows the tree if that is in it.
func (w *treeWatch) changed(ctx context.Context, g *ownertree.Graph, touched ownertree.Touched) error {
	known := &knownFacts{touched: touched}
	w.mu.Lock()
	first := w.last == nil
	if !first {
		known.facts, known.found = w.last.read, w.last.found
	}
	w.mu.Unlock()
	t, err := w.layOut(ctx, g, known)
	switch {
	case ctx.Err() != nil:
		return nil
	case t == nil && first:
		return err
	case t == nil: // all that was asked for has gone, and may come again
		t = &tree{treeReader: w.treeReader, graph: g, facts: factsByUID{}, read: factsByUID{}, gone: true}
	}
	w.readEnds()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = t
	return w.out.show(t, t.limbs())
}

// knownFacts are those of the tree before, which hold for all objects but those touched since, and its findings.
type knownFacts struct {
	facts   factsByUID
	touched ownertree.Touched
	found   *allFindings
}

// lastFindings are those of the tree before; nil if there are none.
func (k *knownFacts) lastFindings() *allFindings {
	if k == nil {
		return nil
	}
	return k.found
}

// of returns nil for an object that must be read.
func (k *knownFacts) of(n *ownertree.Node) *objectFacts {
	if k == nil || k.touched(n) {
		return nil
	}
	return k.facts[n.UID]
}

func (w *treeWatch) ticks(ctx context.Context) error {
	ticker := w.clock.NewTicker(render.RefreshInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
		if err := w.tick(ctx); err != nil {
			return err
		}
	}
}

// tick looks for findings again where there may be others, and draws.
func (w *treeWatch) tick(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.last; t != nil && t.found != nil && t.found.open && t.found.old(w.clock.Now()) {
		if t.explain(ctx) != nil {
			return nil // ctx has ended
		}
		if err := w.out.show(t, t.limbs()); err != nil {
			return err
		}
	}
	return w.out.tick()
}

// redrawn shows trees in one place of a terminal.
type redrawn struct {
	screen *render.Screen
	last   *tree
}

func (d *redrawn) show(t *tree, _ []*limb) error {
	d.last = t
	t.width = d.screen.Width()
	var text strings.Builder
	if err := t.draw(&text); err != nil {
		return err
	}
	return d.screen.Show(text.String())
}

func (d *redrawn) tick() error {
	if d.last == nil {
		return nil
	}
	return d.show(d.last, nil)
}

func (d *redrawn) Close() error { return d.screen.Close() }
