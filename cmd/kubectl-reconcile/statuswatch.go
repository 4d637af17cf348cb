package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// statusChange is what a watch tells: everything of a target afresh, or one object.
type statusChange struct {
	target  target
	event   watch.EventType // Added, Modified or Deleted; empty: items are all that there are
	items   []statusItem
	failure error // the target cannot be read for the time being
}

// statusFollower shows changes. It is used by one goroutine.
type statusFollower struct {
	*statusReader
	items    map[string]statusItem
	failures map[string]failure
	shown    map[string]string // by key, the row as it was last appended
	table    *render.Listing
	screen   *render.Screen // nil: changes are appended
	options  render.StatusOptions
}

// coalesce is how long changes are gathered before a screen is drawn again.
const coalesce = 100 * time.Millisecond

// refresh is how often ages on a screen are counted on.
const refresh = 10 * time.Second

// follow shows everything, and then what changes, until ctx ends, which is no error.
func (r *statusReader) follow(ctx context.Context, targets []target) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	changes := make(chan statusChange)
	watcher, err := newStatusWatcher(r, changes)
	if err != nil {
		return err
	}
	for _, t := range targets {
		running.Go(func() { watcher.watch(ctx, t) })
	}
	f := &statusFollower{
		statusReader: r, items: map[string]statusItem{}, failures: map[string]failure{}, shown: map[string]string{},
		options: r.tableOptions(nil),
	}
	f.table = render.NewStatusListing(f.options)
	if r.width > 0 && r.output != "json" && r.output != "name" {
		f.screen = render.NewScreen(r.streams.Out)
	}
	// The first picture is of all targets.
	for range targets {
		select {
		case c := <-changes:
			f.take(c)
		case <-ctx.Done():
			return nil
		}
	}
	if len(f.failures) == len(targets) && len(targets) > 0 {
		return r.explainFailures(ctx, slices.Collect(maps.Values(f.failures)))
	}
	return f.run(ctx, changes)
}

// run shows what there is, then what changes.
func (f *statusFollower) run(ctx context.Context, changes <-chan statusChange) error {
	if f.screen == nil {
		return f.appendChanges(ctx, changes)
	}
	ticker := f.clock.NewTicker(refresh)
	defer ticker.Stop()
	for {
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
	timer := f.clock.NewTimer(coalesce)
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
	return newStatusList(f.filter(slices.Collect(maps.Values(f.items))), f.incomplete(slices.Collect(maps.Values(f.failures))))
}

// draw draws the screen again.
func (f *statusFollower) draw() error {
	list := f.list()
	var text bytes.Buffer
	var err error
	options := f.listing()
	if options.Width = render.TerminalWidth(f.streams.Out); f.conditions {
		err = render.Conditions(&text, f.rows(list.Items), options)
	} else {
		err = render.StatusTable(&text, f.rows(list.Items), render.StatusOptions{
			ListingOptions: options, Namespaces: f.severalNamespaces(list.Items), Wide: f.output == "wide",
		})
	}
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		fmt.Fprintf(&text, "nothing to show of %s\n", plural(len(f.items), "object"))
	}
	for _, line := range describeIncomplete(list.Incomplete) {
		fmt.Fprintln(&text, render.Wrap(oneLine(line), options.Width, "  "))
	}
	return f.screen.Draw(strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n"))
}

// appendChanges writes a row for each object, and then one for each change that shows.
func (f *statusFollower) appendChanges(ctx context.Context, changes <-chan statusChange) error {
	list := f.list()
	f.options = f.tableOptions(list.Items)
	f.table = render.NewStatusListing(f.options)
	for i := range list.Items {
		f.shown[list.Items[i].key()] = f.look(&list.Items[i])
	}
	if err := f.appendItems(list.Items, watch.Added); err != nil {
		return err
	}
	f.printIncomplete(list.Incomplete)
	f.printOdd(list.Items)
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-changes:
			before := maps.Clone(f.failures)
			changed, event := f.take(c)
			for i := range changed {
				if err := f.appendChange(changed[i], event); err != nil {
					return err
				}
			}
			if len(before) != len(f.failures) {
				f.printIncomplete(f.incomplete(slices.Collect(maps.Values(f.failures))))
			}
		}
	}
}

// appendChange writes a row if it says something else than the last of the object: also a last one when it is no longer
// among those that were asked for.
func (f *statusFollower) appendChange(item statusItem, event watch.EventType) error {
	key := item.key()
	before, known := f.shown[key]
	if event == watch.Deleted {
		delete(f.shown, key)
		if !known {
			return nil
		}
		return f.appendItems([]statusItem{item}, event)
	}
	look := f.look(&item)
	if !f.selects(&item) {
		delete(f.shown, key)
	} else {
		f.shown[key] = look
	}
	if before == look || !known && !f.selects(&item) {
		return nil
	}
	if known {
		event = watch.Modified
	}
	return f.appendItems([]statusItem{item}, event)
}

// look is what a row shows, but for how long.
func (f *statusFollower) look(item *statusItem) string {
	row := f.rows([]statusItem{*item})[0]
	row.Since, row.Created = nil, time.Time{}
	return fmt.Sprint(render.StatusCells([]render.StatusRow{row}, f.options), item.Conditions)
}

// statusEvent is a line of `status -w -o json`.
type statusEvent struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Type       string     `json:"type"` // ADDED, MODIFIED or DELETED
	Item       statusItem `json:"item"`
}

func (f *statusFollower) appendItems(items []statusItem, event watch.EventType) error {
	switch {
	case f.output == "json":
		encoder := json.NewEncoder(f.streams.Out)
		for _, item := range items {
			if err := encoder.Encode(statusEvent{outputVersion, "StatusEvent", string(event), item}); err != nil {
				return fmt.Errorf("writing the status: %w", err)
			}
		}
		return nil
	case f.output == "name":
		return f.print(&statusList{Items: items})
	case f.conditions:
		return render.Conditions(f.streams.Out, f.rows(items), f.listing())
	}
	rows := f.rows(items)
	for i := range rows {
		rows[i].Gone = event == watch.Deleted
	}
	return f.table.Write(f.streams.Out, render.StatusCells(rows, f.options))
}

// take changes what there is, and returns the objects that are new or changed, or those that were deleted.
func (f *statusFollower) take(c statusChange) ([]statusItem, watch.EventType) {
	targetKey := c.target.key()
	if c.failure != nil {
		f.failures[targetKey] = failure{c.target, c.failure}
		return nil, ""
	}
	delete(f.failures, targetKey)
	if c.event != "" {
		return f.takeOne(c)
	}
	there := map[string]bool{}
	for _, item := range c.items {
		there[item.key()] = true
		f.items[item.key()] = item
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
	if known && old.Object.UID == item.Object.UID && olderVersion(item.version, old.version) {
		return nil, "" // the list was newer
	}
	if c.event == watch.Deleted {
		if known && old.Object.UID != item.Object.UID {
			return nil, ""
		}
		delete(f.items, item.key())
		return c.items, watch.Deleted
	}
	f.items[item.key()] = item
	return c.items, c.event
}

// olderVersion compares resource versions, which are comparable: numbers without leading zeros.
func olderVersion(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

func (i *statusItem) key() string {
	return i.kind.GroupResource().String() + " " + i.Object.Namespace + "/" + i.Object.Name
}

func (t target) key() string { return t.Kind.GVR().String() + " " + t.Namespace + "/" + t.Name }

// fieldSelector selects what the target names.
func (t target) fieldSelector(other string) string {
	if t.Name == "" {
		return other
	}
	return metav1.ObjectNameField + "=" + t.Name
}
