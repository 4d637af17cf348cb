package status

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
)

// appendAll writes a row for each object.
func (f *statusFollower) appendAll(ctx context.Context) error {
	f.judgeBackends(ctx)
	list := f.list()
	f.rowOptions = f.options.tableOptions(list.items)
	f.rowOptions.Times = true
	f.table = render.NewStatusTable(f.rowOptions)
	for i := range list.items {
		f.shown[list.items[i].key()] = f.shownText(&list.items[i])
	}
	if err := f.appendItems(list.items, watch.Added); err != nil {
		return err
	}
	f.options.remark(f.options.notes(list, list.incomplete, f.options.remarks))
	f.failing = f.unread()
	return nil
}

// appendAged writes what has changed with time, and what cannot be read if that has changed. The latter is not written
// at once: a server that goes away takes many targets with it.
func (f *statusFollower) appendAged(ctx context.Context) error {
	before := f.failing
	f.failing = f.unread()
	f.options.remark(connect.IncompleteChanges(before, f.failing))
	return f.appendChanges(append(f.age(), f.judgeBackends(ctx)...), watch.Modified)
}

// appendChanges writes a row for each change that shows.
func (f *statusFollower) appendChanges(items []statusItem, event watch.EventType) error {
	for _, item := range items {
		if err := f.appendChange(item, event); err != nil {
			return err
		}
	}
	return nil
}

// unread are lines about what cannot be read at the time.
func (f *statusFollower) unread() []string {
	incomplete := f.reader.incomplete(slices.Collect(maps.Values(f.failures)))
	return cli.OneLines(connect.DescribeIncomplete(cluster.SortIncomplete(incomplete)))
}

// appendChange writes a row if it differs from the last one of the object: also a last one when the object is no longer
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
	text, shows := f.shownText(&item), f.options.selects(&item) && !f.options.leavesOut(&item)
	if shows {
		f.shown[key] = text
	} else {
		delete(f.shown, key)
	}
	if before == text || !known && !shows {
		return nil
	}
	if known {
		event = watch.Modified
	}
	return f.appendItems([]statusItem{item}, event)
}

// shownText is what a row shows but for ages: rows with the same text look the same.
func (f *statusFollower) shownText(item *statusItem) string {
	row := f.options.rows([]statusItem{*item})[0]
	row.Since, row.Created, row.Now = nil, time.Time{}, time.Time{}
	cells := fmt.Sprint(render.StatusCells([]render.StatusRow{row}, f.rowOptions))
	if f.options.output == "" && !f.options.conditions {
		return cells
	}
	conditions, err := json.Marshal(item.Conditions) // pointers in it have no text of their own
	if err != nil {
		return cells
	}
	return cells + string(conditions)
}

func (f *statusFollower) appendItems(items []statusItem, event watch.EventType) error {
	switch {
	case f.options.output == "json":
		for _, item := range items {
			line, err := json.Marshal(v1alpha1.StatusEvent{
				APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.StatusEventKind,
				Type: string(event), Item: item.StatusItem,
			})
			if err == nil {
				_, err = f.options.streams.Out.Write(append(cli.EscapeControls(line), '\n'))
			}
			if err != nil {
				return fmt.Errorf("writing the status: %w", err)
			}
		}
		return nil
	case f.options.output == "name":
		return f.options.print(&statusList{items: items})
	case f.options.conditions:
		return render.Conditions(f.options.streams.Out, f.options.rows(items), f.rowOptions)
	}
	rows := f.options.rows(items)
	for i := range rows {
		rows[i].Gone = event == watch.Deleted
	}
	return f.table.Write(f.options.streams.Out, render.StatusCells(rows, f.rowOptions))
}
