package ownertree_test

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

// printTree prints the objects of a namespace below their owners, the verdict about each reference to an owner, and what
// the garbage collector will do about the object.
func printTree(ctx context.Context, config *rest.Config, namespace string) error {
	reader, err := cluster.NewReader(config)
	if err != nil {
		return err
	}
	kinds, err := cluster.Discover(ctx, config)
	if err != nil {
		return err
	}
	graph, err := ownertree.Collect(ctx, reader, kinds, ownertree.Scope{Namespaces: []string{namespace}})
	if err != nil {
		return err
	}
	if err := graph.Confirm(ctx, reader, graph.Nodes()); err != nil {
		return err
	}
	for _, n := range ownertree.NodesOf(graph.Tree(graph.Roots(), ownertree.TreeOptions{Down: true})) {
		for _, owner := range n.Owners {
			fmt.Println(n.Kind.Kind, "of", owner.Kind, owner.Verdict, graph.GCOutcome(n).Action)
		}
	}
	return nil
}

// An owner tree with what the garbage collector thinks of it.
func Example() {
	ctx := context.Background()
	session, err := runlocal.Start(ctx, runlocal.Options{Controllers: runlocal.Names("deployment", "replicaset")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = session.Stop() }()
	objects, err := runlocal.ParseManifests(strings.NewReader(web))
	if err != nil {
		fmt.Println(err)
		return
	}
	applied, err := session.Apply(ctx, "default", objects)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := session.WaitReady(ctx, applied); err != nil {
		fmt.Println(err)
		return
	}
	if err := printTree(ctx, session.Config(), "default"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ReplicaSet of Deployment Solid Kept
	// Pod of ReplicaSet Solid Kept
	// Pod of ReplicaSet Solid Kept
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
`
