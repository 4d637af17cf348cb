package run

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// dry reports whether the run is a dry run.
func (o *Options) dry() bool { return o.cluster != nil && !o.cluster.options.Write }

// mostRefusals bounds the sorts of refused writes that are told with their reasons, unless all are asked for.
const mostRefusals = 8

// printWrites says what was written to a cluster, or would be, and what was refused.
func (o *Options) printWrites(out *outputs, r result) error {
	if o.cluster == nil {
		return nil
	}
	word, nothing := "WROTE", "nothing was written"
	if o.dry() {
		word, nothing = "WOULD", "nothing would be written"
	}
	if len(r.written) == 0 && len(r.refused) == 0 {
		out.say("%s", nothing)
		return nil
	}
	if err := render.WriteTable(out.out, word, writeRows(r.written, r.refused), o.listing(out.out)); err != nil {
		return err
	}
	told, more := few(o, slices.DeleteFunc(slices.Clone(r.refused), trace.WriteCount.IsRace), mostRefusals)
	for _, w := range told {
		out.say("%s", refusalText(w))
	}
	if more > 0 {
		out.say("%s more refused", cli.Plural(more, "sort"))
	}
	if len(r.unknown) > 0 {
		out.say("so what would be written is not known in full")
	}
	return nil
}

// mostFailing bounds the keys that are listed as failing, unless all are asked for.
const mostFailing = 5

func (o *Options) printFailing(out *outputs, failing []trace.FailingKey) {
	failing, more := few(o, failing, mostFailing)
	for _, k := range failing {
		text := fmt.Sprintf(" %s %s, %s", k.Controller, k.Key, cli.Plural(k.Failures, "time"))
		if k.Error != "" {
			text += ": " + render.Reason(k.Error)
		}
		_, _ = fmt.Fprintln(out.notes, cli.Wrap(out.notes, o.Palette.Trouble("failing:")+render.Escape(text)))
	}
	if more > 0 {
		out.say("failing: %d more", more)
	}
}

// notShown says how much has no block; empty if nothing.
func notShown(n render.NotShown) string {
	var parts, of []string
	if n.PutOff > 0 {
		of = append(of, fmt.Sprintf("%d put off", n.PutOff))
	}
	if n.Conflicts > 0 {
		of = append(of, cli.Plural(n.Conflicts, "conflict"))
	}
	if idle := n.Idle + n.PutOff + n.Conflicts; idle > 0 {
		text := cli.Plural(idle, "reconcile") + " wrote nothing"
		if of != nil {
			text += " (" + strings.Join(of, ", ") + ")"
		}
		parts = append(parts, text)
	}
	if n.Repeated > 0 {
		parts = append(parts, strconv.Itoa(n.Repeated)+" came to the same as before")
	}
	if len(parts) == 0 {
		return ""
	}
	return "not shown: " + strings.Join(parts, ", ") + "; -v shows them"
}
