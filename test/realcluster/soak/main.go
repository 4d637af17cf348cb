// Command soak lets the plugin's controllers work in kube-controller-manager's place on a real control plane for a long
// time, while clients change things and kube-apiserver is killed again and again. At the end every object must be as it
// should, and neither goroutines nor memory may have grown. `make soak SOAK=30m` runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
)

// options are what can be chosen.
type options struct {
	length  time.Duration // of the churn
	kills   int
	absence time.Duration // how long kube-apiserver stays away
	clients int           // each with its own namespace
	every   time.Duration // between two samples
	seed    uint64
	keep    string // folder for what tells why something went wrong; empty for none
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func parse(args []string, notes io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(notes)
	flags.DurationVar(&o.length, "for", 30*time.Minute, "how long clients change things")
	flags.IntVar(&o.kills, "kills", 10, "how often kube-apiserver is killed, spread over that time")
	flags.DurationVar(&o.absence, "away", 10*time.Second, "how long it stays away each time")
	flags.IntVar(&o.clients, "clients", 4, "how many clients there are")
	flags.DurationVar(&o.every, "every", 5*time.Second, "how often the process is looked at")
	flags.Uint64Var(&o.seed, "seed", 1, "what the clients do: the same for the same number")
	flags.StringVar(&o.keep, "keep", "",
		"an existing folder for the trace, and for the stacks of all goroutines if something is wrong")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	killing := time.Duration(o.kills) * (o.absence + 10*time.Second)
	if o.length <= 0 || o.kills < 0 || o.clients <= 0 || o.every <= 0 || killing > o.length {
		return o, errors.New("the time must be positive, and long enough for the kills")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out, notes io.Writer) error {
	o, err := parse(args, notes)
	if err != nil {
		return err
	}
	note := func(format string, args ...any) { fmt.Fprintf(notes, format+"\n", args...) }
	cluster, err := realcluster.Start(ctx, realcluster.Options{Scheduler: true, Nodes: 4, Log: note})
	if err != nil {
		return err
	}
	report, err := soak(ctx, cluster, o, note)
	report.print(out)
	if err == nil {
		err = report.verdict()
	}
	return errors.Join(err, cluster.Stop())
}
