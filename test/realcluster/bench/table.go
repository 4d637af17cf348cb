package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/figures"
)

// table prints medians, and how many times less the second side takes.
func table(out io.Writer, l load, sides []side, measured [][]measurement) {
	fmt.Fprintf(out, "| median of %d, controllers %s | %s | %s | |\n|---|---|---|---|\n",
		l.rounds, strings.Join(l.controllers, ", "), sides[0].name, sides[1].name)
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
	mebibytes := func(n int) string { return fmt.Sprintf("%d MiB", n>>20) }
	row(out, "start to ready", measured, func(m measurement) time.Duration { return m.ready }, seconds)
	row(out, "resident when ready", measured, func(m measurement) int { return m.idle }, mebibytes)
	row(out, fmt.Sprintf("%d pods of %d Deployments from apply to Ready, %d nodes", l.pods(), l.deployments, nodes),
		measured, func(m measurement) time.Duration { return m.pods }, seconds)
	row(out, "resident then", measured, func(m measurement) int { return m.allocated }, mebibytes)
	row(out, "resident at most", measured, func(m measurement) int { return m.peak }, mebibytes)
}

func row[T int | time.Duration](
	out io.Writer, what string, measured [][]measurement, of func(measurement) T, text func(T) string,
) {
	upstream, embedded := figures.Median(measured[0], of), figures.Median(measured[1], of)
	ratio := float64(upstream) / float64(embedded)
	fmt.Fprintf(out, "| %s | %s | %s | ÷ %.1f |\n", what, text(upstream), text(embedded), ratio)
}
