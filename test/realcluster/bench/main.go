// Command bench measures a control plane of Kubernetes' own programs and the plugin's sandbox side by side, in one go,
// and prints a table for each load: from start to ready, the memory they take, and 1,000 pods, or 10,000 with all
// controllers, from apply to Ready. `make bench-real` runs it; a number as its argument chooses one load.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// loads are what is measured.
func loads() []load {
	return []load{
		{controllers: []string{"deployment-controller", "replicaset-controller"},
			deployments: 50, replicas: 20, rounds: 5},
		{controllers: []string{"*"}, deployments: 200, replicas: 50, rounds: 3},
	}
}

func run(ctx context.Context, args []string, out, notes io.Writer) error {
	all := loads()
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 || n > len(all) {
			return fmt.Errorf("%q is no load: there are %d", args[0], len(all))
		}
		all = all[n-1 : n]
	}
	if err := build(ctx, notes); err != nil {
		return err
	}
	for _, l := range all {
		if err := compare(ctx, l, out, notes); err != nil {
			return err
		}
	}
	return nil
}

// compare measures the sides in turns, so that a machine that becomes slower is so for both, and prints the table.
func compare(ctx context.Context, l load, out, notes io.Writer) error {
	sides := []side{
		{name: "Kubernetes' programs and kwok", start: startReal},
		{name: "`kubectl reconcile sandbox`", start: startEmbedded},
	}
	measured := make([][]measurement, len(sides))
	for round := range l.rounds {
		for i, s := range sides {
			fmt.Fprintf(notes, "%s, round %d of %d: %s\n", l, round+1, l.rounds, s.name)
			m, err := measure(ctx, s, l)
			if err != nil {
				return fmt.Errorf("measuring %s: %w", s.name, err)
			}
			fmt.Fprintf(notes, "  ready %.2fs, %d MiB; pods %.2fs, %d MiB, at most %d MiB\n",
				m.ready.Seconds(), m.idle>>20, m.pods.Seconds(), m.allocated>>20, m.peak>>20)
			measured[i] = append(measured[i], m)
		}
	}
	table(out, l, sides, measured)
	return nil
}
