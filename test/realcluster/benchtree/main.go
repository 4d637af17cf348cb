// Command benchtree measures `kubectl reconcile tree`, `status`, `why` and `diff` beside peers, and the start of a dry
// run, on a real kube-apiserver that holds ten thousands of objects, in one go, and prints tables: wall time, CPU time,
// peak memory, and how many requests were sent and how much was read. `make bench-tree` runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// options are the flags.
type options struct {
	rounds int
	only   string // the cases to measure, a regular expression
	keep   bool   // serve on when all is measured
	sizes  []int  // objects that the cluster holds in turn
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, notes io.Writer) error {
	o := options{sizes: []int{5_000, 22_000, 80_000}}
	flags := flag.NewFlagSet("benchtree", flag.ContinueOnError)
	flags.SetOutput(notes)
	flags.IntVar(&o.rounds, "rounds", 5, "how often each command is measured")
	flags.StringVar(&o.only, "run", "", "a regular expression of the cases to measure")
	flags.BoolVar(&o.keep, "keep", false, "serve on when all is measured, until interrupted, and say how to reach it")
	flags.Func("sizes", "how many objects the cluster holds in turn, rising, with commas between", o.setSizes)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.rounds < 1 {
		return fmt.Errorf("%d rounds measure nothing", o.rounds)
	}
	programs, err := build(ctx, notes)
	if err != nil {
		return err
	}
	return measureAll(ctx, o, programs, out, notes)
}

func (o *options) setSizes(list string) error {
	o.sizes = nil
	for text := range strings.SplitSeq(list, ",") {
		size, err := strconv.Atoi(text)
		if err != nil || size < 1 || len(o.sizes) > 0 && size <= o.sizes[len(o.sizes)-1] {
			return fmt.Errorf("%q is no rising list of numbers", list)
		}
		o.sizes = append(o.sizes, size)
	}
	return nil
}
