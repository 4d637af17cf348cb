package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/session"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/v1alpha1"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// listOutputs are the values of -o that go with --list.
var listOutputs = []string{"json", "yaml", "name"}

// controllerItem is a controller in the list of `run --list`.
type controllerItem struct {
	Name string `json:"name"`
	// Short is its name in the trace; empty if it does not run.
	Short string `json:"short,omitempty"`
	// Aliases are other names that --controller takes.
	Aliases []string `json:"aliases,omitempty"`
	// Runs reports whether this build can run it, and Default whether '*' does.
	Runs    bool `json:"runs"`
	Default bool `json:"default"`
	// Flags are those without which it does not run on a cluster.
	Flags []string `json:"flags,omitempty"`
	// Danger is what it would destroy if it saw only a part of the cluster.
	Danger string `json:"danger,omitempty"`
	// Reason is why it does not run, or what it needs the flags for.
	Reason string `json:"reason,omitempty"`
}

// listKind is the kind of the list.
const listKind = "ControllerList"

// controllerList is what `run --list -o json` prints.
type controllerList struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Items      []controllerItem `json:"items"`
	// Elsewhere is work that other programs than kube-controller-manager do.
	Elsewhere []elsewhereItem `json:"elsewhere"`
}

// elsewhereItem is work that another program does.
type elsewhereItem struct {
	// Name is what it is about, such as a kind.
	Name string `json:"name"`
	// By is who does it, and what a sandbox has in its place.
	By string `json:"by"`
}

// newControllerList lists all controllers of kube-controller-manager, sorted by name.
func newControllerList() controllerList {
	list := controllerList{APIVersion: v1alpha1.APIVersion, Kind: listKind}
	for _, c := range controllers.All() {
		item := controllerItem{
			Name: c.Name, Short: c.Short, Aliases: c.Aliases,
			Runs: c.Runs(), Default: c.Runs() && !c.OffByDefault, Danger: c.Danger, Reason: c.NotRun,
		}
		if lack := c.MissingAuthority(controllers.Authority{}); lack != "" {
			item.Flags, item.Reason = strings.Split(flagsFor(lack), " and "), lack
		}
		list.Items = append(list.Items, item)
	}
	for _, e := range controllers.AllElsewhere() {
		list.Elsewhere = append(list.Elsewhere, elsewhereItem{Name: e.Name, By: e.By})
	}
	return list
}

// list prints the controllers.
func (f *Flags) printList(streams genericiooptions.IOStreams) error {
	if f.session.Controllers != "" {
		return errors.New("--list and --controller exclude each other: it lists all controllers")
	}
	if err := cli.CheckOutput(f.output, listOutputs, "for people"); err != nil {
		return err
	}
	list := newControllerList()
	switch f.output {
	case "":
		width := render.TerminalWidth(streams.Out)
		if err := printControllers(streams.Out, list.Items, width); err != nil {
			return err
		}
		return printElsewhere(streams.Out, list.Elsewhere, width)
	case "name":
		return cli.WriteNames(streams.Out, list.Items, func(i controllerItem) string { return i.Name })
	}
	return cli.WriteDocument(streams.Out, f.output, list)
}

// printControllers prints a table, sorted by the names that the trace has. Where it is too wide for the terminal it
// goes without other names, and the last column continues in further lines.
func printControllers(w io.Writer, items []controllerItem, width int) error {
	rows := [][]string{{"NAME", "RUNS", "OTHER NAMES", "WHY"}}
	for _, i := range items {
		name, others := i.called()
		rows = append(rows, []string{name, i.runs(), strings.Join(others, ","), i.why()})
	}
	named := rows[1:]
	slices.SortFunc(named, func(a, b []string) int { return cmp.Compare(a[0], b[0]) })
	if widths := widest(rows, 0); width > 0 && sum(widths)+listGap*(len(widths)-1) > width {
		for i, row := range rows {
			rows[i] = slices.Delete(row, 2, 3)
		}
	}
	return writeList(w, rows, width)
}

// printElsewhere prints what kube-controller-manager has no controllers for.
func printElsewhere(w io.Writer, items []elsewhereItem, width int) error {
	if _, err := fmt.Fprintln(w, "\nNot in kube-controller-manager, but looked for there:"); err != nil {
		return err
	}
	var rows [][]string
	for _, i := range items {
		rows = append(rows, []string{i.Name, i.By})
	}
	return writeList(w, rows, width)
}

const (
	listGap = 2
	// mostNameCells is how wide a terminal's first column may be made: a few long names are no reason for a gap in
	// every row.
	mostNameCells = 33
)

// writeList writes rows of ASCII in columns. With a width, the last column is broken to it, and a name that is too long
// for the first has its own line.
func writeList(w io.Writer, rows [][]string, width int) error {
	longest := 0
	if width > 0 {
		longest = mostNameCells
	}
	widths := widest(rows, longest)
	last := len(widths) - 1
	indent := strings.Repeat(" ", sum(widths[:last])+listGap*last)
	for _, row := range rows {
		line := ""
		if len(row[0]) > widths[0] {
			line, row = row[0]+"\n", append([]string{""}, row[1:]...)
		}
		start := len(line)
		for i, text := range row {
			line += text
			if i < last {
				line += strings.Repeat(" ", widths[i]-len(text)+listGap)
			}
		}
		line = line[:start] + render.Wrap(strings.TrimRight(line[start:], " "), width, indent)
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// widest are the widths of columns. Texts of the first that are longer than longest do not count; 0 counts all.
func widest(rows [][]string, longest int) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			if i > 0 || longest == 0 || len(text) <= longest {
				widths[i] = max(widths[i], len(text))
			}
		}
	}
	return widths
}

func sum(of []int) int {
	total := 0
	for _, n := range of {
		total += n
	}
	return total
}

// called is the name that the trace and a table have for it, and the others that --controller takes.
func (i controllerItem) called() (name string, others []string) {
	all := append(slices.Clone(i.Aliases), i.Name)
	if name = i.Short; name == "" {
		name = all[0]
	}
	return name, slices.DeleteFunc(all, func(other string) bool { return other == name })
}

func (i controllerItem) runs() string {
	switch {
	case !i.Runs:
		return "no"
	case len(i.Flags) > 0:
		return "with keys"
	case !i.Default:
		return "if named"
	}
	return "yes"
}

// why is why it does not run, what makes it run on a cluster (the sandbox has all keys), or what it does on a part of
// one.
func (i controllerItem) why() string {
	switch {
	case len(i.Flags) > 0:
		return "on a cluster: " + strings.Join(i.Flags, ", ")
	case i.Reason == "" && i.Danger != "":
		return "danger: " + i.Danger
	}
	return i.Reason
}

// completeOutput offers the values of -o, which are others with --list.
func (f *Flags) completeOutput(cmd *cobra.Command) {
	cli.Complete(cmd, "output", func(context.Context, []string, string) []string {
		if f.list {
			return listOutputs
		}
		return append([]string{"json"}, session.GraphFormats()...)
	})
}
