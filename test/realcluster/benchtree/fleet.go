package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Fleets are cluster-scoped custom resources that own Deployments.
const (
	fleetVersion = "example.com/v1"
	someFleet    = "east" // owns the first Deployment of each namespace
	allFleet     = "west" // owns all others
)

var (
	definitions = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}
	fleets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "fleets"}
)

// makeFleets makes both and returns a reference to each, by name.
func makeFleets(ctx context.Context, config *rest.Config) (map[string]metav1.OwnerReference, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if _, err := client.Resource(definitions).Create(ctx, fleetDefinition(), metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("defining fleets: %w", err)
	}
	references := map[string]metav1.OwnerReference{}
	for _, name := range []string{someFleet, allFleet} {
		fleet, err := makeFleet(ctx, client.Resource(fleets), name)
		if err != nil {
			return nil, fmt.Errorf("making fleet %q: %w", name, err)
		}
		references[name] = *metav1.NewControllerRef(fleet, fleets.GroupVersion().WithKind("Fleet"))
	}
	return references, nil
}

// makeFleet tries until fleets are served, which they are a moment after they have been defined.
func makeFleet(ctx context.Context, client dynamic.ResourceInterface, name string) (
	fleet *unstructured.Unstructured, err error) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": fleetVersion, "kind": "Fleet", "metadata": map[string]any{"name": name},
	}}
	polled := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			fleet, err = client.Create(ctx, object, metav1.CreateOptions{})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil, err
		})
	if err == nil {
		err = polled
	}
	return fleet, err
}

func fleetDefinition() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "fleets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Cluster",
			"names": map[string]any{"kind": "Fleet", "plural": "fleets", "singular": "fleet"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
}
