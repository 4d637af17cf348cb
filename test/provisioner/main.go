// Package main is the simulated provisioner of a sandbox as a program: it makes volumes on a control plane that has no
// storage, so that the same scenarios can be played there and in a sandbox. It ends when it is interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/nodes"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how the control plane is reached")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run makes volumes until ctx ends.
func run(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading %q: %w", kubeconfig, err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	p, err := nodes.StartProvisioner(ctx, nodes.ProvisionerOptions{Config: config, Informers: factory})
	if err != nil {
		return err
	}
	err = p.Wait()
	factory.Shutdown()
	return err
}
