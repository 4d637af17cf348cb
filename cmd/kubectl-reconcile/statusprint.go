package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// print writes the list in the format asked for; what could not be read, and what is odd, goes to stderr if the format has
// no place for it.
func (o *statusOptions) print(list *statusList) error {
	switch o.output {
	case "json":
		text, err := json.MarshalIndent(list, "", "  ")
		return o.write(append(text, '\n'), err)
	case "yaml":
		text, err := yaml.Marshal(list)
		return o.write(text, err)
	case "name":
		var text strings.Builder
		for i := range list.Items {
			fmt.Fprintln(&text, render.Escape(list.Items[i].name()))
		}
		return o.write([]byte(text.String()), nil)
	}
	if err := o.printTable(o.streams.Out, list); err != nil {
		return err
	}
	if o.guessed() { // else it is an error
		o.printIncomplete(list.Incomplete)
	}
	o.printOdd(list.Items)
	return nil
}

func (o *statusOptions) write(text []byte, err error) error {
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	_, err = o.streams.Out.Write(text)
	return err
}

func (o *statusOptions) printTable(w io.Writer, list *statusList) error {
	if o.conditions {
		return render.Conditions(w, o.rows(list.Items), o.listing())
	}
	return render.StatusTable(w, o.rows(list.Items), o.tableOptions(list.Items))
}

func (o *statusOptions) listing() render.ListingOptions {
	return render.ListingOptions{Palette: o.palette, Width: o.width, NoHeader: o.noHeaders}
}

func (o *statusOptions) tableOptions(items []statusItem) render.StatusOptions {
	return render.StatusOptions{ListingOptions: o.listing(), Namespaces: o.severalNamespaces(items), Wide: o.output == "wide"}
}

// severalNamespaces says whether the objects' namespaces must be told.
func (o *statusOptions) severalNamespaces(items []statusItem) bool {
	if o.targets.all {
		return true
	}
	for i := range items {
		if items[i].kind.Namespaced && items[i].Object.Namespace != o.connection.namespace {
			return true
		}
	}
	return false
}

// rows are what the tables show of the objects.
func (o *statusOptions) rows(items []statusItem) []render.StatusRow {
	now := o.clock.Now()
	rows := make([]render.StatusRow, len(items))
	clash := namesakes(items)
	for i := range items {
		short := items[i].name()
		if kind := strings.ToLower(items[i].Object.Kind); !clash[kind] {
			short = kind + "/" + items[i].Object.Name
		}
		rows[i] = render.StatusRow{
			Namespace: items[i].Object.Namespace, Name: items[i].name(), Short: short, Created: items[i].Created.Time,
			Report: items[i].Report, Writer: items[i].LastWriter, Now: now,
		}
	}
	return rows
}

// namesakes are the kinds of which there are two, in different groups.
func namesakes(items []statusItem) map[string]bool {
	groups, clash := map[string]string{}, map[string]bool{}
	for i := range items {
		kind, group := strings.ToLower(items[i].Object.Kind), items[i].kind.Group
		if other, seen := groups[kind]; seen && other != group {
			clash[kind] = true
		}
		groups[kind] = group
	}
	return clash
}

// mostNotes bounds the odd objects that are told of.
const mostNotes = 10

// printIncomplete tells what could not be read.
func (o *statusOptions) printIncomplete(incomplete []cluster.Incomplete) {
	for _, line := range describeIncomplete(incomplete) {
		o.note(line)
	}
}

// printOdd tells what of the objects is not what their kind promises.
func (o *statusOptions) printOdd(items []statusItem) {
	odd := 0
	for i := range items {
		item := &items[i]
		for _, problem := range item.Problems {
			if odd++; odd <= mostNotes {
				o.note(fmt.Sprintf("odd: %s: %s", item.name(), problem))
			}
		}
	}
	if odd > mostNotes {
		o.note(fmt.Sprintf("odd: and %d more; -o json has all, as problems", odd-mostNotes))
	}
}

// note writes a remark on stderr, whatever it holds.
func (o *statusOptions) note(text string) {
	fmt.Fprintln(o.streams.ErrOut, render.Wrap(oneLine(text), render.TerminalWidth(o.streams.ErrOut), "  "))
}

// explainEmpty says on stderr that there is nothing to show, of so many objects.
func (r *statusReader) explainEmpty(ctx context.Context, all int, list *statusList) {
	if len(list.Items) > 0 || r.output == "json" || r.output == "yaml" {
		return
	}
	where := ""
	if !r.targets.all && !r.targets.manifests.given() {
		where = fmt.Sprintf(" in %s namespace", r.connection.namespace)
	}
	if all > 0 {
		fmt.Fprintf(r.streams.ErrOut, "%s: %s%s.\n", r.allIsWell(), plural(all, "object"), where)
		return
	}
	fmt.Fprintf(r.streams.ErrOut, "No resources found%s.\n", where)
	if where != "" {
		hint(r.streams.ErrOut, r.missingNamespace(ctx, r.connection.namespace))
	}
}

// allIsWell says that --drifted and --not-ready found nothing.
func (o *statusOptions) allIsWell() string {
	switch {
	case o.drifted && o.notReady:
		return "Everything is ready, nothing is drifted"
	case o.drifted:
		return "Nothing is drifted"
	}
	return "Everything is ready"
}

func hint(w io.Writer, text string) {
	if text != "" {
		fmt.Fprintf(w, "hint: %s\n", text)
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
