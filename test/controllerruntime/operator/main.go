// Operator is the website controller as a separate program, with leader election, as it would run in a cluster. It
// reads KUBECONFIG.
//
// With -bug it does something wrong: `replicas` wants one web server too many, `status` reports nothing, `extra` makes
// an object that was not asked for.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/controllerruntime/website"
)

func main() {
	bug := flag.String("bug", "", "what it does wrong: replicas, status or extra; nothing if empty")
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
			return newClient(config, options, bug)
		},
	})
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	if err := website.SetupWithManager(ctx, mgr, &website.Reconciler{
		Client: mgr.GetClient(), Events: mgr.GetEventRecorder("website"),
		ReleaseHost: func(context.Context, string) error { return nil },
	}); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// newClient returns a client whose writes have the bug.
func newClient(config *rest.Config, options client.Options, bug string) (client.Client, error) {
	c, err := client.NewWithWatch(config, options)
	if err != nil {
		return nil, err
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Apply: func(
			ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption,
		) error {
			deployment, ok := obj.(*appsv1ac.DeploymentApplyConfiguration)
			if ok && bug == "replicas" {
				*deployment.Spec.Replicas++
			}
			if ok && bug == "extra" {
				extra := &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: *deployment.Namespace, Name: *deployment.Name + "-extra"},
					Data:       map[string]string{"wanted": "by nobody"},
				}
				if err := client.IgnoreAlreadyExists(c.Create(ctx, extra)); err != nil {
					return err
				}
			}
			return c.Apply(ctx, obj, opts...)
		},
		SubResourceUpdate: func(
			ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption,
		) error {
			if bug == "status" {
				return nil
			}
			return c.SubResource(name).Update(ctx, obj, opts...)
		},
	}), nil
}
