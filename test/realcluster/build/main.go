// Command build builds the programs of a control plane into the user's cache folder, unless they are there, and prints
// the folder. `make realcluster` runs it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	log := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	programs, err := realcluster.Build(ctx, log)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Println(filepath.Dir(programs.Path("etcd")))
}
