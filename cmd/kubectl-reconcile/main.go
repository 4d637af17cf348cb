// Command kubectl-reconcile is a kubectl plugin that debugs controllers: it runs Kubernetes' own controllers on your
// machine and shows why every reconcile happened and what it wrote; and it reads any cluster, and shows who owns whom
// and what has not caught up.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/heap"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/root"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)                            // a second signal ends the process at once
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // writes fail instead: see cli.CancelOnBrokenPipe
	heap.Grow(heap.Reading)
	os.Exit(root.Execute(ctx, os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}
