package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
)

// dry says whether the run is a dry run.
func (o *runOptions) dry() bool { return o.cluster != nil && !o.cluster.options.Write }

// mostRefusals bounds the sorts of refused writes that are told with their reasons, unless all are asked for.
const mostRefusals = 8

// printWrites says what was written to a cluster, or would be, and what was refused.
func (o *runOptions) printWrites(out *outputs, r result) error {
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
	if err := render.Section(out.out, []string{word, "RESOURCE", "OBJECTS", "WRITES", "REFUSED"}, writeRows(r.written, r.refused)); err != nil {
		return err
	}
	told, more := few(o, slices.DeleteFunc(slices.Clone(r.refused), writeCount.usual), mostRefusals)
	for _, w := range told {
		out.say("%s", w.refusal())
	}
	if more > 0 {
		out.say("%s more refused", plural(more, "sort"))
	}
	if len(r.unknown) > 0 {
		out.say("so what would be written is not known in full")
	}
	return nil
}

// mostFailing bounds the keys that are listed as failing, unless all are asked for.
const mostFailing = 5

func (o *runOptions) printFailing(out *outputs, failing []troubledKey) {
	failing, more := few(o, failing, mostFailing)
	for _, k := range failing {
		text := fmt.Sprintf("failing: %s %s, %s", k.Controller, k.Key, plural(k.Failures, "time"))
		if k.Error != "" {
			text += ": " + k.Error
		}
		out.say("%s", text)
	}
	if more > 0 {
		out.say("failing: %d more", more)
	}
}

// spared says how much was left out of the blocks; empty if nothing was.
func spared(s render.Spared) string {
	var parts []string
	if s.Idle > 0 {
		parts = append(parts, plural(s.Idle, "reconcile")+" wrote nothing")
	}
	if s.Repeated > 0 {
		parts = append(parts, strconv.Itoa(s.Repeated)+" came to the same as before")
	}
	if len(parts) == 0 {
		return ""
	}
	return "not shown: " + strings.Join(parts, ", ") + "; -v shows them"
}
