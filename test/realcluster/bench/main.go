// Command bench measures a control plane of Kubernetes' own programs and the plugin's sandbox side by side, in one go, and
// prints a table: from start to ready, the memory they take, and 1,000 pods from apply to Ready. `make bench-real` runs it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// rounds is how often each side is measured, in turns, so that a machine that becomes slower is so for both.
const rounds = 5

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, notes io.Writer) error {
	sides := []side{
		{name: "Kubernetes' programs and kwok", start: startReal},
		{name: "`kubectl reconcile sandbox`", start: startEmbedded},
	}
	measured := make([][]measurement, len(sides))
	if err := build(ctx, notes); err != nil {
		return err
	}
	for round := range rounds {
		for i, s := range sides {
			fmt.Fprintf(notes, "round %d of %d: %s\n", round+1, rounds, s.name)
			m, err := measure(ctx, s)
			if err != nil {
				return fmt.Errorf("measuring %s: %w", s.name, err)
			}
			measured[i] = append(measured[i], m)
		}
	}
	table(out, sides, measured)
	return nil
}
