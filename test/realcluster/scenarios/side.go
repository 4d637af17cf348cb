package scenarios

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Write is a request that changes something, made by a controller.
type Write struct {
	At         time.Time
	Controller string
	Verb       string
	// Resource has its group, as in replicasets.apps.
	Resource    schema.GroupResource
	Subresource string
	Namespace   string
	Name        string
	// Code is the HTTP status; Reason the API's for an error.
	Code   int
	Reason string
}

// Writes reads all writes of controllers in a namespace that were answered by now, oldest first.
type Writes func(namespace string) ([]Write, error)

// Side is one of the two control planes that play a scenario. It may be used concurrently.
type Side struct {
	// Kubectl runs `kubectl apply` with flags on objects, in a namespace. It is nil for a side on which no step asks
	// for it.
	Kubectl func(ctx context.Context, namespace string, flags []string, objects []*unstructured.Unstructured) error

	name     string
	client   dynamic.Interface
	mapper   meta.RESTMapper
	observer *observer
	writes   Writes
	names    Names
	nodes    []string
}

// NewSide begins to watch a control plane, until ctx ends. Field managers and users are called by names. What ends the
// work in the background is sent to failed, which must have room for one: nil at the end of ctx.
func NewSide(
	ctx context.Context, name string, config *rest.Config, names Names, writes Writes, failed chan<- error,
) (*Side, error) {
	config = rest.CopyConfig(config)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of %q: %w", name, err)
	}
	finder, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of %q: %w", name, err)
	}
	groups, err := restmapper.GetAPIGroupResources(finder)
	if err != nil {
		return nil, fmt.Errorf("reading which resources %q has: %w", name, err)
	}
	resources, err := watched(finder)
	if err != nil {
		return nil, err
	}
	s := &Side{
		name: name, client: client, mapper: restmapper.NewDiscoveryRESTMapper(groups), names: names, writes: writes,
	}
	if s.nodes, err = s.nodeNames(ctx); err != nil {
		return nil, err
	}
	if s.observer, err = observe(ctx, resources, client); err != nil {
		return nil, err
	}
	if err := s.makeNamespace(ctx, pulseNamespace); err != nil {
		return nil, err
	}
	go func() { failed <- s.observer.beat(ctx, client) }()
	return s, nil
}

func (s *Side) makeNamespace(ctx context.Context, name string) error {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
	namespaces := s.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	if _, err := namespaces.Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("making namespace %q on %q: %w", name, s.name, err)
	}
	return nil
}

func (s *Side) nodeNames(ctx context.Context) ([]string, error) {
	nodes := s.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"})
	list, err := nodes.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the nodes of %q: %w", s.name, err)
	}
	var names []string
	for _, node := range list.Items {
		names = append(names, node.GetName())
	}
	return names, nil
}
