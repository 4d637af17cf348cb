// Operator is the website controller as a separate program, with leader election, as it would run in a cluster. It
// reads KUBECONFIG.
//
// With -bug it does something wrong: bugs.go has what.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/controllerruntime/website"
)

func main() {
	bug := flag.String("bug", "", "what it does wrong, by the names in bugs.go; nothing if empty")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), *bug); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, bug string) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, website.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "website", LeaderElectionNamespace: "default",
		LeaderElectionReleaseOnCancel: true,
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			c, err := client.NewWithWatch(config, options)
			if err != nil {
				return nil, err
			}
			return interceptor.NewClient(c, interceptorFor(bug)), nil
		},
	})
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	taken := &hosts{mgr.GetClient(), bug}
	reconciler := wrapped(mgr.GetClient(), bug, &website.Reconciler{
		Client: mgr.GetClient(), Events: mgr.GetEventRecorder("website"), ReleaseHost: taken.release,
	})
	setUp := website.SetupWithManager
	if bug == bugNoWatch {
		setUp = watchAlone
	}
	if err := setUp(ctx, mgr, reconciler); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// watchAlone registers the reconciler for changes of Websites alone.
func watchAlone(ctx context.Context, mgr ctrl.Manager, reconciler reconcile.Reconciler) error {
	if err := website.IndexContent(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).For(&website.Website{}).Complete(reconciler)
}
