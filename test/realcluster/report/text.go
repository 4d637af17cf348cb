package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table writes a line for each suite, for a terminal, and below them what was repeated.
func Table(w io.Writer, suites []Suite) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "SUITE\tCOMPARED\tSAME\tMEANT TO DIFFER\tDIFFERENT")
	for _, s := range suites {
		c := s.Counts()
		fmt.Fprintf(table, "%s\t%d %s\t%d\t%d\t%d\n", s.Name, c.Total(), s.Unit, c.Same, c.Meant, c.Different)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	for _, s := range suites {
		if len(s.Repeated) == 0 {
			continue
		}
		names := strings.Join(s.Repeated, ", ")
		if _, err := fmt.Fprintf(w, "%d %s were repeated: %s\n", len(s.Repeated), s.Unit, names); err != nil {
			return fmt.Errorf("writing what was repeated: %w", err)
		}
	}
	return nil
}

// Figure is all of it in half a sentence.
func Figure(suites []Suite) string {
	var compared []string
	different := 0
	for _, s := range suites {
		c := s.Counts()
		compared = append(compared, fmt.Sprintf("%d %s", c.Total(), s.Unit))
		different += c.Different
	}
	return fmt.Sprintf("%s compared, %d different", strings.Join(compared, " and "), different)
}

const introduction = `# Fidelity

What the sandbox does is what Kubernetes does: that is measured. Requests are sent to a real
kube-apiserver (etcd behind it) and to the embedded API, and the whole answers are compared: status
code, body, error text, warnings, managedFields. Scenarios are played on a real control plane (with
kube-controller-manager, kube-scheduler, and kwok for the kubelets) and in the sandbox with the same
controllers; the final objects, the Events and the writes of each controller are compared. A
scenario that differs is played again, by itself, up to three times: what does not differ each time
was a race.

**%s.** What is meant to differ, and what is not compared exactly, is listed below, each with its reason.

` + "`make test-real`" + ` measures it, ` + "`make fidelity`" + ` writes this page. How to add a request or
a scenario is told in the package documentation of ` + "`test/realcluster/apidiff`" + ` and
` + "`test/realcluster/scenarios`" + `.
`

// Page writes the page docs/fidelity.md.
func Page(w io.Writer, suites []Suite) error {
	var page strings.Builder
	fmt.Fprintf(&page, introduction, Figure(suites))
	page.WriteString("\n| suite | compared | same | meant to differ | different |\n|---|---|---|---|---|\n")
	for _, s := range suites {
		c := s.Counts()
		fmt.Fprintf(&page, "| %s | %d %s | %d | %d | %d |\n", s.Name, c.Total(), s.Unit, c.Same, c.Meant, c.Different)
	}
	for _, s := range suites {
		s.page(&page)
	}
	if _, err := io.WriteString(w, page.String()); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func (s Suite) page(page *strings.Builder) {
	fmt.Fprintf(page, "\n## %s\n\n", s.Name)
	fmt.Fprintf(page, "| | what | %s | same | meant to differ | different |\n|---|---|---|---|---|---|\n", s.Unit)
	for _, r := range s.Rows {
		fmt.Fprintf(page, "| %s | %s | %d | %d | %d | %d |\n",
			r.Name, cell(r.About), r.Total(), r.Same, r.Meant, r.Different)
	}
	if len(s.Meant) > 0 {
		fmt.Fprintf(page, "\nMeant to differ:\n\n| where | why | %s |\n|---|---|---|\n", s.Unit)
	}
	for _, m := range s.Meant {
		fmt.Fprintf(page, "| `%s` | %s | %d |\n", cell(m.Where), cell(m.Reason), m.Times)
	}
	if len(s.Loose) > 0 {
		page.WriteString("\nNot compared exactly:\n\n| what | compared as | why |\n|---|---|---|\n")
	}
	for _, l := range s.Loose {
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", cell(l.Where), l.As, cell(l.Reason))
	}
}

// cell makes a text fit into a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
