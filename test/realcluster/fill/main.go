// Command fill fills an API server, on which no controllers run, with Deployments and all that they own, to measure
// what reads a large cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/load"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fill", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "",
		"the kubeconfig of the API server; there is no default, because it fills what it is given")
	o := load.Options{}
	flags.IntVar(&o.Objects, "objects", 22_000, "how many objects to make; whole Deployments are made")
	flags.IntVar(&o.Namespaces, "namespaces", 10, "over how many namespaces they spread")
	flags.StringVar(&o.Prefix, "prefix", "load", "what the names of the namespaces begin with")
	flags.IntVar(&o.First, "first", 0, "how many Deployments there are already")
	flags.StringVar(&o.Etcd, "etcd", "",
		"the address of the API server's etcd: objects are then written to it, which is many times faster")
	flags.IntVar(&o.Parallel, "parallel", 16, "how many Deployments to make at a time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *kubeconfig == "" {
		return errors.New("--kubeconfig is needed")
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("reading %s: %w", *kubeconfig, err)
	}
	began := time.Now()
	made, err := load.Fill(ctx, config, o)
	fmt.Printf("%d objects in %d namespaces in %.1fs\n", made, o.Namespaces, time.Since(began).Seconds())
	return err
}
