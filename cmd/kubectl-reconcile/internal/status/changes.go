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

// appendChanges writes a row for each object, and then one for each change that shows.
func (f *statusFollower) appendChanges(ctx context.Context, changes <-chan statusChange) error {
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
	failing := f.failing()
	ticker := f.options.clock.NewTicker(render.RefreshInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			failing = f.remarkFailing(failing)
			for _, item := range append(f.age(), f.judgeBackends(ctx)...) {
				if err := f.appendChange(item, watch.Modified); err != nil {
					return err
				}
			}
		case c := <-changes:
			changed, event := f.take(c)
			for i := range changed {
				if err := f.appendChange(changed[i], event); err != nil {
					return err
				}
			}
		}
	}
}

// failing are lines about what cannot be read at the time.
func (f *statusFollower) failing() []string {
	incomplete := f.reader.incomplete(slices.Collect(maps.Values(f.failures)))
	return cli.OneLines(connect.DescribeIncomplete(cluster.SortIncomplete(incomplete)))
}

// remarkFailing writes what cannot be read if that has changed, and returns it. It is called now and then, and not at
// once: a server that goes away takes many targets with it.
func (f *statusFollower) remarkFailing(before []string) []string {
	lines := f.failing()
	f.options.remark(connect.IncompleteChanges(before, lines))
	return lines
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
