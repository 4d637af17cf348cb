package controllers

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	gc "k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/storageversionmigrator"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// storageVersionMigrator mirrors newSVMController of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/storageversionmigrator.go.
func storageVersionMigrator() Controller {
	migrations := schema.GroupResource{Group: "storagemigration.k8s.io", Resource: "storageversionmigrations"}
	definitions := schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	return Controller{
		Name:    names.StorageVersionMigratorController,
		Short:   "svm",
		Aliases: []string{"svm"},
		Reads:   []schema.GroupResource{migrations},
		Writes:  []schema.GroupResource{migrations, definitions, {Group: "*", Resource: "*"}},
		Needs:   []Need{NeedsMetadata, NeedsMapper},
		workers: 5, // of migrations; upstream's Run takes no other number
		build:   buildMigrator,
	}
}

// buildMigrator builds upstream's three controllers of migrations: one starts them, one writes up to which resource
// version they go, and one migrates. The last one reads the graph of the garbage collector: without that, no migration
// ends.
func buildMigrator(ctx context.Context, e environment) (runFunc, error) {
	clients, err := newMigratorClients(e)
	if err != nil {
		return nil, err
	}
	var loops []runFunc
	graph := e.shared.graph
	if graph == nil {
		idle, run, err := idleGraph(ctx, e)
		if err != nil {
			return nil, err
		}
		graph, loops = idle, append(loops, run)
	}
	parts := newMigratorControllers(ctx, e, clients, graph)
	for _, run := range []func(context.Context){parts.migrator.Run, parts.versions.Run, parts.runner.Run} {
		loops = append(loops, func(ctx context.Context, _ int) { run(ctx) })
	}
	return func(ctx context.Context, workers int) { runConcurrently(ctx, workers, loops) }, parts.observe(e.tap)
}

// idleGraph returns the graph of a garbage collector that does not run: it watches nothing, as in
// kube-controller-manager. The graph's goroutines end with the function that is returned.
func idleGraph(ctx context.Context, e environment) (*gc.GraphBuilder, runFunc, error) {
	graph, err := newDependencyGraph(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	collector, err := gc.NewComposedGarbageCollector(ctx, e.client, graph.client, graph.mapper, graph.GraphBuilder)
	if err != nil {
		return nil, nil, err
	}
	return graph.GraphBuilder, func(ctx context.Context, _ int) {
		const workers = 0 // so that nothing is deleted
		collector.Run(klog.NewContext(ctx, logr.Discard()), workers, syncPeriod)
	}, nil
}

// migratorClients are the clients of the three controllers.
type migratorClients struct {
	metadata    metadata.Interface
	dynamic     *dynamic.DynamicClient
	definitions *apiextensions.Clientset
}

// newMigratorClients makes the clients, with higher rate limits than other controllers have.
func newMigratorClients(e environment) (c migratorClients, err error) {
	config := rest.CopyConfig(e.config)
	config.QPS *= 20 // as upstream: a migration takes many requests
	config.Burst *= 100
	if c.definitions, err = apiextensions.NewForConfig(config); err != nil {
		return c, fmt.Errorf("making the client of definitions: %w", err)
	}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return c, fmt.Errorf("making the dynamic client: %w", err)
	}
	if c.metadata, err = metadata.NewForConfig(config); err != nil {
		return c, fmt.Errorf("making the metadata client: %w", err)
	}
	return c, nil
}

// migratorControllers are upstream's three controllers of migrations.
type migratorControllers struct {
	migrator *storageversionmigrator.SVMController
	versions *storageversionmigrator.ResourceVersionController
	runner   *storageversionmigrator.MigrationRunnerController
}

func newMigratorControllers(
	ctx context.Context, e environment, clients migratorClients, graph *gc.GraphBuilder,
) migratorControllers {
	mapper, migrations := newMapper(e), e.informers.Storagemigration().V1().StorageVersionMigrations()
	return migratorControllers{
		migrator: storageversionmigrator.NewSVMController(
			ctx, e.client, clients.dynamic, migrations, names.StorageVersionMigratorController, mapper, graph),
		versions: storageversionmigrator.NewResourceVersionController(
			ctx, e.client, e.client.Discovery(), clients.metadata, migrations, mapper),
		runner: storageversionmigrator.NewCustomResourceController(
			ctx, e.client, migrations, clients.definitions.ApiextensionsV1().CustomResourceDefinitions()),
	}
}

// observe taps the queues. The text of a key says which of the controllers it is for.
func (p migratorControllers) observe(c *tap.Controller) error {
	if err := tap.SwapQueue(c, p.migrator, "queue", stringKey); err != nil {
		return err
	}
	versionKey := func(name string) string { return "version of " + name }
	if err := tap.SwapQueue(c, p.versions, "queue", versionKey); err != nil {
		return err
	}
	return tap.SwapQueue(c, p.runner, "queue", func(r metav1.GroupResource) string {
		return "migrations of " + schema.GroupResource{Group: r.Group, Resource: r.Resource}.String()
	})
}
