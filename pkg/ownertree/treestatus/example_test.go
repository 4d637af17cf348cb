package treestatus_test

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

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

// printStatus prints an object of a cluster, as kubectl names it, and what is below it, each with its status.
func printStatus(ctx context.Context, config *rest.Config, namespace, object string) error {
	tree, err := treestatus.Read(ctx, config, treestatus.Query{Namespace: namespace, Objects: []string{object}})
	if err != nil {
		return err
	}
	for level, n := range treestatus.Walk(tree.Tops) {
		fmt.Println(strings.Repeat("  ", level)+n.Branch.Node.Kind.Kind, n.Status, n.Facts.Ready)
	}
	return nil
}

// The status of an object and of all that it owns.
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
	if err := printStatus(ctx, session.Config(), "default", "deploy/web"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Deployment Current 2/2
	//   ReplicaSet Current 2/2
	//     Pod Current 1/1
	//     Pod Current 1/1
}
