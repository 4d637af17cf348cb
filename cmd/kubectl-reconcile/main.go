// Command kubectl-reconcile is a kubectl plugin that debugs controllers: it runs Kubernetes' own controllers on your
// machine and shows why every reconcile happened and what it wrote.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// gcPercent trades memory for time, unless the environment decides: a thousand pods take a fifth less time with it, and an
// idle sandbox 5 MB more.
const gcPercent = 200

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(run(ctx, os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}
