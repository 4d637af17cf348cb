package runlocal_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
`

// deploy returns how the objects of manifests are when two controllers of Kubernetes have made them ready.
func deploy(ctx context.Context, manifests io.Reader) ([]runlocal.ObjectStatus, error) {
	session, err := runlocal.Start(ctx, runlocal.Options{Controllers: runlocal.Names("deployment", "replicaset")})
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Stop() }()
	objects, err := runlocal.ParseManifests(manifests)
	if err != nil {
		return nil, err
	}
	applied, err := session.Apply(ctx, "default", objects)
	if err != nil {
		return nil, err
	}
	if err := session.WaitReady(ctx, applied); err != nil {
		return nil, err
	}
	return session.Statuses(ctx, applied)
}

// Two controllers of Kubernetes make a Deployment ready, in a sandbox with a simulated node.
func Example() {
	objects, err := deploy(context.Background(), strings.NewReader(web))
	if err != nil {
		fmt.Println(err)
	}
	for _, o := range objects {
		fmt.Println(o, o.Status.Status, o.Status.Ready)
	}
	// Output: deployment.apps/web Current 3/3
}

// Documents that are no objects are named by their line, and the others are returned all the same.
func ExampleParseManifests() {
	objects, err := runlocal.ParseManifests(strings.NewReader(web + "---\nreplicas: 3\n"))
	fmt.Println(objects)
	fmt.Println(err)
	// Output:
	// [manifests: deployment.apps/web]
	// manifests: line 12: a manifest with apiVersion, kind and metadata is expected: kind is missing
}
