package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/watchloop"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
)

// statusChange is what a watch reports: everything of a target, or one object.
type statusChange struct {
	target connect.Target
	// event is Added, Modified or Deleted; Bookmark if the target is watched; empty if items are all that there are.
	event   watch.EventType
	items   []statusItem
	failure error // the target cannot be read for the time being
}

// statusFollower shows changes: see watchloop.View.
type statusFollower struct {
	reader  *statusReader
	options *Options // the reader's
	begins  func()   // is called before anything is shown
	// waiting are the keys of the targets that must be watched, or known not to be, before anything is shown, so that
	// the first picture is of all. read reports whether any of them could be read, begun whether it has been shown.
	waiting     map[string]bool
	read, begun bool

	items      map[string]statusItem
	failures   map[string]failure
	screen     *render.Screen    // nil: changes are appended
	drawn      time.Time         // when the screen was last drawn; zero if it must be
	shown      map[string]string // by key, the row as it was last appended
	failing    []string          // lines about what could not be read when they were last written
	table      *render.Table     // of what is appended, and how
	rowOptions render.StatusOptions
	picture    render.LiveStatusTable // on the screen
	judged     time.Time              // when judgeBackends has last read; zero if it must
}

// coalesce is how long changes are gathered at most before a screen is drawn again.
const coalesce = 100 * time.Millisecond

// follow shows everything, and then what changes, until ctx ends, which is no error. It calls begins before it shows
// anything.
func (r *statusReader) follow(ctx context.Context, targets []connect.Target, begins func()) (err error) {
	f := newStatusFollower(r, targets, begins)
	interval := render.RefreshInterval
	if f.screen != nil {
		interval = coalesce
		defer func() { err = errors.Join(err, f.screen.Close()) }()
	}
	changes := func(ctx context.Context, changed func(statusChange) error) error {
		var running sync.WaitGroup
		for _, t := range targets {
			running.Go(func() { r.followTarget(ctx, t, changed) })
		}
		running.Wait()
		return nil
	}
	return watchloop.Run(ctx, r.options.clock, interval, changes, f)
}

// followTarget reports what happens to the objects of a target, until ctx ends.
func (r *statusReader) followTarget(ctx context.Context, t connect.Target, changed func(statusChange) error) {
	selection := cluster.ObjectSelection{
		Target: t.Target, Whole: r.whole(),
		Labels: r.options.targets.Labels, Fields: t.FieldSelector(r.options.targets.Fields),
	}
	cluster.FollowObjects(ctx, r.cluster.Reader, selection, r.item, func(c cluster.Change[statusItem]) {
		for i := range c.Objects {
			c.Objects[i].source = targetKey(t)
		}
		if c.Event == "" {
			r.dateDrift(ctx, c.Objects)
		}
		_ = changed(statusChange{target: t, event: c.Event, items: c.Objects, failure: c.Err}) // an error ends ctx
	})
}

func newStatusFollower(r *statusReader, targets []connect.Target, begins func()) *statusFollower {
	f := &statusFollower{
		reader: r, options: r.options, begins: begins, waiting: map[string]bool{}, read: len(targets) == 0,
		items: map[string]statusItem{}, failures: map[string]failure{}, shown: map[string]string{},
	}
	for _, t := range targets {
		f.waiting[targetKey(t)] = true
	}
	if r.options.width > 0 && r.options.output != "json" && r.options.output != "name" {
		f.screen = render.NewScreen(r.options.streams.Out)
	}
	return f
}

// Changed takes a change. What is appended is written at once; a screen is drawn by the next Tick.
func (f *statusFollower) Changed(ctx context.Context, c statusChange) error {
	changed, event := f.take(c)
	f.drawn = time.Time{}
	if c.event == watch.Bookmark || c.failure != nil {
		delete(f.waiting, targetKey(c.target))
	}
	f.read = f.read || c.failure == nil || len(c.items) > 0
	switch {
	case !f.begun:
		return f.begin(ctx)
	case f.screen != nil:
		return nil
	}
	return f.appendChanges(changed, event)
}

