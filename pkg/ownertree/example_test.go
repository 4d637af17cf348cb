package ownertree_test

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

// printOwners prints the references of a namespace's objects to their owners, the verdict about each, and what the garbage
// collector will do about the object.
func printOwners(ctx context.Context, config *rest.Config, namespace string) error {
	layout, err := ownertree.Read(ctx, config, ownertree.Query{Namespace: namespace})
	if err != nil {
		return err
	}
	for _, n := range layout.Nodes {
		for _, owner := range n.Owners {
			fmt.Println(n.Kind.Kind, "of", owner.Kind, owner.Verdict, layout.Graph.GCOutcome(n).Action)
		}
	}
	return nil
}

// Who owns whom, and what the garbage collector thinks of it. Package treestatus has an example of a tree.
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
	if err := printOwners(ctx, session.Config(), "default"); err != nil {
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
