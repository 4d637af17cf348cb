package status

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// print writes the list in the format asked for; what could not be read, and problems, go to stderr if the format has
// no place for them.
func (o *Options) print(list *statusList) error {
	switch o.output {
	case "json", "yaml":
		return cli.WriteDocument(o.streams.Out, o.output, list.document())
	case "name":
		return cli.WriteNames(o.streams.Out, list.items, statusItem.name)
	}
	if err := o.printTable(o.streams.Out, list); err != nil {
		return err
	}
	unread := list.incomplete
	if !o.guessed() {
		unread = nil
	}
	o.remark(o.notes(list, unread, o.remarks))
	return nil
}

func (o *Options) printTable(w io.Writer, list *statusList) error {
	if o.conditions {
		return render.Conditions(w, o.rows(list.items), o.tableOptions(list.items))
	}
	return render.StatusTable(w, o.rows(list.items), o.tableOptions(list.items))
}

func (o *Options) listing() render.TableOptions {
	return render.TableOptions{Palette: o.palette, ASCII: o.ascii, Width: o.width, NoHeader: o.noHeaders}
}

func (o *Options) tableOptions(items []statusItem) render.StatusOptions {
	return render.StatusOptions{
		TableOptions: o.listing(), Namespaces: o.severalNamespaces(items), Wide: o.output == "wide",
	}
}

// severalNamespaces reports whether the objects' namespaces must be shown.
func (o *Options) severalNamespaces(items []statusItem) bool {
	return o.targets.AllNamespaces || slices.ContainsFunc(items, func(i statusItem) bool {
		return i.kind.Namespaced && i.Object.Namespace != o.connection.Namespace
	})
}

// rows are what the tables show of the objects.
func (o *Options) rows(items []statusItem) []render.StatusRow {
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

// notes are the lines below the table, escaped. What could not be read is among them if it is no error.
func (o *Options) notes(list *statusList, unread []cluster.Incomplete, palette render.Palette) []string {
	var out []string
	if n := list.leftOut; n > 0 {
		text := fmt.Sprintf("left out: %s, Current and not drifted", cli.Plural(n, "cluster-scoped object"))
		out = append(out, palette.Dim(text+"; -o wide shows "+cli.PluralOf(n, "it", "them")))
	}
	return append(out, cli.OneLines(slices.Concat(connect.DescribeIncomplete(unread), describeProblems(list.items)))...)
}

// describeProblems lists the fields of the objects that do not have the type that the API documents.
func describeProblems(items []statusItem) []string {
	var out []string
	count := 0
	for i := range items {
		for _, problem := range items[i].Problems {
			if count++; count <= cli.MaxNotes {
				out = append(out, fmt.Sprintf("problem: %s: %s", items[i].name(), problem))
			}
		}
	}
	if more := count - cli.MaxNotes; more > 0 {
		out = append(out, fmt.Sprintf("problem: and %d more; -o json has all, as problems", more))
	}
	return out
}

// remark writes escaped lines on stderr.
func (o *Options) remark(lines []string) {
	width := render.TerminalWidth(o.streams.ErrOut)
	for _, line := range lines {
		fmt.Fprintln(o.streams.ErrOut, render.Wrap(line, width, "  "))
	}
}

// explainEmpty writes to stderr that there is nothing to show, of so many objects.
func (r *statusReader) explainEmpty(all int, list *statusList) {
	if len(list.items) > 0 || r.options.output == "json" || r.options.output == "yaml" {
		return
	}
	where := ""
	if !r.options.targets.AllNamespaces && !r.options.targets.Manifests.Given() {
		where = fmt.Sprintf(" in %s namespace", r.options.connection.Namespace)
	}
	if all > 0 {
		fmt.Fprintf(r.options.streams.ErrOut, "%s: %s%s.\n", r.options.allIsWell(), cli.Plural(all, "object"), where)
		return
	}
	fmt.Fprintf(r.options.streams.ErrOut, "No resources found%s.\n", where)
}

// allIsWell is the sentence for --drifted and --not-ready that found nothing.
func (o *Options) allIsWell() string {
	switch {
	case o.drifted && o.notReady:
		return "Everything is ready, nothing is drifted"
	case o.drifted:
		return "Nothing is drifted"
	}
	return "Everything is ready"
}