// Tick shows what has changed with time.
func (f *statusFollower) Tick(ctx context.Context) error {
	switch {
	case !f.begun:
		return f.begin(ctx)
	case f.screen == nil:
		return f.appendAged(ctx)
	case f.options.clock.Since(f.drawn) < render.RefreshInterval:
		return nil
	}
	return f.draw(ctx)
}

// begin shows everything, unless a target is waited for. That none can be read is an error.
func (f *statusFollower) begin(ctx context.Context) error {
	if len(f.waiting) > 0 {
		return nil
	}
	if !f.read {
		return f.reader.explainFailures(ctx, slices.Collect(maps.Values(f.failures)))
	}
	f.begun = true
	f.begins()
	if f.screen != nil {
		return f.draw(ctx)
	}
	return f.appendAll(ctx)
}

// list is all that is to be shown.
func (f *statusFollower) list() *statusList {
	f.age()
	incomplete := f.reader.incomplete(slices.Collect(maps.Values(f.failures)))
	list := newStatusList(slices.Collect(maps.Values(f.items)), incomplete)
	f.options.choose(list)
	return list
}

// age finds what has become of objects by time alone, and returns those.
func (f *statusFollower) age() []statusItem {
	var aged []statusItem
	for key, item := range f.items {
		if item.Later != nil {
			if item.setReport(item.At(f.options.clock.Now())); item.Later == nil {
				f.items[key] = item
				aged = append(aged, item)
			}
		}
	}
	sortStatus(aged)
	return aged
}

// draw draws the screen again.
func (f *statusFollower) draw(ctx context.Context) error {
	f.judgeBackends(ctx)
	f.drawn = f.options.clock.Now()
	f.options.width = f.screen.Width()
	list := f.list()
	var text strings.Builder
	if err := f.drawTable(&text, list); err != nil {
		return err
	}
	if len(list.items) == 0 {
		fmt.Fprintf(&text, "nothing to show of %s\n", cli.Plural(len(f.items), "object"))
	}
	for _, line := range f.options.notes(list, list.incomplete, f.options.palette) {
		fmt.Fprintln(&text, render.Wrap(line, f.options.width, "  "))
	}
	return f.screen.Show(text.String())
}

func (f *statusFollower) drawTable(w io.Writer, list *statusList) error {
	if f.options.conditions {
		return f.options.printTable(w, list)
	}
	return f.picture.Write(w, f.options.rows(list.items), f.options.tableOptions(list.items))
}

// take changes what there is, and returns the objects that are new or changed, or those that were deleted.
func (f *statusFollower) take(c statusChange) ([]statusItem, watch.EventType) {
	targetKey := targetKey(c.target)
	if c.failure != nil {
		f.failures[targetKey] = failure{c.target, c.failure, len(c.items) > 0}
	} else if c.event == "" || !f.failures[targetKey].partial {
		delete(f.failures, targetKey)
	}
	switch {
	case c.event == watch.Bookmark, c.failure != nil && len(c.items) == 0:
		return nil, ""
	case c.event != "":
		return f.takeOne(c)
	}
	there := map[string]bool{}
	for i := range c.items {
		there[c.items[i].key()] = true
		f.keep(&c.items[i])
	}
	for key, item := range f.items {
		if item.source == targetKey && !there[key] {
			delete(f.items, key)
		}
	}
	return c.items, watch.Added
}

func (f *statusFollower) takeOne(c statusChange) ([]statusItem, watch.EventType) {
	item := c.items[0]
	old, known := f.items[item.key()]
	if known && old.Object.UID == item.Object.UID && snapshot.IsNewer(old.version, item.version) {
		return nil, "" // the list was newer
	}
	if c.event == watch.Deleted {
		if known && old.Object.UID != item.Object.UID {
			return nil, ""
		}
		delete(f.items, item.key())
		return c.items, watch.Deleted
	}
	f.keep(&c.items[0])
	return c.items, c.event
}

func (i *statusItem) key() string {
	return i.kind.GroupResource().String() + " " + i.Object.Namespace + "/" + i.Object.Name
}

func targetKey(t connect.Target) string {
	return t.Kind.GVR().String() + " " + t.Namespace + "/" + t.Name
}
