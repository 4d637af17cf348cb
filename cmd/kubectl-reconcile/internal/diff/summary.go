package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// summaryLine says in one line what the plan comes to.
func (o *Options) summaryLine(made *madePlan) string {
	counts, status := map[plan.Verb]int{}, 0
	for i := range made.Objects {
		if obj := &made.Objects[i]; obj.Changed() {
			counts[obj.Verb()]++
		} else {
			status++
		}
	}
	var parts []string
	for _, c := range []struct {
		verb plan.Verb
		text string
	}{{plan.Create, "to create"}, {plan.Update, "to change"}, {plan.Delete, "to delete"}} {
		if n := counts[c.verb]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, c.text))
		}
	}
	if len(parts) == 0 && status > 0 {
		parts = append(parts, "only the status of "+cli.Plural(status, "object")+" to change")
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing to change")
	}
	parts = []string{strings.Join(parts, ", ")}
	if refused := refusedWrites(made); refused > 0 {
		parts = append(parts, cli.Plural(refused, "write")+" refused")
	}
	if len(made.Refused) > 0 {
		parts = append(parts, "the cluster's admission refuses some of it")
	}
	if n := unscheduledPods(made); n > 0 {
		parts = append(parts, cli.Plural(n, "pod")+" without a node")
	}
	for _, b := range made.Budgets {
		if b.Lowest < b.Needs {
			parts = append(parts, "fewer than budget "+b.Object.Name+" needs")
		}
	}
	for _, r := range made.Rollouts {
		if r.Before > 0 && len(made.Rollouts) <= maxRollouts {
			parts = append(parts, readyText(r))
		}
	}
	switch made.End {
	case plan.EndNext, plan.EndSteps:
		parts = append(parts, "more follows")
	case plan.EndSettled, plan.EndLoop, plan.EndLimit:
	}
	return render.Escape(strings.Join(parts, "; "))
}

// maxRollouts bounds the workloads in the summary.
const maxRollouts = 3

// readyText says how many pods of a workload stay ready.
func readyText(r plan.Rollout) string {
	return fmt.Sprintf("at least %d of %s of %s stay ready", min(r.Lowest, r.Before), cli.Plural(r.Before, "pod"),
		r.Object.Name)
}

// refusedWrites counts the writes that are refused.
func refusedWrites(made *madePlan) int {
	n := 0
	for i := range made.Steps {
		for _, w := range made.Steps[i].Writes {
			if w.Refused() {
				n++
			}
		}
	}
	return n
}

// unscheduledPods counts the pods that have no node at the end, and why is known.
func unscheduledPods(made *madePlan) int {
	n := 0
	for i := range made.Objects {
		if made.Objects[i].Unscheduled() != "" {
			n++
		}
	}
	return n
}

// notes returns the lines below the steps: what becomes of workloads, what is due later, and what is not in the plan.
func (o *Options) notes(made *madePlan) []string {
	var out []string
	for _, r := range made.Rollouts {
		if text := rolloutText(r); text != "" {
			out = append(out, text)
		}
	}
	for _, b := range made.Budgets {
		if b.Lowest < b.Needs {
			out = append(out, fmt.Sprintf("budget %s: needs %d ready, at least %d of %d stay", b.Object.Name, b.Needs,
				b.Lowest, b.Before))
		}
	}
	out = append(out, unscheduledLines(made)...)
	for _, l := range made.Later {
		what := l.What
		if what == "" {
			what = "looks again"
		}
		if l.Retry > 0 {
			out = append(out, fmt.Sprintf("retried without end: %s %s", l.Controller, l.Key))
			continue
		}
		in := render.FormatDuration(trace.Duration(l.In))
		out = append(out, fmt.Sprintf("in %s: %s %s: %s", in, l.Controller, l.Key, what))
	}
	out = append(out, made.lines()...)
	if made.Loop != nil {
		out = append(out, loopText(made.Loop))
	}
	return out
}

// unscheduledLines names the pods whose node is not decided, and those that have none at the end, and why: a line for
// each reason.
func unscheduledLines(made *madePlan) []string {
	var order []string
	pods := map[string][]string{}
	add := func(line, name string) {
		if pods[line] == nil {
			order = append(order, line)
		}
		pods[line] = append(pods[line], name)
	}
	for i := range made.Objects {
		obj := &made.Objects[i]
		reason := obj.Unscheduled()
		if fields := obj.Undecided(); len(fields) > 0 {
			text := "node not decided: %s: not simulated: " + strings.Join(fields, ", ")
			if strings.HasPrefix(reason, nodes.UndecidedMessage) {
				text = "not scheduled, and " + text + "; --assume ready takes it for one that fits"
			}
			add(text, obj.Name)
		} else if reason != "" {
			add("not scheduled: %s: "+strings.ReplaceAll(reason, "%", "%%"), obj.Name)
		}
	}
	for i, line := range order {
		order[i] = fmt.Sprintf(line, render.Names(pods[line], maxNames))
	}
	return order
}

// rolloutText says how many replicas are asked for, one after the other; empty if that does not change.
func rolloutText(r plan.Rollout) string {
	if len(r.Sizes) == 0 {
		return ""
	}
	var order []string
	sizes := map[string][]string{}
	for _, s := range r.Sizes {
		name := s.Owner.Kind + " " + s.Owner.Name
		if sizes[name] == nil {
			order = append(order, name)
		}
		sizes[name] = append(sizes[name], fmt.Sprint(s.Replicas))
	}
	var parts []string
	for _, name := range order {
		parts = append(parts, name+" "+strings.Join(sizes[name], " -> "))
	}
	text := fmt.Sprintf("rollout of %s %s: %s; ready: %d", r.Object.Kind, r.Object.Name, strings.Join(parts, ", "),
		r.Before)
	if r.Lowest < min(r.Before, r.After) {
		text += fmt.Sprintf(", at least %d meanwhile", r.Lowest)
	}
	if r.After != r.Before {
		text += fmt.Sprintf(", %d at the end", r.After)
	}
	return text
}

// loopText names who repeats what: writes of status are named only if there are no others.
func loopText(l *plan.Loop) string {
	var writes, status []string
	for i := range l.Steps {
		step := &l.Steps[i]
		for _, w := range step.Writes {
			text := strings.TrimRight(fmt.Sprintf("%s %s %s %s %s", stepAuthor(step), signs[w.Verb], w.Object.Kind,
				w.Object.Name, updateText(w)), " ")
			if step.Simulated || w.OnlyStatus() {
				status = cli.AppendUnique(status, text)
			} else {
				writes = cli.AppendUnique(writes, text)
			}
		}
	}
	if len(writes) == 0 {
		writes = status
	}
	shown := writes[:min(len(writes), cli.MaxNames)]
	return fmt.Sprintf("loop: %d times the same: %s", l.Rounds, strings.Join(shown, "; "))
}

// updateText spells the first change of an update; empty for others.
func updateText(w plan.Write) string {
	if w.Verb != plan.Update {
		return ""
	}
	return render.Changes(w.Changes, render.ChangesOptions{Limit: 1})
}

// loopError is the error of a plan that repeats itself.
func loopError(l *plan.Loop) error {
	var who []string
	for i := range l.Steps {
		if !l.Steps[i].Simulated {
			who = cli.AppendUnique(who, stepAuthor(&l.Steps[i]))
		}
	}
	slices.Sort(who)
	err := fmt.Errorf("the plan does not settle: %s %s the same writes without an end", strings.Join(who, " and "),
		cli.PluralOf(len(who), "repeats", "repeat"))
	return cli.WithHint(err, "--steps N shows the first ones")
}
