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

// statusFollower shows changes. It is used by one goroutine.
type statusFollower struct {
	reader     *statusReader
	options    *Options // the reader's
	items      map[string]statusItem
	failures   map[string]failure
	screen     *render.Screen    // nil: changes are appended
	shown      map[string]string // by key, the row as it was last appended
	table      *render.Table     // of what is appended, and how
	rowOptions render.StatusOptions
	picture    render.LiveStatusTable // on the screen
	judged     time.Time              // when judgeBackends has last read; zero if it must
}

// coalesce is how long changes are gathered before a screen is drawn again.
const coalesce = 100 * time.Millisecond

// follow shows everything, and then what changes, until ctx ends, which is no error. It calls begun before it shows
// anything.
func (r *statusReader) follow(ctx context.Context, targets []connect.Target, begun func()) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	changes := make(chan statusChange)
	for _, t := range targets {
		running.Go(func() { r.followTarget(ctx, t, changes) })
	}
	f := newStatusFollower(r)
	if err := f.begin(ctx, targets, changes); err != nil || ctx.Err() != nil {
		return err
	}
	begun()
	if f.screen == nil {
		return f.appendChanges(ctx, changes)
	}
	defer func() { err = errors.Join(err, f.screen.Close()) }()
	return f.redraw(ctx, changes)
}

// followTarget sends what happens to the objects of a target, until ctx ends.
func (r *statusReader) followTarget(ctx context.Context, t connect.Target, changes chan<- statusChange) {
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
		select {
		case changes <- statusChange{target: t, event: c.Event, items: c.Objects, failure: c.Err}:
		case <-ctx.Done():
		}
	})
}

func newStatusFollower(r *statusReader) *statusFollower {
	f := &statusFollower{
		reader: r, options: r.options,
		items: map[string]statusItem{}, failures: map[string]failure{}, shown: map[string]string{},
	}
	if r.options.width > 0 && r.options.output != "json" && r.options.output != "name" {
		f.screen = render.NewScreen(r.options.streams.Out)
	}
	return f
}

// begin waits until all targets are watched, or cannot be, so that the first picture is of all. That none can be read
// is an error.
func (f *statusFollower) begin(ctx context.Context, targets []connect.Target, changes <-chan statusChange) error {
	reported, read := map[string]bool{}, false
	for len(reported) < len(targets) {
		select {
		case c := <-changes:
			if c.event == watch.Bookmark || c.failure != nil {
				reported[targetKey(c.target)] = true
			}
			read = read || c.failure == nil || len(c.items) > 0
			f.take(c)
		case <-ctx.Done():
			return nil
		}
	}
	if !read && len(targets) > 0 {
		return f.reader.explainFailures(ctx, slices.Collect(maps.Values(f.failures)))
	}
	return nil
}

// redraw shows what there is on the screen, again and again as it changes.
func (f *statusFollower) redraw(ctx context.Context, changes <-chan statusChange) error {
	ticker := f.options.clock.NewTicker(render.RefreshInterval)
	defer ticker.Stop()
	for {
		f.judgeBackends(ctx)
		if err := f.draw(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		case c := <-changes:
			f.take(c)
			f.gather(ctx, changes)
		}
	}
}

// gather takes the changes of a short time.
func (f *statusFollower) gather(ctx context.Context, changes <-chan statusChange) {
	timer := f.options.clock.NewTimer(coalesce)
	defer timer.Stop()
	for {
		select {
		case c := <-changes:
			f.take(c)
		case <-timer.C():
			return
		case <-ctx.Done():
			return
		}
	}
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
func (f *statusFollower) draw() error {
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
