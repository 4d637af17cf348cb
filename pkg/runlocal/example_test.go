package runlocal_test

import (
	"context"
	"fmt"
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

// Two controllers of Kubernetes make a Deployment ready, in a sandbox with a simulated node. Options.Recorder
// would get the trace of what they do.
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
	statuses, err := session.Statuses(ctx, applied)
	for _, s := range statuses {
		fmt.Println(s, s.Status.Status, s.Status.Ready)
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output: deployment.apps/web Current 3/3
}

// Documents that are no objects are named by their line, and the others are returned all the same.
func ExampleParseManifests() {
	objects, err := runlocal.ParseManifests(strings.NewReader(web + "---\nreplicas: 3\n"))
	fmt.Println(objects, err)
	// Output:
	// [manifests: deployment.apps/web] manifests: line 12: a manifest with apiVersion, kind and metadata is expected: kind is missing
}
